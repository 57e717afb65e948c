"""Ordered jobs that wait for longer than their queue keeps them: they end DEAD, and a redrive restores them."""

from __future__ import annotations

from typing import Any

import msgspec

from clockwork.domain.executions import DAY_MS, Execution, State
from clockwork.flows.requests.create import create_jobs
from clockwork.flows.requests.redrive import DeadFilter, redrive_dead
from clockwork.flows.timeline.shards import ensure_shards
from clockwork.memory.world import MemoryClockwork
from clockwork.ports import Saved
from clockwork.targets.http import HttpTarget
from clockwork.targets.message import Payload
from tests.support.examples import ACME, changed, new_job, request

PAUSED = msgspec.structs.replace(ACME, paused=True)
UNSAVED = Saved(ok=False, unavailable="no answer")
CALLED = HttpTarget("https://callbacks.example.com/")


def paused(*names: str, apart_ms: int = 1_000, **job: Any) -> MemoryClockwork:
    """A Clockwork whose client is paused, with ordered jobs that have come due in the order of their names."""
    clockwork = MemoryClockwork()
    clockwork.clients.put(PAUSED)
    for place, name in enumerate(names):
        due_ms = 5_000 + place * apart_ms
        asked = new_job(
            **{"delay_ms": due_ms, "ordering_key": "k", "sequence": place, "payload": Payload(name.encode()), **job}
        )
        create_jobs(clockwork.world, request(asked), ensure_shards(clockwork.world))
    clockwork.run_until(clockwork.clock.at + 60_000)
    return clockwork


def delivered(clockwork: MemoryClockwork) -> list[str]:
    return [one.occurrence.payload.body.decode() for one in clockwork.targets.delivered]


def records(clockwork: MemoryClockwork) -> list[Execution]:
    return sorted(clockwork.executions.all(), key=lambda one: one.due_at)


def test_what_has_waited_for_thirteen_days_ends_dead_with_the_reason_and_its_callback() -> None:
    clockwork = paused("a", "b", on_failure=CALLED)
    clockwork.clients.put(msgspec.structs.replace(PAUSED, dead_letter_queue_arn="arn:aws:sqs:us-east-1:1:dead"))
    clockwork.clock.at += 13 * DAY_MS
    clockwork.run_until(clockwork.clock.at + 60_000)
    dead = [one for one in records(clockwork) if one.state is State.DEAD]
    assert [one.reason for one in dead] == ["it waited in its order for 13 days"] * 2
    assert all(one.kept.occurrence is not None for one in dead)
    assert not clockwork.ordered_queue.messages
    assert len(clockwork.notices.told) == 2
    # Two callbacks wait for the resume of their client.
    assert sum(one.state is State.PARKED for one in records(clockwork)) == 2


def test_what_waits_for_less_goes_on_waiting() -> None:
    clockwork = paused("a", "b")
    clockwork.clock.at += 13 * DAY_MS - 600_000
    clockwork.run_until(clockwork.clock.at + 60_000)
    assert len(clockwork.ordered_queue.messages) == 2
    clockwork.clients.put(ACME)
    clockwork.run_until(clockwork.clock.at + 500_000)
    assert delivered(clockwork) == ["a", "b"]


def test_a_receive_renews_nothing() -> None:
    clockwork = paused("a")
    for _ in range(13):
        clockwork.run_until(clockwork.clock.at + 60_000)
        clockwork.clock.at += DAY_MS
    clockwork.run_until(clockwork.clock.at + 60_000)
    assert [one.state for one in records(clockwork)] == [State.DEAD]


def test_a_follower_that_is_younger_goes_on_when_the_head_has_ended() -> None:
    clockwork = paused("old")
    clockwork.clock.at += 12 * DAY_MS
    asked = new_job(delay_ms=5_000, ordering_key="k", payload=Payload(b"young"))
    create_jobs(clockwork.world, request(asked), ensure_shards(clockwork.world))
    clockwork.run_until(clockwork.clock.at + 60_000)
    clockwork.clock.at += DAY_MS
    clockwork.clients.put(ACME)
    clockwork.run_until(clockwork.clock.at + 3_600_000)
    assert [one.state for one in records(clockwork)] == [State.DEAD, State.SUCCEEDED]
    assert delivered(clockwork) == ["young"]


def test_a_claim_that_stands_is_not_taken_from_its_deliverer() -> None:
    clockwork = paused("a")
    (record,) = records(clockwork)
    clockwork.clock.at += 13 * DAY_MS
    running = changed(record, state=State.RUNNING, attempt=1, claimant="it", claim_until=clockwork.clock.at + 120_000)
    clockwork.executions.save([(record, running)])
    clockwork.deliver_ordered()
    assert records(clockwork) == [running]
    assert clockwork.ordered_queue.messages
    clockwork.run_until(clockwork.clock.at + 3_600_000)
    assert [one.state for one in records(clockwork)] == [State.DEAD]


def test_a_death_that_is_not_recorded_leaves_the_message_and_those_behind_it() -> None:
    clockwork = paused("a", "b")
    clockwork.clock.at += 13 * DAY_MS
    save = clockwork.executions.save
    clockwork.executions.save = lambda changes: [UNSAVED for _ in changes]  # type: ignore[method-assign]
    clockwork.deliver_ordered()
    assert len(clockwork.ordered_queue.messages) == 2
    clockwork.executions.save = save  # type: ignore[method-assign]
    clockwork.run_until(clockwork.clock.at + 3_600_000)
    assert [one.state for one in records(clockwork)] == [State.DEAD] * 2


def test_a_redrive_by_filter_puts_them_back_by_due_instant_and_then_by_sequence() -> None:
    names = [f"{n:02}" for n in range(12)]
    clockwork = paused(*names, apart_ms=0)
    clockwork.clock.at += 13 * DAY_MS
    clockwork.run_until(clockwork.clock.at + 60_000)
    assert {one.state for one in records(clockwork)} == {State.DEAD}
    clockwork.clients.put(ACME)
    assert redrive_dead(clockwork.world, "acme", DeadFilter(), 100, None, admit=lambda *_: None).changed == 12
    clockwork.run_until(clockwork.clock.at + 3_600_000)
    assert delivered(clockwork) == names


def test_page_by_page_those_that_were_due_first_are_put_back_first() -> None:
    names = [f"{n:02}" for n in range(9)]
    clockwork = paused(*names)
    clockwork.clock.at += 13 * DAY_MS
    clockwork.run_until(clockwork.clock.at + 60_000)
    clockwork.clients.put(ACME)
    behind: str | None = None
    while True:
        handled = redrive_dead(clockwork.world, "acme", DeadFilter(), 4, behind, admit=lambda *_: None)
        clockwork.clock.at += 500
        behind = handled.next_before
        if behind is None:
            break
    clockwork.run_until(clockwork.clock.at + 60_000)
    assert delivered(clockwork) == names
