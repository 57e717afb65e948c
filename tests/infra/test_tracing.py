"""Tracing by X-Ray: all Lambdas or none, with the rights that they need."""

from __future__ import annotations

from tests.infra.conftest import synthesize
from tests.infra.template import MOMENTS, Template, strings


def test_without_the_option_nothing_is_traced_and_no_right_is_given(account: Template) -> None:
    functions = account.all("Lambda::Function").values()
    assert not [one for one in functions if "TracingConfig" in one["Properties"]]
    assert "TRACING" not in account.function("Deliverer")["Properties"]["Environment"]["Variables"]
    assert not [text for text in strings(account.body["Resources"]) if text.startswith("xray:")]


def test_with_it_every_lambda_of_ours_sends_its_traces() -> None:
    traced = synthesize(tracing="xray")
    for moment in MOMENTS:
        properties = traced.function(moment)["Properties"]
        assert properties["TracingConfig"] == {"Mode": "Active"}
        assert properties["Environment"]["Variables"]["TRACING"] == "1"
        assert set(traced.allowed(moment, "xray:")['"*"']) == {"xray:PutTraceSegments", "xray:PutTelemetryRecords"}
