"""The ingester on events of both sources: it does each message once and in order, or rejects it with the reason."""

from __future__ import annotations

import base64
import importlib
import json
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from clockwork.aws.errors import NoAnswer, RefusedToAll, Throttled
from clockwork.bootstrap import App, Handler
from clockwork.domain.errors import NewerFormat, OrderedShardsChanged, RefusedForGood, Unavailable
from clockwork.domain.ids import AnonymousJob
from clockwork.domain.jobs import Occurrence
from clockwork.domain.named_jobs import NamedJob
from clockwork.domain.requests.create import Rejected
from clockwork.domain.storage.codec import decode_row
from clockwork.domain.timeline import Row
from clockwork.flows.timeline.put import release_now
from clockwork.memory.outboxes import MemoryRejects
from clockwork.memory.world import MemoryClockwork
from clockwork.ports import Refused
from clockwork.settings import Settings
from tests.handlers.handlers import CONTEXT, job_body
from tests.support.examples import ACME, NOW, release

TOPIC_ARN = "arn:aws:kafka:us-east-1:123456789012:cluster/jobs/abc-1"


class Ingester:
    """The ingester Lambda on a Clockwork in memory with the client acme."""

    def __init__(self) -> None:
        self.clockwork = MemoryClockwork(Settings.for_local())
        self.clockwork.clients.put(ACME)
        self.rejects = MemoryRejects()
        module = importlib.import_module("clockwork.handlers.ingester")
        self.handle: Handler = module.make_handler(App(self.clockwork.world, self.rejects))

    def take(self, *messages: Any, group: str = "g", first: int = 0) -> list[Any]:
        """Hand over a batch of one message group of the queue; returns the failures (`batchItemFailures`)."""
        records = [record(first + number, one, group) for number, one in enumerate(messages)]
        failures: list[Any] = self.handle({"Records": records}, CONTEXT)["batchItemFailures"]
        return failures

    def payloads(self, *, cancelled: bool = False) -> list[bytes]:
        """The payloads of the anonymous jobs that wait on the timeline, or of those that were cancelled there."""
        kept = self._anonymous()
        return sorted(one.payload.body for row, element, one in kept if (element in row.cancelled) == cancelled)

    def job_id(self) -> str:
        """The id of the one anonymous job."""
        ((row, element, _),) = self._anonymous()
        return AnonymousJob(row.partition_id, row.key, element).job_id

    def _anonymous(self) -> list[tuple[Row, int, Occurrence]]:
        pages = [self.clockwork.timeline.read(one, "0", "9" * 14, 1_000) for one in self.clockwork.shards.list()]
        rows = [row for page in pages for row in page.rows]
        elements = [(row, place, kept) for row in rows for place, kept in decode_row(row.blob).items()]
        return [(row, place, kept) for row, place, kept in elements if isinstance(kept, Occurrence)]


def record(number: int, message: Any, group: str = "g") -> dict[str, Any]:
    body = message if isinstance(message, str) else json.dumps(message)
    return {"messageId": f"m{number}", "body": body, "attributes": {"MessageGroupId": group}}


def kafka_event(**lanes: Sequence[Any]) -> dict[str, Any]:
    """Messages by partition (`p0`), their offsets counted from 5."""
    records: dict[str, list[dict[str, Any]]] = {}
    for lane, values in lanes.items():
        partition = int(lane[1:])
        records[f"jobs-{partition}"] = [
            {
                "topic": "jobs",
                "partition": partition,
                "offset": 5 + number,
                "timestamp": NOW,
                "timestampType": "CREATE_TIME",
                "key": None,
                "value": base64.b64encode(json.dumps(value).encode()).decode(),
                "headers": [],
            }
            for number, value in enumerate(values)
        ]
    return {"eventSource": "aws:kafka", "eventSourceArn": TOPIC_ARN, "records": records}


def create(payload: Any = 1, *, client: str = "acme", key: str | None = None, **job: Any) -> dict[str, Any]:
    message = {"op": "create", "clientId": client, "job": job_body(payload=payload, **job)}
    return message | ({"idempotencyKey": key} if key else {})


NIGHTLY: dict[str, Any] = {"jobKey": "nightly", "schedule": {"every": {"seconds": 3_600}}}


def test_a_batch_of_creates_becomes_jobs_that_are_written_together(monkeypatch: pytest.MonkeyPatch) -> None:
    ingester = Ingester()
    put: list[int] = []
    put_new = ingester.clockwork.timeline.put_new

    def counted(rows: Sequence[Row]) -> object:
        put.append(len(rows))
        return put_new(rows)

    monkeypatch.setattr(ingester.clockwork.timeline, "put_new", counted)
    assert ingester.take(*[create(n) for n in range(5)]) == []
    assert ingester.payloads() == [b"0", b"1", b"2", b"3", b"4"]
    assert put == [5]


def test_a_message_that_comes_again_is_the_same_job() -> None:
    ingester = Ingester()
    for _ in range(2):
        assert ingester.take(create(1), create(2)) == []
    assert ingester.payloads() == [b"1", b"2"]


def test_two_messages_are_two_jobs_even_if_they_say_the_same() -> None:
    ingester = Ingester()
    ingester.take(create(1), create(1))
    assert ingester.payloads() == [b"1", b"1"]


def test_a_key_of_its_own_makes_different_messages_the_same_job() -> None:
    ingester = Ingester()
    ingester.take(create(1, key="order-17"))
    ingester.take(create(1, key="order-17"), first=9)
    assert ingester.payloads() == [b"1"]


def test_a_key_that_stands_for_another_request_is_rejected() -> None:
    ingester = Ingester()
    assert ingester.take(create(1, key="order-17"), create(2, key="order-17")) == []
    assert ingester.payloads() == [b"1"]
    assert [one.reason for one in ingester.rejects.rejected] == [
        "the Idempotency-Key 'order-17' was used for another request"
    ]


def test_a_named_job_is_created_and_a_later_message_cancels_it() -> None:
    ingester = Ingester()
    assert ingester.take(create(**NIGHTLY), {"op": "cancel", "clientId": "acme", "jobKey": "nightly"}) == []
    (job,) = ingester.clockwork.jobs.get([("acme", "nightly")])
    assert isinstance(job, NamedJob)
    assert not job.is_alive
    assert ingester.take({"op": "cancel", "clientId": "acme", "jobKey": "nightly"}, first=9) == []
    assert ingester.rejects.rejected == []


def test_a_cancel_and_another_create_of_one_key_keep_their_order() -> None:
    ingester = Ingester()
    cancel = {"op": "cancel", "clientId": "acme", "jobKey": "nightly"}
    ingester.take(create("old", **NIGHTLY), create(7), cancel, create("new", **NIGHTLY))
    (job,) = ingester.clockwork.jobs.get([("acme", "nightly")])
    assert isinstance(job, NamedJob)
    assert (job.is_alive, job.incarnation, job.definition.payload.body) == (True, 2, b"new")
    assert b"7" in ingester.payloads()


def test_an_anonymous_job_is_cancelled_by_its_id() -> None:
    ingester = Ingester()
    ingester.take(create(1))
    job_id = ingester.job_id()
    assert ingester.take({"op": "cancel", "jobId": job_id}, first=1) == []
    assert (ingester.payloads(), ingester.payloads(cancelled=True)) == ([], [b"1"])


def test_a_client_that_is_named_cancels_its_own_jobs_only() -> None:
    ingester = Ingester()
    ingester.clockwork.clients.put(msgspec.structs.replace(ACME, client_id="globex"))
    ingester.take(create(1))
    job_id = ingester.job_id()
    ingester.take({"op": "cancel", "clientId": "globex", "jobId": job_id}, first=1)
    assert ingester.payloads() == [b"1"]
    assert ingester.rejects.rejected[0].reason == f"there is no such job: {job_id}"


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ("", "the body is empty"),
        ("{", "the body is not JSON"),
        ('{"op":"create","op":"cancel"}', "the body has the same name twice"),
        ([], "/op must be one of 'create', 'cancel'"),
        ({}, "/op must be one of 'create', 'cancel'"),
        ({"op": "delete"}, "/op must be one of"),
        ({"op": "create"}, '/clientId is required, for example "acme"; /job is required'),
        (create(client="nobody"), "/clientId is no client's"),
        (create(client="No"), "/clientId must match"),
        (create(key="a b"), "/idempotencyKey must match"),
        ({**create(), "jobs": []}, "/jobs is not a known field"),
        ({"op": "create", "clientId": "acme", "job": 1}, "/job must be a JSON object"),
        (create(record="some"), "/job/record must be one of"),
        (create(schedule={"every": {"seconds": 60}}), "/job/jobKey is required"),
        (create(jobKey="once", record="none"), "/job/record must be full, or left out: a job with a jobKey"),
        (create(target={"type": "http", "url": "http://10.0.0.1/"}), "/job/target/url"),
        ({"op": "cancel"}, "/ must have either jobId or jobKey"),
        ({"op": "cancel", "jobKey": "nightly"}, "/clientId is required with jobKey"),
        ({"op": "cancel", "jobId": "a", "jobKey": "b", "clientId": "acme"}, "/ must have either jobId or jobKey"),
        ({"op": "cancel", "jobId": "nonsense"}, "there is no such job: nonsense"),
        ({"op": "cancel", "clientId": "acme", "jobKey": "unknown"}, "there is no such job: unknown"),
        (create("x" * 600_000), "the body has 600,"),
    ],
)
def test_a_message_that_asks_for_what_cannot_be_is_rejected_with_the_reason_and_the_others_are_done(
    message: Any, reason: str
) -> None:
    ingester = Ingester()
    assert ingester.take(create("before"), message, create("after")) == []
    assert ingester.payloads() == [b"after", b"before"]
    (rejected,) = ingester.rejects.rejected
    assert (rejected.message_id, rejected.lane) == ("m1", "g")
    assert rejected.reason.startswith(reason)


def broken(*_: object) -> Any:
    raise Unavailable("throttled")


def test_what_cannot_be_done_now_comes_back_with_all_that_follows_in_its_group(monkeypatch: pytest.MonkeyPatch) -> None:
    ingester = Ingester()
    events = [create("first", **NIGHTLY), create("second"), create("third")]
    records = [record(n, one, "g") for n, one in enumerate(events)] + [record(9, create("other"), "other")]
    with monkeypatch.context() as patch:
        patch.setattr(ingester.clockwork.jobs, "save", broken)
        answer = ingester.handle({"Records": records}, CONTEXT)
    assert answer == {"batchItemFailures": [{"itemIdentifier": f"m{n}"} for n in range(3)]}
    assert ingester.payloads() == [b"other"]
    assert ingester.handle({"Records": records}, CONTEXT) == {"batchItemFailures": []}
    assert ingester.payloads() == [b"other", b"second", b"third"]
    assert ingester.rejects.rejected == []


def test_creates_that_are_not_certain_come_back_and_are_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    ingester = Ingester()
    cancel = {"op": "cancel", "clientId": "acme", "jobKey": "nightly"}
    ingester.take(create(**NIGHTLY), first=50)
    with monkeypatch.context() as patch:
        patch.setattr(ingester.clockwork.shards, "get", broken)
        failures = ingester.take(create(1), create(2), cancel)
    assert failures == [{"itemIdentifier": f"m{n}"} for n in (0, 1, 2)]
    assert ingester.take(create(1), create(2), cancel) == []
    assert ingester.payloads() == [b"1", b"2"]


@pytest.mark.parametrize("fault", [KeyError("x"), NewerFormat(""), RefusedForGood(""), OrderedShardsChanged("")])
def test_what_is_wrong_with_one_create_is_not_answered_to_those_beside_it(
    fault: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingester = Ingester()
    put_new = ingester.clockwork.timeline.put_new

    def odd_raises(rows: Sequence[Row]) -> Any:
        if any(b"odd" in row.blob for row in rows):
            raise fault
        return put_new(rows)

    monkeypatch.setattr(ingester.clockwork.timeline, "put_new", odd_raises)
    records = [record(number, create(one), one) for number, one in enumerate(("before", "odd", "after"))]
    failed = ingester.handle({"Records": records}, CONTEXT)["batchItemFailures"]
    assert ingester.payloads() == [b"after", b"before"]
    assert [one["itemIdentifier"] for one in failed] + [one.message_id for one in ingester.rejects.rejected] == ["m1"]


@pytest.mark.parametrize("outage", [Unavailable, Throttled, NoAnswer, RefusedToAll])
def test_an_outage_is_asked_about_once_for_all_creates_of_a_batch(
    outage: type[Unavailable], monkeypatch: pytest.MonkeyPatch
) -> None:
    ingester = Ingester()
    tries: list[int] = []

    def out(rows: Sequence[Row]) -> Any:
        tries.append(len(rows))
        raise outage("the table does not answer")

    monkeypatch.setattr(ingester.clockwork.timeline, "put_new", out)
    records = [record(number, create(number), f"{number}") for number in range(5)]
    assert len(ingester.handle({"Records": records}, CONTEXT)["batchItemFailures"]) == 5
    assert tries == [5]


def test_a_release_that_is_refused_itself_is_told_from_a_queue_that_takes_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clockwork = MemoryClockwork(Settings.for_local())
    odd = release()
    clockwork.shards.register(odd.shard)
    shards = clockwork.shards.get([odd.shard])
    monkeypatch.setattr(clockwork.queue, "send", lambda releases, now: [Refused(0, True, "it is too large")])
    with pytest.raises(RefusedForGood):
        release_now(clockwork.world, [odd], shards)


def test_a_message_whose_rejection_cannot_be_kept_comes_back() -> None:
    ingester = Ingester()

    class Full:
        def send(self, rejected: Sequence[Rejected]) -> Sequence[Refused]:
            return [Refused(len(rejected) - 1, False, "throttled")]

    handler = importlib.import_module("clockwork.handlers.ingester").make_handler(App(ingester.clockwork.world, Full()))
    answer = handler({"Records": [record(0, "{"), record(1, create()), record(2, "[")]}, CONTEXT)
    assert answer == {"batchItemFailures": [{"itemIdentifier": "m2"}]}


def test_of_each_partition_the_first_offset_that_failed_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    ingester = Ingester()
    event = kafka_event(p0=[create(1), create(**NIGHTLY), create(2)], p1=[create(3)])
    with monkeypatch.context() as patch:
        patch.setattr(ingester.clockwork.jobs, "save", broken)
        answer = ingester.handle(event, CONTEXT)
    assert answer == {"batchItemFailures": [{"itemIdentifier": {"partition": "jobs-0", "offset": 6}}]}
    assert ingester.handle(event, CONTEXT) == {"batchItemFailures": []}
    assert ingester.payloads() == [b"1", b"2", b"3"]


def test_a_message_of_a_topic_is_known_by_its_place() -> None:
    ingester = Ingester()
    for _ in range(2):
        ingester.handle(kafka_event(p0=[create(1)], p1=[create(1)]), CONTEXT)
    assert ingester.payloads() == [b"1", b"1"]


def test_a_tombstone_in_a_topic_is_rejected() -> None:
    ingester = Ingester()
    event = kafka_event(p0=[1])
    event["records"]["jobs-0"][0]["value"] = None
    assert ingester.handle(event, CONTEXT) == {"batchItemFailures": []}
    assert ingester.rejects.rejected[0].reason.startswith("the body is empty")


def test_a_client_over_its_pace_is_waited_for_and_one_over_its_day_is_rejected() -> None:
    ingester = Ingester()
    ingester.clockwork.clients.put(msgspec.structs.replace(ACME, client_id="slow", creates_per_second=1.0))
    ingester.clockwork.clients.put(msgspec.structs.replace(ACME, client_id="small", jobs_per_day=1))
    many = [create(n, client="slow") for n in range(100)]
    failures = ingester.take(*many)
    assert 0 < len(failures) < 100
    assert [one["itemIdentifier"] for one in failures] == [f"m{n}" for n in range(100 - len(failures), 100)]
    assert ingester.take(create(1, client="small"), create(2, client="small"), group="h", first=200) == []
    assert "jobsPerDay is 1" in ingester.rejects.rejected[0].reason


def test_the_line_of_metrics_counts_what_was_done(capsys: pytest.CaptureFixture[str]) -> None:
    ingester = Ingester()
    ingester.take(create(1), create(**NIGHTLY), {"op": "cancel", "clientId": "acme", "jobKey": "nightly"}, "{")
    line = json.loads(capsys.readouterr().out.strip().splitlines()[-1])
    names = ("Accepted", "CancelledByMessage", "CancelledTooLate", "MessagesRejected", "MessagesFailed")
    assert [line[name] for name in names] == [2, 1, 0, 1, 0]
