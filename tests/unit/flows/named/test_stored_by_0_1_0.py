"""What version 0.1.0 stored of named jobs goes on: rows, pointers, releases and records, in the bytes that it wrote.

There a version, a digest, tied pointers, releases and executions to one definition, and a release carried its payload.
"""

from __future__ import annotations

import base64
from typing import Any

import msgspec
import pytest

from clockwork.domain.executions import State
from clockwork.domain.ids import ExecutionId, NamedJobId, decode_execution
from clockwork.domain.jobs import Payload
from clockwork.domain.keys import row_key
from clockwork.domain.named.changes import cancelled, paused, replaced, resumed
from clockwork.domain.named_jobs import NamedJob
from clockwork.domain.storage.codec import decode
from clockwork.domain.timeline import Row
from clockwork.flows.access import get_named
from clockwork.flows.named.repair import check_chain
from clockwork.flows.named.write import unchanged
from clockwork.flows.timeline.shards import ensure_shards
from tests.support.named import MINE, Named

VERSION, OLDER = "iyV1eJmZp2wq8mO1cXo2bQ", "A0lderVersionOfTheJob0"
JOB_ID = NamedJobId("acme", "old", 1).job_id
TARGET = {"type": "http", "url": "https://example.com/hook"}


class Stored(Named):
    """A Clockwork that finds a job which fires every 10 s, as version 0.1.0 left it at its start."""

    def __init__(self, **row: Any) -> None:
        super().__init__()
        self.change(cancelled(None))  # the other job plays no part
        self.clockwork.queue.messages.clear()
        every = {"every": {"everyMs": 10_000, "anchorAt": self.start}}
        stored = {
            "clientId": "acme",
            "jobKey": "old",
            "incarnation": 1,
            "revision": 3,
            "version": VERSION,
            "state": "ACTIVE",
            "partitionId": "p000",
            "definition": {"target": TARGET, "payload": {"body": b"old"}, "record": "full", "recurrence": every},
            "asSent": b'{"schedule": {"every": {"seconds": 10}}}',
            "createdAt": self.start,
            "changedAt": self.start,
            "chainAfterAt": self.start,
            "activeFromAt": 0,
            **row,
        }
        self.job = decode(b"\x01" + msgspec.msgpack.encode(stored), NamedJob)
        ensure_shards(self.clockwork.world)
        assert self.clockwork.jobs.save(None, self.job)

    def put_pointer(self, second: int) -> None:
        due_at = self.start + second * 1000
        fire = {"baseAt": due_at, "dueAt": due_at, "ordinal": 1}
        element = {"type": "pointer", "clientId": "acme", "jobKey": "old", "version": VERSION, "fire": fire}
        blob = b"\x01" + msgspec.msgpack.encode([element])
        self.clockwork.timeline.put_new([Row("p000", row_key(due_at, "pointer".ljust(22, "x")), blob, due_at * 2)])

    def put_release(self, second: int, version: str = VERSION) -> None:
        due_at = self.start + second * 1000
        occurrence = {
            "type": "once",
            "clientId": "acme",
            "dueAt": due_at,
            "createdAt": self.start,
            "target": TARGET,
            "payload": {"body": b"carried"},
        }
        release = {
            "type": "release",
            "jobId": JOB_ID,
            "occurrence": occurrence,
            "runAt": due_at,
            "run": version,
            "version": version,
            "partitionId": "p000",
        }
        blob = b"\x01" + msgspec.msgpack.encode(release)
        self.clockwork.queue.put(base64.b64encode(blob).decode(), second)

    @property
    def runs(self) -> set[str]:
        return {decode_execution(d.execution_id).run for d in self.clockwork.targets.delivered}


def test_its_row_reads_as_before() -> None:
    stored = Stored()
    assert get_named(stored.clockwork.world, MINE, JOB_ID) == stored.job
    assert stored.job.definition.payload.body == b"old"


def test_its_pointer_and_its_releases_go_on() -> None:
    stored = Stored()
    stored.put_release(10)
    stored.put_pointer(20)
    assert stored.run(55) == [10.0, 20.0, 30.0, 40.0, 50.0]
    assert stored.runs == {VERSION}
    assert {d.occurrence.payload.body for d in stored.clockwork.targets.delivered} == {b"old"}


def test_what_it_had_replaced_before_does_not_start() -> None:
    stored = Stored()
    stored.put_release(10, OLDER)
    assert stored.run(15) == []
    (ended,) = stored.executions()
    assert (ended.state, ended.reason) == (State.CANCELLED, "its job was changed")


@pytest.mark.parametrize(
    ("how", "fired"), [("same", [10.0, 20.0, 30.0]), ("pause", []), ("delete", []), ("resumed", [10.0, 20.0, 30.0])]
)
def test_what_it_had_released_ahead_goes_by_a_change_of_today(how: str, fired: list[float]) -> None:
    stored = Stored()
    stored.put_release(10)
    stored.put_pointer(20)
    changes = {
        "same": [replaced(stored.definition(payload=Payload(b"new")), b'"y"')],
        "pause": [paused(None)],
        "delete": [cancelled(None)],
        "resumed": [paused(None), resumed(None)],
    }
    for change in changes[how]:
        stored.change(change)
    assert stored.run(35) == fired
    assert len(stored.clockwork.targets.delivered) == len(fired)


def test_a_paused_row_is_resumed_behind_what_it_had_released() -> None:
    stored = Stored(state="PAUSED", pausedAt=1_700_000_025_000)
    stored.clockwork.clock.at += 60_000
    stored.change(resumed(None))
    assert stored.run(25) == [60.0, 70.0, 80.0]


def test_a_repeat_of_its_last_change_releases_nothing_twice() -> None:
    stored = Stored()
    stored.put_release(10)
    stored.put_pointer(20)
    unchanged(stored.clockwork.world, stored.stored)
    assert stored.run(25) == [10.0, 20.0]


def test_a_chain_that_lost_its_pointer_goes_on_behind_its_last_record() -> None:
    stored = Stored()
    stored.put_release(10)
    stored.run(45)
    assert check_chain(stored.clockwork.world, stored.stored)
    assert stored.run(30)[-1] == 70.0
    assert [str(ExecutionId(JOB_ID, stored.start + 10_000, VERSION))] == [
        d.execution_id for d in stored.clockwork.targets.delivered if d.occurrence.due_at == stored.start + 10_000
    ]
