"""Containment in polls and sweeps: a call of a port that raises for one client leaves the work of others done once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import pytest

from clockwork.domain.clients import Client
from clockwork.domain.executions import State
from clockwork.domain.ids import AnonymousJob, decode_job
from clockwork.domain.keys import BEGINNING, END, edge_key, row_key
from clockwork.domain.lifecycle.parking import Parked, parked_row
from clockwork.domain.named_jobs import Definition
from clockwork.domain.recurrence import Every, Recurrence
from clockwork.domain.releases import Deliver, Refused, Release
from clockwork.domain.requests.create import CreateRequest, Rejected
from clockwork.domain.storage.codec import decode_message, encode_message
from clockwork.domain.storage.rows import row_of
from clockwork.domain.timeline import NEVER
from clockwork.flows.named.write import NamedRequest, create_named
from clockwork.flows.requests.ingest import Ingestion, Message
from clockwork.flows.requests.quotas import Intake
from clockwork.flows.sweep.audit import audit_chains
from clockwork.flows.sweep.sweep import Repairs, repair_all
from clockwork.memory.world import MemoryClockwork
from clockwork.targets.http import HttpTarget
from clockwork.targets.message import Payload
from clockwork.targets.sqs import SqsTarget
from tests.support.examples import ALICE, NOW, TARGET, new_job
from tests.unit.flows.test_containment import ODD, OTHERS, SECRET, release_of

CLIENTS = (*OTHERS[:2], ODD, *OTHERS[2:])
BACK = HttpTarget("https://example.com/failed")
QUEUE = SqsTarget("arn:aws:sqs:us-east-1:123456789012:orders")
EVERY_MS = 60_000
#: The instant of every test: ten fires of each named job were missed by then.
AT = NOW + 10 * EVERY_MS + 30_000


def is_odd(value: object) -> bool:
    """Whether a value is about the odd client, whose name is in its ids, in its bytes, or in a field."""
    if isinstance(value, str):
        return ODD in value or _names_odd(value.split(".")[0])
    if isinstance(value, bytes):
        return ODD.encode() in value
    if isinstance(value, msgspec.Struct):
        return any(is_odd(getattr(value, name)) for name in value.__struct_fields__)
    if isinstance(value, dict):
        return any(map(is_odd, (*value, *value.values())))
    return isinstance(value, list | tuple) and any(map(is_odd, value))


def _names_odd(job_id: str) -> bool:
    try:
        return ODD in str(decode_job(job_id))
    except ValueError:
        return False


@pytest.fixture
def clockwork() -> MemoryClockwork:
    """Five clients; the work of each lies where a test puts it."""
    clockwork = MemoryClockwork()
    clockwork.shards.register("p000")
    for client_id in CLIENTS:
        clockwork.clients.put(Client(client_id=client_id, principals=(ALICE,), dead_letter_queue_arn=QUEUE.queue_arn))
    return clockwork


def raising(clockwork: MemoryClockwork, port: str, call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    owner = getattr(clockwork, port, None) or getattr(clockwork.world, port)
    inner = getattr(owner, call)

    def odd(*args: Any, **named: Any) -> Any:
        if is_odd(args) or is_odd(named):
            raise ValueError(f"never show {SECRET}")
        return inner(*args, **named)

    monkeypatch.setattr(owner, call, odd)


def dying(client_id: str, **changes: Any) -> Deliver:
    """A release that asks for a callback, should it die."""
    release = release_of(client_id, "full", **changes)
    return msgspec.structs.replace(
        release, occurrence=msgspec.structs.replace(release.occurrence, on_failure=BACK, payload=Payload(b"die"))
    )


def sent(clockwork: MemoryClockwork) -> Iterator[Release]:
    for message in clockwork.queue.messages.values():
        yield from decode_message(message.body)


def by_client(clockwork: MemoryClockwork, *, back: bool = False) -> Counter[str]:
    """How often releases of each other client were sent, or callbacks of its deaths."""
    releases = [one.occurrence for one in sent(clockwork) if one.occurrence.client_id != ODD]
    return Counter(one.client_id for one in releases if (one.target == BACK) is back)


def dead_of(clockwork: MemoryClockwork) -> Counter[str]:
    dead = [one for one in clockwork.executions.all() if one.state is State.DEAD]
    return Counter(one.client_id for one in dead if one.client_id in OTHERS)


POLL_CALLS = (
    ("timeline", "put_new"),
    ("jobs", "get"),
    ("clients", "get"),
    ("executions", "save"),
    ("executions", "list"),
    ("queue", "send"),
    ("notices", "send"),
)


@pytest.mark.parametrize(("port", "call"), POLL_CALLS, ids=lambda part: str(part))
def test_a_call_of_a_poll_that_raises_for_one_client_leaves_the_rows_of_others_done_once(
    clockwork: MemoryClockwork, port: str, call: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    # Each client has a row that is released, one that the queue never takes, and a recurring job with missed fires.
    recurrence = Recurrence(every=Every(EVERY_MS, NOW))
    definition = Definition(target=TARGET, payload=Payload(b"1"), recurrence=recurrence, catch_up="none")
    for number, client_id in enumerate(CLIENTS):
        for place, release in enumerate((release_of(client_id, "none"), dying(client_id))):
            key = row_key(AT - 1, f"{client_id}{number}{place}".ljust(22, "x"))
            clockwork.timeline.put([row_of("p000", key, [release], 2 * NOW)])
        wish = NamedRequest(
            client=Client(client_id=client_id, principals=(ALICE,)),
            job_key=f"{client_id}-daily",
            as_sent=b"{}",
            definition=definition,
        )
        create_named(clockwork.world, wish, ["p000"])
    clockwork.queue.messages.clear()  # what the creates released at once
    clockwork.clock.at = AT
    send = clockwork.queue.send

    def never_takes(releases: Any, now: int) -> Any:
        never = [i for i, one in enumerate(releases) if one.occurrence.payload.body == b"die"]
        assert not send([one for i, one in enumerate(releases) if i not in never], now)
        return [Refused(index, True, "too large") for index in never]

    monkeypatch.setattr(clockwork.queue, "send", never_takes)
    raising(clockwork, port, call, monkeypatch)
    for _ in range(3):
        assert clockwork.poll("p000").outcome == "dry"
        clockwork.clock.at += 30_000
    fires = {one.execution_id for one in sent(clockwork) if one.revision is not None}
    assert len(fires) == len([one for one in sent(clockwork) if one.revision is not None])
    anonymous = [one for one in sent(clockwork) if one.revision is None and one.occurrence.target != BACK]
    assert Counter(one.occurrence.client_id for one in anonymous) - Counter({ODD: 9}) == Counter(OTHERS)
    assert by_client(clockwork, back=True) == dead_of(clockwork) == Counter(OTHERS)
    told = {one.client_id: one.end.skipped.count for one in clockwork.executions.all() if one.end.skipped is not None}
    assert {client_id: told[client_id] for client_id in OTHERS} == dict.fromkeys(OTHERS, told[OTHERS[0]])
    assert SECRET not in caplog.text


SWEEP_CALLS = (
    ("executions", "find"),
    ("executions", "get"),
    ("executions", "save"),
    ("queue", "send"),
    ("notices", "send"),
    ("clients", "get"),
    ("timeline", "put_new"),
    ("timeline", "read"),
    ("timeline", "forget"),
    ("timeline", "find"),
    ("regulation", "circuits"),
    ("regulation", "direct_parked"),
    ("regulation", "forget_parked"),
)


def swept(clockwork: MemoryClockwork, times: int = 3) -> list[Repairs]:
    reports = []
    for _ in range(times):
        reports.append(repair_all(clockwork.world, clockwork.clock.at + 300_000))
        clockwork.clock.at += 60_000
    return reports


@pytest.mark.parametrize("directed", [False, True], ids=["on its ramp", "by hand"])
@pytest.mark.parametrize(("port", "call"), SWEEP_CALLS, ids=lambda part: str(part))
def test_a_call_of_a_sweep_that_raises_for_one_client_leaves_the_work_of_others_done_once(
    clockwork: MemoryClockwork,
    port: str,
    call: str,
    directed: bool,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    clockwork.clock.at = AT
    for client_id in CLIENTS:
        # 1. Two dead letters: one that is released again, and one that dies.
        for release in (release_of(client_id, "none"), dying(client_id, sweeps=3)):
            letter = clockwork.queue.put(encode_message([release]))
            clockwork.queue.dead[letter] = clockwork.queue.messages.pop(letter)
        # 2. A parked row.
        clockwork.regulation.note_parked(client_id, AT - 10**9)
        job_id = AnonymousJob("p000", row_key(NOW, f"{client_id}-parked".ljust(22, "x")), 0).job_id
        parked = release_of(client_id, "full", job_id=job_id)
        clockwork.executions.save([(None, parked.first_record(State.PARKED, NEVER))])
        clockwork.timeline.put_new([parked_row(parked)])
        if directed:
            clockwork.regulation.direct_parked(Parked(client_id, rate=100.0, by_hand=True))
    raising(clockwork, port, call, monkeypatch)
    repairs = swept(clockwork)
    assert [one.failures for one in repairs] == [[], [], []]
    assert by_client(clockwork) == Counter(OTHERS * 2)
    assert by_client(clockwork, back=True) == dead_of(clockwork) == Counter(OTHERS)
    letters = [one for message in clockwork.queue.dead.values() for one in decode_message(message.body)]
    assert {one.occurrence.client_id for one in letters} <= {ODD}
    assert SECRET not in caplog.text


@pytest.mark.parametrize("call", ["find", "save"])
def test_a_call_of_a_discard_that_raises_for_one_client_leaves_the_work_of_others_discarded(
    clockwork: MemoryClockwork, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    clockwork.clock.at = AT
    for client_id in CLIENTS:
        release = release_of(client_id, "full")
        clockwork.executions.save([(None, release.first_record(State.PARKED, 2 * NOW))])
        clockwork.regulation.note_parked(client_id, AT)
        clockwork.timeline.put_new([parked_row(release)])
        clockwork.regulation.direct_parked(Parked(client_id, discard_until=AT))
    raising(clockwork, "executions", call, monkeypatch)
    assert sum(one.parked.discarded for one in swept(clockwork)) == len(OTHERS)
    ended = [one.client_id for one in clockwork.executions.all() if one.state is State.CANCELLED]
    assert sorted(ended) == sorted(OTHERS)


AUDIT_CALLS = (
    ("timeline", "find"),
    ("timeline", "put_new"),
    ("executions", "list"),
    ("executions", "save"),
    ("queue", "send"),
)


@pytest.mark.parametrize(("port", "call"), AUDIT_CALLS, ids=lambda part: str(part))
def test_a_call_of_an_audit_that_raises_for_one_client_leaves_the_chains_of_others_repaired_once(
    clockwork: MemoryClockwork, port: str, call: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    # The pointers of all jobs are lost. Fires up to the horizon are the audit's to release, and those missed to record.
    recurrence = Recurrence(every=Every(EVERY_MS, NOW))
    definition = Definition(target=TARGET, payload=Payload(b"1"), recurrence=recurrence, catch_up="none")
    for client_id in CLIENTS:
        client = Client(client_id=client_id, principals=(ALICE,))
        wish = NamedRequest(client=client, job_key=f"{client_id}-daily", as_sent=b"{}", definition=definition)
        create_named(clockwork.world, wish, ["p000"])
    pointers = [row.key for row in clockwork.timeline.read("p000", BEGINNING, END, 100).rows]
    clockwork.timeline.forget("p000", pointers)
    clockwork.queue.messages.clear()
    clockwork.clock.at = AT
    assert clockwork.shards.acquire("p000", "poller", AT, AT + 1, edge_key(AT + EVERY_MS)) is not None
    scan = clockwork.jobs.scan
    monkeypatch.setattr(clockwork.jobs, "scan", lambda _part, _parts: scan(0, 1))
    raising(clockwork, port, call, monkeypatch)
    reports = [audit_chains(clockwork.world, AT + 300_000) for _ in range(2)]
    assert [(one.audited + one.left, one.left <= 1) for one in reports] == [(len(CLIENTS), True)] * 2
    assert len(OTHERS) <= reports[0].repaired
    fires = Counter(one.execution_id for one in sent(clockwork) if one.occurrence.client_id != ODD)
    assert set(fires.values()) == {1}
    assert set(by_client(clockwork)) == set(OTHERS)
    skipped = Counter(one.client_id for one in clockwork.executions.all() if one.end.skipped is not None)
    assert skipped - Counter({ODD: 1}) == Counter(OTHERS)
    assert SECRET not in caplog.text
    told = [one.__dict__ for one in caplog.records if getattr(one, "action", "") == "unreadable_job"]
    assert all((one["clientId"], one["jobKey"]) == (ODD, f"{ODD}-daily") for one in told)


class _Rejects:
    """A store of rejected messages that takes all."""

    def __init__(self) -> None:
        self.taken: list[str] = []

    def send(self, rejected: Sequence[Rejected]) -> Sequence[Refused]:
        self.taken += [one.message_id for one in rejected]
        return ()


INGEST_CALLS = (("key_rows", "claim"), ("timeline", "put_new"), ("queue", "send"))


@pytest.mark.parametrize(("port", "call"), INGEST_CALLS, ids=lambda part: str(part))
def test_a_call_of_ingesting_that_raises_for_one_client_leaves_the_messages_of_others_done_once(
    clockwork: MemoryClockwork, port: str, call: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    # The jobs are due before the horizon of their shard: each is released by the create itself.
    assert clockwork.shards.acquire("p000", "poller", NOW, NOW + 1, edge_key(NOW + 60_000)) is not None

    def read(message: Message) -> CreateRequest:
        client = Client(client_id=message.lane, principals=(ALICE,))
        wanted = new_job(delay_ms=5_000, record="none", payload=Payload(message.lane.encode()))
        return CreateRequest(client=client, jobs=(wanted,), idempotency_key=f"{message.lane}-1", digest="d")

    raising(clockwork, port, call, monkeypatch)
    rejects = _Rejects()
    messages = [Message(f"message-{one}", one, b"") for one in CLIENTS]
    report = Ingestion(clockwork.world, rejects, Intake(), ["p000"], read).run(messages)
    assert report.created == len(OTHERS)
    assert [*report.failed, *rejects.taken] == [f"message-{ODD}"]
    assert by_client(clockwork) == Counter(OTHERS)
    assert SECRET not in caplog.text
