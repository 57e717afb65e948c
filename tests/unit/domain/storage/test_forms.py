"""Forms of what is stored: what is a list stays a list, and what a reader must not ignore is refused."""

from __future__ import annotations

import base64
from typing import Any

import msgspec
import pytest

from clockwork.domain.clients import Client, Pause
from clockwork.domain.cron.exclude_parser import parse_exclude
from clockwork.domain.cron.parser import compile_cron
from clockwork.domain.errors import Undecodable
from clockwork.domain.executions import LONGEST_ERROR, Awaited, Execution, Kept, State
from clockwork.domain.fires.hints import hint_of
from clockwork.domain.ids import NodeJob
from clockwork.domain.jobs import NodeOf
from clockwork.domain.named_jobs import Definition, JobState, NamedJob
from clockwork.domain.policies import Completion
from clockwork.domain.recurrence import Every, Recurrence
from clockwork.domain.releases import Of
from clockwork.domain.storage import codec
from clockwork.domain.storage.packed import PackedJob, pack, unpack
from clockwork.domain.storage.rows import LARGEST_RAW, row_of, row_of_retry, undecodable_execution
from clockwork.domain.waits import Held, Line
from clockwork.domain.workflows.definition import Node, WorkflowTarget
from clockwork.targets.message import Payload
from tests.support.examples import ACME, NOW, TARGET, execution, occurrence, release, watch_like


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        (Pause(1, 2), [1, 2]),
        (Held("cap", 3), ["cap", 3]),
        (Line(None, 4), [None, 4]),
        (PackedJob(0, 1, 2, b"x", False), [0, 1, 2, b"x", False]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_stored_as_a_list_stays_one(value: Any, stored: list[Any]) -> None:
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(value)) == stored
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(stored), type=type(value)) == value


def named_job(recurrence: Recurrence, **changes: Any) -> NamedJob:
    values: dict[str, Any] = {
        "client_id": "acme",
        "job_key": "daily",
        "incarnation": 1,
        "revision": 1,
        "state": JobState.ACTIVE,
        "partition_id": "p000",
        "definition": Definition(target=TARGET, payload=Payload(b"1"), recurrence=recurrence),
        "as_sent": b"{}",
        "created_at": NOW,
        "changed_at": NOW,
        "chain_after_at": NOW,
        "asked_at": NOW,
        "series": "s",
    }
    return NamedJob(**{**values, **changes})


@pytest.mark.parametrize("place", [(), ("cron",), ("exclude",), ("exclude", "crons", 0)])
def test_a_schedule_with_a_field_that_this_version_does_not_know_is_not_guessed_at(place: tuple[Any, ...]) -> None:
    exclude = parse_exclude(["* * * * 1-3"])
    job = named_job(Recurrence(cron=compile_cron("0 5 * * *"), timezone="Europe/Berlin", exclude=exclude))
    stored = codec.encode(job)
    assert codec.decode(stored, NamedJob) == job
    fields = msgspec.msgpack.decode(stored[1:])
    part = fields["definition"]["recurrence"]
    for step in place:
        part = part[step]
    part["later"] = 1
    with pytest.raises(Undecodable):
        codec.decode(stored[:1] + msgspec.msgpack.encode(fields), NamedJob)


def test_a_compiled_expression_says_its_version_and_another_one_is_refused() -> None:
    cron = compile_cron("0 5 * * *")
    fields = msgspec.to_builtins(cron)
    assert (fields["version"], msgspec.convert(fields, type(cron))) == (1, cron)
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({**fields, "version": 2}, type(cron))


def test_every_kind_is_written_in_the_first_format_and_a_row_says_whether_it_is_packed() -> None:
    job = named_job(Recurrence(every=Every(10_000, NOW)))
    packed, pressed = codec.encode_packed({0: occurrence(), 3: occurrence()}), codec.encode_pressed([release()])
    row = codec.encode_row([occurrence(), release()])
    assert {blob[0] for blob in (codec.encode(ACME), codec.encode(job), row, packed, pressed)} == {1}
    assert [codec.is_packed(blob) for blob in (packed, pressed, row, codec.encode_row([]), b"")] == [True, *[False] * 4]
    assert codec.decode_row(packed) == {0: occurrence(), 3: occurrence()}
    assert codec.decode_row(pressed) == {0: release()}
    assert codec.decode_row(row) == {0: occurrence(), 1: release()}


def test_workflows_have_a_format_that_an_older_version_refuses() -> None:
    workflow = WorkflowTarget({"a": Node(target=TARGET), "b": Node(target=TARGET, after=("a",))})
    run = occurrence(target=workflow)
    of = NodeOf("job.1.0", "a")
    node = release(of=Of(NodeJob("p000", "r" * 22, 1, 0).job_id, node=of))
    job = named_job(Recurrence(every=Every(10_000, NOW)))
    job = msgspec.structs.replace(job, definition=msgspec.structs.replace(job.definition, target=workflow))
    records = [
        execution(State.RUNNING, occurrence=run),
        msgspec.structs.replace(execution(State.RUNNING), kept=Kept(node=of)),
    ]
    rows = [codec.encode_row([occurrence(), run]), codec.encode_packed({0: run}), codec.encode_pressed([node])]
    hint = release(occurrence=hint_of(run))
    messages = [codec.encode_message([release(), node]), codec.encode_release(hint)]
    blobs = [*rows, *map(base64.b64decode, messages), codec.encode(job), *map(codec.encode, records)]
    assert {blob[0] for blob in blobs} == {2}
    assert codec.decode_row(rows[0]) == {0: occurrence(), 1: run}
    assert codec.decode_row(rows[1]) == {0: run}
    assert codec.decode_row(rows[2]) == {0: node}
    assert codec.decode_message(messages[0]) == [release(), node]
    assert [codec.decode(codec.encode(record), Execution) for record in records] == records
    assert codec.decode(codec.encode(job), NamedJob) == job


def test_messages_of_one_of_several_and_of_hinted_releases_are_read_back() -> None:
    hinted = release(occurrence=occurrence(is_hint=True))
    for releases in ([release()], [release(), release(attempt=2)], [hinted], [hinted, release()]):
        assert codec.decode_message(codec.encode_message(releases)) == releases


def test_a_packed_row_whose_jobs_refer_to_nothing_is_refused() -> None:
    packed = pack({0: occurrence(due_at=NOW + 5), 3: occurrence(payload=Payload(b"2", True))})
    assert unpack(packed) == {0: occurrence(due_at=NOW + 5), 3: occurrence(payload=Payload(b"2", True))}
    assert [(job.place, job.later_ms, job.like) for job in packed.jobs] == [(0, 5, 0), (3, 0, 0)]
    for wrong in ({"like": 1}, {"like": -1}, {"place": -1}):
        jobs = (msgspec.structs.replace(packed.jobs[0], **wrong),)
        with pytest.raises(ValueError, match="is like entry"):
            unpack(msgspec.structs.replace(packed, jobs=jobs))


def test_the_record_of_a_row_that_nobody_can_read_is_bounded_and_holds_its_bytes() -> None:
    row = msgspec.structs.replace(row_of("p000", f"{NOW}#x", [occurrence()], NOW), blob=b"x" * (LARGEST_RAW + 1))
    dead = undecodable_execution(row, "?", "e" * (LONGEST_ERROR + 1), NOW + 9)
    assert (dead.state, dead.revision, dead.due_at, dead.expires_at) == (State.DEAD, 1, NOW, NOW + 9)
    assert (len(dead.kept.raw or b""), len(dead.reason or "")) == (LARGEST_RAW, LONGEST_ERROR)


def test_ordered_retries_of_one_instant_sort_by_due_instant_and_sequence() -> None:
    def retry(due_at: int, sequence: int) -> str:
        due = occurrence(due_at=due_at, ordering_key="o", sequence=sequence)
        return row_of_retry(release(occurrence=due, run_at=NOW + 60_000), NOW).key

    in_order = [retry(NOW, 9), retry(NOW, 10), retry(NOW + 1, 1)]
    assert sorted(in_order) == in_order
    assert len({key[:13] for key in in_order}) == 1
    plain = row_of_retry(release(run_at=NOW + 60_000), NOW)
    assert plain == row_of_retry(release(run_at=NOW + 60_000), NOW)
    assert plain.key != row_of_retry(release(run_at=NOW + 60_000, attempt=2), NOW).key


def test_what_completes_by_callback_is_read_back() -> None:
    ends_later = occurrence(completion=Completion(heartbeat_seconds=60))
    watch = watch_like(release(occurrence=ends_later))
    awaited = Awaited(heartbeat_ms=60_000, deadline_at=NOW + 600_000, accepted_at=NOW)
    running = execution(State.RUNNING, attempt=1, claimant="t", claim_until=NOW, awaited=awaited, occurrence=ends_later)
    job = named_job(Recurrence(every=Every(10_000, NOW)))
    job = msgspec.structs.replace(job, definition=msgspec.structs.replace(job.definition, completion=Completion()))
    row, packed = codec.encode_row([ends_later, watch]), codec.encode_packed({0: occurrence(), 3: ends_later})
    message, alone = codec.encode_message([watch, release()]), codec.encode_release(watch)
    assert codec.decode_row(row) == {0: ends_later, 1: watch}
    assert codec.decode_row(packed) == {0: occurrence(), 3: ends_later}
    assert codec.decode_message(message) == [watch, release()]
    assert codec.decode_message(alone) == [watch]
    assert codec.decode(codec.encode(running), Execution) == running
    assert codec.decode(codec.encode(job), NamedJob) == job


SECRET = "4111-1111"


@pytest.mark.parametrize(
    ("stored", "told"),
    [
        ({"clientId": "acme", "record": SECRET}, r"ValidationError at \$.record"),
        ({"clientId": "acme", "revision": SECRET}, r"ValidationError at \$.revision"),
        ({"clientId": "acme", "principals": ["x", {SECRET: 1}]}, r"ValidationError at \$.principals\[1\]"),
        ({SECRET: SECRET}, "ValidationError"),
        (SECRET, "ValidationError"),
    ],
)
def test_why_bytes_cannot_be_decoded_quotes_nothing_of_them(stored: object, told: str) -> None:
    with pytest.raises(Undecodable, match=f"^{told}$"):
        codec.decode(b"\x01" + msgspec.msgpack.encode(stored), Client)


def test_nor_do_damaged_bytes_of_any_kind() -> None:
    blob = bytearray(codec.encode(Client(client_id="acme", pause_reason=f"card {SECRET}", principals=(SECRET,))))
    for place in range(1, len(blob)):
        for odd in (0xC1, 0xFF, 0x00, 0xA9):
            damaged = bytes([*blob[:place], odd, *blob[place + 1 :]])
            try:
                codec.decode(damaged, Client)
            except Undecodable as fault:
                assert SECRET not in str(fault)
                assert set(str(fault)) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 $.[]_")
