"""The lines of metrics: in the format that CloudWatch extracts, one per batch, with the names that the stack uses."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from clockwork.settings import Settings
from clockwork.telemetry import MOST_VALUES, metrics_line
from infra.observability.metrics import STATISTICS
from tests.handlers.handlers import CONTEXT, Api, job_body, make_handler
from tests.support.events import poller_event, scheduled_event, sqs_event
from tests.support.examples import ACME

#: https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
MOST_METRICS, MOST_DIMENSIONS, MOST_BYTES = 100, 30, 1_048_576
UNITS = {"Milliseconds", "Count"}


def check_line(line: dict[str, Any]) -> dict[str, Any]:
    """Assert that a line keeps the specification; returns its metrics with their values."""
    assert set(line["_aws"]) == {"Timestamp", "CloudWatchMetrics"}
    assert isinstance(line["_aws"]["Timestamp"], int)
    (directive,) = line["_aws"]["CloudWatchMetrics"]
    assert set(directive) == {"Namespace", "Dimensions", "Metrics"}
    assert 1 <= len(directive["Namespace"]) <= 1024
    assert 1 <= len(directive["Metrics"]) <= MOST_METRICS
    for dimensions in directive["Dimensions"]:
        assert len(dimensions) <= MOST_DIMENSIONS
        assert all(isinstance(line[name], str) and line[name] for name in dimensions)
    found = {}
    for metric in directive["Metrics"]:
        assert set(metric) == {"Name", "Unit"}
        assert metric["Unit"] in UNITS
        found[metric["Name"]] = line[metric["Name"]]
    assert len(found) == len(directive["Metrics"])
    for value in found.values():
        values = value if isinstance(value, list) else [value]
        assert len(values) <= MOST_VALUES
        assert all(isinstance(number, int | float) and not isinstance(number, bool) for number in values)
    return found


def metrics_of(output: str) -> list[dict[str, Any]]:
    """The metrics of each line of metrics in the output."""
    lines = output.splitlines()
    assert all(len(line.encode()) <= MOST_BYTES for line in lines)
    return [check_line(line) for line in map(json.loads, lines) if "_aws" in line]


def day(api: Api, output: pytest.CaptureFixture[str]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Invoke each Lambda once; yields its name with the metrics that it wrote."""
    world, queue = api.clockwork.world, api.clockwork.queue
    api.call("POST", "/v1/jobs/batch", {"jobs": [job_body(schedule={"delaySeconds": 0}) for _ in range(7)] + [{}]})
    yield "api", metrics_of(output.readouterr().out)
    make_handler("ticker", world)(scheduled_event(), CONTEXT)
    yield "ticker", metrics_of(output.readouterr().out)
    make_handler("poller", world)(poller_event("p000"), CONTEXT)
    yield "poller", metrics_of(output.readouterr().out)
    api.clockwork.poll_all()
    event = sqs_event([(message.message_id, message.body) for message in queue.receive()] + [("bad", "x")])
    api.clockwork.clock.advance(1_500)
    make_handler("deliverer", world)(event, CONTEXT)
    yield "deliverer", metrics_of(output.readouterr().out)
    make_handler("ingester", world)({"Records": []}, CONTEXT)
    yield "ingester", metrics_of(output.readouterr().out)
    make_handler("sweeper", world)(scheduled_event(), CONTEXT)
    yield "sweeper", metrics_of(output.readouterr().out)


def test_each_invocation_writes_one_line_however_many_jobs_it_had(capsys: pytest.CaptureFixture[str]) -> None:
    written = dict(day(Api(), capsys))
    assert {moment: len(lines) for moment, lines in written.items()} == dict.fromkeys(written, 1)
    assert written["api"] == [{"Accepted": 7}]
    (delivered,) = written["deliverer"]
    assert delivered == {
        "LatenessMs": [1_500] * 7,
        "OwnLatenessMs": [1_500] * 7,
        "DelayErrorMs": [],
        "WorkersLost": 0,
        "ForcedCancels": 0,
        "EndsTold": 0,
        "Early": 0,
        "Delivered": 7,
        "Failed": 0,
        "Dead": 0,
        "Expired": 0,
        "DuplicatesAbsorbed": 0,
        "Deferred": 0,
        "Parked": 0,
        "MessagesFailed": 1,
    }


def test_what_is_written_is_what_the_stack_knows_of(capsys: pytest.CaptureFixture[str]) -> None:
    written = {name for _, lines in day(Api(), capsys) for line in lines for name in line}
    waits = {name for name in STATISTICS if name.startswith("Waited")}
    of_workers = {"StaleTokens", "TimeToStartMs"}
    assert written == set(STATISTICS) - {"FaultsContained", "TablesThrottled"} - waits - of_workers, (
        "nothing waited, and nobody pulled"
    )


def test_few_metrics_are_those_that_the_stack_shows_without_the_ones_that_are_nought(
    capsys: pytest.CaptureFixture[str],
) -> None:
    written = dict(day(Api(own_metrics="few"), capsys))
    assert {moment: [set(line) for line in lines] for moment, lines in written.items()} == {
        "api": [],
        "ticker": [],
        "poller": [],
        "deliverer": [{"LatenessMs", "OwnLatenessMs", "MessagesFailed"}],
        "ingester": [],
        "sweeper": [],
    }


def test_a_deployment_without_own_metrics_writes_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert [line for _, lines in day(Api(own_metrics="none"), capsys) for line in lines] == []


def test_a_message_that_tells_its_delay_shows_by_how_much_it_came_later(capsys: pytest.CaptureFixture[str]) -> None:
    """Told for 37 s; one comes 16 ms later, one earlier, one is received again, and two tell nothing."""
    api = Api()
    event = sqs_event([(f"m{number}", "x") for number in range(5)])
    for record, took_ms in zip(event["Records"], (37_016, 36_990, 37_500), strict=False):
        record["messageAttributes"] = {"delay": {"dataType": "Number", "stringValue": "37"}}
        sent_at = int(record["attributes"]["SentTimestamp"])
        record["attributes"]["ApproximateFirstReceiveTimestamp"] = str(sent_at + took_ms)
    event["Records"][2]["attributes"]["ApproximateReceiveCount"] = "2"
    del event["Records"][3]["messageAttributes"]
    make_handler("deliverer", api.clockwork.world)(event, CONTEXT)
    (line,) = metrics_of(capsys.readouterr().out)
    assert line["DelayErrorMs"] == [16, -10]


def test_a_line_is_written_in_one_call(monkeypatch: pytest.MonkeyPatch) -> None:
    writes: list[str] = []
    monkeypatch.setattr(sys.stdout, "write", writes.append)
    Api().create()
    assert [(text.count("\n"), text[-1]) for text in writes] == [(1, "\n")]


def test_a_batch_tells_what_its_first_attempts_waited_for(capsys: pytest.CaptureFixture[str]) -> None:
    api = Api()
    world, queue, clock = api.clockwork.world, api.clockwork.queue, api.clockwork.clock
    api.clockwork.clients.put(msgspec.structs.replace(ACME, max_rate_per_second=1.0))
    api.call("POST", "/v1/jobs/batch", {"jobs": [job_body(schedule={"delaySeconds": 0}) for _ in range(4)]})
    api.clockwork.poll_all()
    capsys.readouterr()
    for _ in range(2):
        event = sqs_event([(message.message_id, message.body) for message in queue.receive()])
        make_handler("deliverer", world)(event, CONTEXT)
        for record in event["Records"]:
            queue.delete(record["messageId"])
        clock.advance(10_000)
    first, second = metrics_of(capsys.readouterr().out)
    assert "WaitedCapMs" not in first
    assert second["WaitedCapMs"] == [1_000, 2_000, 3_000]
    assert min(second["LatenessMs"]) >= 10_000
    own = [late - ms for late, ms in zip(second["LatenessMs"], second["WaitedCapMs"], strict=True)]
    assert second["OwnLatenessMs"] == own
    assert {name for name in second if name.startswith("Waited")} <= set(STATISTICS)


def test_a_request_that_creates_nothing_writes_no_metrics(capsys: pytest.CaptureFixture[str]) -> None:
    api = Api()
    api.call("GET", "/v1/health")
    api.create(color="red")
    api.call("POST", "/v1/jobs/batch", {"jobs": [{}]})
    assert capsys.readouterr().out == ""


def test_a_poller_without_its_lease_does_not_count_as_a_poll(capsys: pytest.CaptureFixture[str]) -> None:
    api = Api()
    clockwork = api.clockwork
    clockwork.shards.register("p000")
    clockwork.shards.acquire("p000", "another", clockwork.clock.now(), clockwork.clock.now() + 20_000, "1")
    make_handler("poller", clockwork.world)(poller_event("p000"), CONTEXT)
    assert metrics_of(capsys.readouterr().out) == []


@pytest.mark.parametrize("count", [1, 99, 100, 101, 1_600])
def test_many_values_are_thinned_to_what_a_line_may_hold_with_both_ends_kept(count: int) -> None:
    values = [float(n * 7 % count) for n in range(count)]
    line = json.loads(metrics_line("Clockwork", "Staging", {"LatenessMs": values}, {"shard": "p000"}))
    kept = check_line(line)["LatenessMs"]
    assert (min(kept), max(kept), len(kept)) == (min(values), max(values), min(count, MOST_VALUES))
    assert abs(sorted(kept)[len(kept) // 2] - count / 2) <= count / 50 + 1
    assert line["shard"] == "p000"


def test_the_stack_is_the_only_dimension(capsys: pytest.CaptureFixture[str]) -> None:
    Api(stack_name="Staging").create()
    (line,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert line["_aws"]["CloudWatchMetrics"][0]["Dimensions"] == [["stack"]]
    assert (line["stack"], line["_aws"]["CloudWatchMetrics"][0]["Namespace"]) == (
        "Staging",
        Settings.for_local().metrics_namespace,
    )


def test_a_line_has_nothing_of_the_one_before_and_no_dimension_of_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("POWERTOOLS_SERVICE_NAME", "another")
    monkeypatch.setenv("POWERTOOLS_METRICS_NAMESPACE", "Another")
    first = json.loads(metrics_line("Clockwork", "Staging", {"Polls": 2}, {"shards": {"dry": ["p000"]}}))
    second = json.loads(metrics_line("Clockwork", "Billing", {"LatenessMs": [1, 2]}, {}))
    assert (check_line(first), first["shards"]) == ({"Polls": 2}, {"dry": ["p000"]})
    assert check_line(second) == {"LatenessMs": [1, 2]}
    assert second.keys() == {"_aws", "stack", "LatenessMs"}
    for line in (first, second):
        (directive,) = line["_aws"]["CloudWatchMetrics"]
        assert (directive["Namespace"], directive["Dimensions"]) == ("Clockwork", [["stack"]])


def test_a_throttled_call_is_told_once_and_by_no_line_without_one(capsys: pytest.CaptureFixture[str]) -> None:
    api = Api()
    world = api.clockwork.world
    world.environment.throttled.add_one()
    world.environment.throttled.add_one()
    for _ in range(2):
        make_handler("ticker", world)(scheduled_event(), CONTEXT)
    first, second = metrics_of(capsys.readouterr().out)
    assert first["TablesThrottled"] == 2
    assert "TablesThrottled" not in second
