"""The parts of a smoke besides its checks: the load, what arrives, what Lambdas say, another version, the bill."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.promises import Arrival, Key
from tests.smoke import dollars, logs
from tests.smoke.measured import write
from tests.smoke.places.account import metered
from tests.smoke.places.cloudwatch import without_timeouts
from tests.smoke.places.local import NOT_HERE
from tests.smoke.plan import TARGETS, Ask, Kind, dues_of, mix, request_of, steady
from tests.smoke.scale import ACCOUNT, LOCAL
from tests.smoke.sender import promises_of
from tests.smoke.targets.listener import Heard, heard_in
from tests.smoke.targets.sink import from_lambda, from_web
from tests.smoke.targets.template import HEARD, arns, bodies, queue_name, template
from tests.smoke.upgrade import another_version
from tests.unit.harness.test_smoke_checks import SEEN

NOW = 1_700_000_000_500
DUE = "2026-11-22T12:00:00.250Z"
DUE_AT = 1_795_348_800_250


@pytest.mark.parametrize("scale", [LOCAL, ACCOUNT])
def test_the_mix_has_every_kind_and_with_the_steady_load_two_hundred_jobs(scale: Any) -> None:
    asks = mix(random.Random(1), scale, TARGETS)
    jobs = Counter[Kind]()
    for ask in asks:
        jobs[ask.kind] += ask.jobs
    assert set(jobs) == set(Kind) - {Kind.STEADY}
    assert sum(jobs.values()) + scale.seconds * scale.per_second >= 200
    assert all(0 <= ask.offset_ms < scale.seconds * 1_000 for ask in asks)
    assert [ask.offset_ms for ask in asks] == sorted(ask.offset_ms for ask in asks)
    lone = [(ask.offset_ms + ask.delay_ms) % 1_000 for ask in asks if ask.kind is Kind.LONE]
    assert len(set(lone)) > len(lone) * 0.8


def test_the_steady_load_goes_on_until_it_is_told_to_end() -> None:
    ended = iter([False] * 6 + [True])
    asks = list(steady(random.Random(1), 2, lambda: next(ended)))
    assert [ask.offset_ms for ask in asks] == [0, 500, 1_000, 1_500, 2_000, 2_500]
    assert [ask.record for ask in asks] == ["full", "none"] * 3


def body(kind: Kind, jobs: int = 1) -> Any:
    return request_of(Ask(kind, 0, 8_000, jobs), "http://x", bodies(arns("r", "1", public=True)), "n", NOW).body


def test_each_kind_asks_for_what_it_is_for() -> None:
    assert body(Kind.LONE)["target"]["url"] == "http://x/ok"
    assert body(Kind.RETRIED)["target"]["url"] == "http://x/flaky"
    ordered = body(Kind.ORDERED, 3)["jobs"]
    assert [job["target"]["url"] for job in ordered] == ["http://x/flaky", "http://x/ok", "http://x/ok"]
    assert {job["orderingKey"] for job in ordered} == {"n"}
    assert len({job["schedule"]["at"] for job in body(Kind.HERD, 5)["jobs"]}) == 1
    assert dues_of(Ask(Kind.HERD, 0, 8_000), NOW) == [[NOW + 8_500]]
    cron = body(Kind.CRON, 4)
    assert (cron["schedule"]["cron"], cron["schedule"]["maxFires"], cron["jobKey"]) == ("*/2 * * * * *", 4, "n")
    assert dues_of(Ask(Kind.CRON, 0, 8_000, 2), NOW) == [[1_700_000_010_000, 1_700_000_012_000]]
    assert body(Kind.SQS)["target"] == {"type": "sqs", "queueArn": "arn:aws:sqs:r:1:target-smoke-standard"}
    assert body(Kind.FIFO)["target"]["queueArn"].endswith("target-smoke-orders.fifo")


def test_fires_that_were_due_before_the_answer_are_not_promised() -> None:
    ask = Ask(Kind.CRON, 0, 8_000, 2)
    request = request_of(ask, "http://x", {}, "n", NOW)
    late = promises_of(ask, request, {"jobId": "j"}, 1_700_000_010_001)
    assert [(promise.key.due_at % 100_000, promise.sure) for promise in late] == [
        (10_000, False),
        (12_000, True),
        (14_000, False),
    ]


def message(body: Any = "x", **attributes: str) -> dict[str, Any]:
    told = {name: {"DataType": "String", "StringValue": value} for name, value in attributes.items()}
    text = body if isinstance(body, str) else json.dumps(body)
    return {"MessageId": "m1", "Body": text, "Attributes": {"SentTimestamp": "77"}, "MessageAttributes": told}


def test_what_arrives_is_understood_by_where_it_came() -> None:
    facts = {"jobId": "j", "dueAt": DUE, "attempt": "2"}
    name, heard = heard_in("heard", message(**facts))
    assert (name, heard.origin, heard.arrival.at, heard.arrival.attempt) == ("m1", Kind.SNS, 77, 2)
    assert heard.arrival.key == ("j", DUE_AT)
    assert heard_in(Kind.FIFO, message(**facts))[1].origin == Kind.FIFO
    name, heard = heard_in("heard", message({"id": "e1", "detail": {**facts, "attempt": 1}}))
    assert (name, heard.origin, heard.arrival.accepted) == ("e1", Kind.EVENTBRIDGE, True)
    sunk = {**facts, "origin": "http", "at": 99, "status": 503}
    assert heard_in("heard", message(sunk))[1] == Heard("http", Arrival(Key("j", DUE_AT), 2, 99, False))
    for strange in (message("no json"), message({"a": 1})):
        with pytest.raises((KeyError, ValueError)):
            heard_in("heard", strange)


def test_the_sink_fails_first_attempts_where_it_is_asked_to_and_hears_nobody_without_the_token(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TOKEN", "t0")
    headers = {"clockwork-job-id": "j", "clockwork-due-at": DUE, "clockwork-attempt": "1"}
    event = {"rawPath": "/t0/flaky", "headers": headers, "requestContext": {"timeEpoch": 5}}
    heard = {"origin": "http", "jobId": "j", "dueAt": DUE, "attempt": 1, "at": 5, "status": 503}
    assert from_web(event) == heard
    assert from_web({**event, "rawPath": "/t0/ok"}) == {**heard, "status": 200}
    again = {**event, "headers": {**headers, "clockwork-attempt": "2"}}
    assert from_web(again) == {**heard, "attempt": 2, "status": 200}
    assert from_web({**event, "rawPath": "/t1/ok"}) is None
    told = from_lambda({"jobId": "j", "dueAt": DUE, "attempt": 1, "payload": {}, "executionId": "e"})
    assert (told["origin"], told["status"], told["jobId"]) == ("lambda", 200, "j")


def test_the_targets_of_an_account_have_an_address_and_a_queue_with_a_key_and_all_names_differ() -> None:
    here, there = (template("python3.13", "t0", public=public)["Resources"] for public in (False, True))
    assert there.keys() - here.keys() == {"Http", "HttpInvokes", "Key", "Sealed"}
    names = [queue_name(use) for use in (*HEARD, "delays", "hiding")]
    assert len(set(names)) == len(names)
    assert not any(name.startswith("Clockwork") for name in names)
    assert Kind.SEALED not in arns("r", "1", public=False)
    assert len(json.dumps(template("python3.13", "t0", public=True))) < 51_200


def emf(**metrics: Any) -> str:
    directive = {"Metrics": [{"Name": name} for name in metrics]}
    return json.dumps({"_aws": {"Timestamp": 5, "CloudWatchMetrics": [directive]}, **metrics})


def test_lines_tell_metrics_messages_initialisations_and_refusals() -> None:
    lines = {
        "Api": [
            "START",
            emf(Accepted=2),
            "REPORT RequestId: x\tDuration: 3 ms\tInit Duration: 412.50 ms",
            '{"type": "platform.report", "record": {"metrics": {"initDurationMs": 300.0}}}',
            "User: x is not authorized to perform: dynamodb:PutItem",
        ],
        "KafkaDeliverer": [emf(Delivered=3, Failed=1, LatenessMs=[1, 2, 3], WaitedCapMs=[])],
        "Poller": [emf(Delivered=7)],
    }
    told = logs.read(lines)
    assert told.metrics == {"Accepted": 2, "Delivered": 10, "Failed": 1, "LatenessMs": 3}
    assert told.deliveries == [(5, 4)]
    assert told.init_ms == {"Api": [412.5, 300.0]}
    assert [line[:9] for line in told.denied] == ["Api: User"]
    assert told.durations_ms == {"Api": [3.0]}


class Functions:
    """As much of Lambda as tells how long an invocation may take."""

    def get_function_configuration(self, **asked: str) -> dict[str, int]:
        return {"Timeout": {"api-1": 29, "poller-1": 60}[asked["FunctionName"]]}


def test_an_invocation_that_ran_out_of_time_here_is_no_failure_and_any_other_is() -> None:
    functions = {"Api": "api-1", "Poller": "poller-1"}
    took = {"Api": [29_000.0, 28_999.0], "Poller": [100.0]}
    failed = without_timeouts(lambda service: Functions(), functions, {"Api": 2, "Poller": 1}, took)
    assert failed == {"Api": 1, "Poller": 1}


def test_another_version_has_another_core_and_other_versions_and_leaves_the_first_alone(tmp_path: Path) -> None:
    core, version = "c" * 64, "FunctionsApiCurrentVersion1234ABCD" + "d" * 32
    resources = {
        "LayersCore1": {"Type": "AWS::Lambda::LayerVersion", "Properties": {"Content": {"S3Key": f"{core}.zip"}}},
        version: {"Type": "AWS::Lambda::Version", "Properties": {}},
        "Live": {"Type": "AWS::Lambda::Alias", "Properties": {"FunctionVersion": {"Fn::GetAtt": [version, "Version"]}}},
    }
    assembly = tmp_path / "one"
    (assembly / f"asset.{core}").mkdir(parents=True)
    files = {
        core: {"source": {"path": f"asset.{core}"}, "destinations": {"x": {"objectKey": f"{core}.zip"}}},
        "t" * 64: {"source": {"path": "Clockwork.template.json"}, "destinations": {"x": {"objectKey": "t" * 64}}},
    }
    (assembly / "Clockwork.template.json").write_text(json.dumps({"Resources": resources}))
    (assembly / "Clockwork.assets.json").write_text(json.dumps({"files": files}))
    (assembly / "manifest.json").write_text(json.dumps({"url": "s3://" + "t" * 64}))
    before = {path: path.read_text() for path in assembly.glob("*.json")}
    other = another_version(assembly, tmp_path / "two")
    assert {path: path.read_text() for path in assembly.glob("*.json")} == before
    assert not list((assembly / f"asset.{core}").iterdir())
    text = "".join(path.read_text() for path in other.glob("*.json"))
    assert not [old for old in (core, version, "t" * 64) if old in text]
    (asset,) = other.glob("asset.*")
    assert text.count(asset.name.removeprefix("asset.")) == 4
    (renamed,) = (
        name for name in json.loads((other / "Clockwork.template.json").read_text())["Resources"] if "V" in name
    )
    assert renamed.startswith("FunctionsApiCurrentVersion1234ABCD")


def test_the_bill_is_reckoned_by_what_each_kind_writes_and_metered_by_what_aws_counts() -> None:
    none = dollars.reckoned([], {}, 0)
    assert set(none.values()) == {0}
    some = dollars.reckoned(SEEN.promises, SEEN.kinds, 10)
    assert none.keys() == some.keys() == metered({}, {}).keys()
    assert 0 < sum(some.values()) < 0.01
    assert metered({"writes": 2_000_000, "ms of Api": 1_000}, {"Api": 0.5})["writes"] == 1.25
    assert metered({"ms of Api": 2_000}, {"Api": 0.5})["gbSeconds"] == pytest.approx(0.0000133334)


def test_what_was_measured_is_one_dated_file(tmp_path: Path) -> None:
    path = write("account", "eu-west-1", {"stage": "account", "jobs": 3}, SEEN, tmp_path / "measured")
    assert path.name == "1970-01-12T1348Z-account.json"
    found = json.loads(path.read_text())
    assert (found["at"], found["region"], found["jobs"]) == ("1970-01-12T13:48:20Z", "eu-west-1", 3)
    assert found["figures"]["deployUnderLoad"]["occurrences"] == 1


def test_what_is_not_here_is_told_with_its_reason() -> None:
    assert all(len(reason) > 10 for reason in NOT_HERE.values())
