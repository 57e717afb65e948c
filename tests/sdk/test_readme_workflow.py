"""The README's workflow runs in the testing kit, and the targets that the README names are the client's."""

from __future__ import annotations

import re

import clockwork_client
from clockwork_client.testing import VirtualClockwork
from infra import ROOT
from tests.unit.test_docs import fenced


def test_the_workflow_of_the_readme_runs() -> None:
    clockwork = VirtualClockwork()
    (program,) = [one for one in fenced(ROOT / "README.md", "python") if "cw.workflow()" in one]
    clockwork.on_step("pay", lambda _: {"receipt": "n-1"})
    exec(program, {"cw": clockwork.client("shop")})
    clockwork.advance(minutes=1)
    assert [(one.node, one.payload) for one in clockwork.deliveries] == [
        ("pay", {"order": 17}),
        ("ship", {"receipt": "n-1"}),
    ]


def test_the_targets_that_the_readme_names_are_the_clients() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    named = re.findall(r"`((?:kinesis|kafka|step_functions|ecs)\([^`]*\))`", text)
    arns = {"arn": "arn:aws:x:us-east-1:123456789012:x"}
    public = {name: getattr(clockwork_client, name) for name in clockwork_client.__all__}
    types = [eval(one, {**public, **arns}).raw["type"] for one in named]
    assert types == ["kinesis", "kafka", "stepFunctions", "ecs"]
    assert "`completion=end()`" in text
    assert clockwork_client.end().raw == {"mode": "end"}
