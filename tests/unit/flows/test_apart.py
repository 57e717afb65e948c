"""Reads of several items that get no answer: each partition is asked for itself, and what is out waits alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import pytest

from clockwork.domain.errors import Unavailable
from clockwork.domain.fires.chains import release_of
from clockwork.domain.keys import row_key
from clockwork.domain.named_jobs import NamedJob, Pointer
from clockwork.domain.recurrence import Fire
from clockwork.domain.releases import Deliver
from clockwork.domain.storage.codec import decode_message
from clockwork.domain.storage.rows import row_of
from clockwork.flows.named.write import NamedRequest, create_named
from clockwork.flows.poll.shard import poll_shard
from clockwork.flows.timeline.shards import ensure_shards
from clockwork.memory.world import MemoryClockwork
from clockwork.targets.http import HttpTarget
from tests.support.examples import ACME, NOW
from tests.support.named import Named
from tests.unit.flows.test_containment import release_of as release_in_row

OUT, OTHERS = "acme", ("globex", "initech")


class Throttled:
    """A read of several that is refused if any partition in it is out. `asked`: the refs of each call."""

    def __init__(self, inner: Callable[[Any], Any], *out: str, takes: Callable[[], object] = lambda: None) -> None:
        self._inner = inner
        self._takes = takes
        self.out = set(out)
        self.asked: list[Sequence[tuple[str, str]]] = []

    def __call__(self, refs: Sequence[tuple[str, str]]) -> Any:
        self.asked.append(refs)
        self._takes()
        if self.out & {partition for partition, _ in refs}:
            raise Unavailable("the table is throttled")
        return self._inner(refs)


def jobs_of(named: Named, *client_ids: str) -> list[NamedJob]:
    """A named job of each client."""
    jobs = []
    for client_id in client_ids:
        client = msgspec.structs.replace(ACME, client_id=client_id)
        named.clockwork.clients.put(client)
        definition = named.definition(every_ms=3_600_000, target=HttpTarget(f"https://{client_id}.example.com/"))
        wish = NamedRequest(
            client=client, job_key="tick", as_sent=json.dumps(client_id).encode(), definition=definition
        )
        jobs.append(create_named(named.clockwork.world, wish, ensure_shards(named.clockwork.world)).job)
    return jobs


def due_together(*client_ids: str, **waits: Any) -> tuple[MemoryClockwork, list[Deliver]]:
    """A fire of a job of each client, all in one batch, and due now."""
    named = Named(every_ms=3_600_000)
    clockwork = named.clockwork
    jobs = [named.job, *jobs_of(named, *client_ids)]
    clockwork.queue.messages.clear()
    due_at = clockwork.clock.at
    releases = [release_of(job, Fire(due_at, due_at, 1)).waiting(**waits) for job in jobs]
    clockwork.world.releases.send(releases, due_at)
    return clockwork, releases


def delivered(clockwork: MemoryClockwork) -> list[str]:
    return sorted(one.occurrence.client_id for one in clockwork.targets.delivered)


@pytest.mark.parametrize("waits", [0, 1], ids=["at the look", "before all else"])
def test_a_job_that_gives_no_answer_holds_up_its_own_item_alone(waits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    clockwork, _ = due_together(*OTHERS, permits=waits)
    throttled = Throttled(clockwork.jobs.get, OUT)
    monkeypatch.setattr(clockwork.jobs, "get", throttled)
    report = clockwork.deliver_visible()
    assert delivered(clockwork) == sorted(OTHERS)
    assert report.own_lateness_ms == [0, 0]
    assert len(report.failed_messages) == 1
    throttled.out.clear()
    clockwork.run_until(clockwork.clock.at + 600_000)
    assert delivered(clockwork) == sorted([OUT, *OTHERS])


def test_a_record_that_gives_no_answer_holds_up_its_own_item_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    clockwork, releases = due_together(*OTHERS, permits=1)
    throttled = Throttled(clockwork.executions.get, releases[0].job_id)
    monkeypatch.setattr(clockwork.executions, "get", throttled)
    assert len(clockwork.deliver_visible().failed_messages) == 1
    assert delivered(clockwork) == sorted(OTHERS)


@pytest.mark.parametrize("call_ms", [0, 2_000, 12_000])
def test_a_table_that_is_out_is_not_asked_for_longer_than_a_few_seconds(
    call_ms: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = [f"client-{number}" for number in range(9)]
    clockwork, _ = due_together(*others)
    began_at = clockwork.clock.at
    throttled = Throttled(clockwork.jobs.get, OUT, *others, takes=lambda: clockwork.clock.advance(call_ms))
    monkeypatch.setattr(clockwork.jobs, "get", throttled)
    assert len(clockwork.deliver_visible().failed_messages) == 10
    assert len(throttled.asked) == {0: 11, 2_000: 3, 12_000: 2}[call_ms]
    # The call that was refused, and three seconds of which the last call may go beyond.
    assert clockwork.clock.at - began_at < call_ms + 3_000 + call_ms + 1
    assert clockwork.targets.delivered == []


def test_the_items_of_one_partition_are_asked_about_once(monkeypatch: pytest.MonkeyPatch) -> None:
    clockwork, _ = due_together()
    clockwork.world.releases.send([decode_message(m.body)[0] for m in clockwork.queue.messages.values()], NOW)
    throttled = Throttled(clockwork.jobs.get, OUT)
    monkeypatch.setattr(clockwork.jobs, "get", throttled)
    clockwork.deliver_visible()
    assert len(throttled.asked) == 1


def test_a_poller_passes_a_job_that_gives_no_answer_and_looks_at_it_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clockwork = MemoryClockwork()
    clockwork.shards.register("p000")
    before, behind = (release_in_row(client_id) for client_id in OTHERS)
    pointer = Pointer("acme", "tick", "v", Fire(NOW + 5, NOW + 5, 1))
    rows: list[tuple[str, Deliver | Pointer]] = [
        (row_key(NOW + 1, "before"), before),
        (pointer.key, pointer),
        (row_key(NOW + 9, "behind"), behind),
    ]
    clockwork.timeline.put([row_of("p000", key, [one], NOW + 10**8) for key, one in rows])
    throttled = Throttled(clockwork.jobs.get, OUT)
    monkeypatch.setattr(clockwork.jobs, "get", throttled)
    reports = [poll_shard(clockwork.world, "p000", clockwork.clock.at + 60_000) for _ in range(2)]
    assert [(one.outcome, one.quarantined) for one in reports] == [("dry", 1)] * 2
    assert sent_by(clockwork) == [before.job_id, behind.job_id]
    assert clockwork.shards.get(["p000"])["p000"].cursor > rows[2][0]
    throttled.out.clear()
    assert poll_shard(clockwork.world, "p000", clockwork.clock.at + 60_000).quarantined == 0
    assert sent_by(clockwork) == [before.job_id, behind.job_id]
    assert list(clockwork.executions.all()) == []


def sent_by(clockwork: MemoryClockwork) -> list[str]:
    return [one.job_id for message in clockwork.queue.messages.values() for one in decode_message(message.body)]


def test_what_is_out_is_told_by_the_key_of_its_row(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    clockwork = MemoryClockwork()
    clockwork.shards.register("p000")
    pointer = Pointer("acme", "tick", "v", Fire(NOW + 5, NOW + 5, 1))
    clockwork.timeline.put([row_of("p000", pointer.key, [pointer], NOW + 10**8)])
    monkeypatch.setattr(clockwork.jobs, "get", Throttled(clockwork.jobs.get, OUT))
    poll_shard(clockwork.world, "p000", clockwork.clock.at + 60_000)
    told = [(one.clientId, one.key) for one in caplog.records if getattr(one, "action", "") == "job_not_read"]  # type: ignore[attr-defined]
    assert told == [("acme", pointer.key)]
