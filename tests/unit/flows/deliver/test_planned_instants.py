"""No attempt starts before its planned instant, whatever moves its release meanwhile: a wait, a place in line, parking.

A deliverer holds an item up to two seconds before its instant. A cause that puts the item off then counts from now.
"""

from __future__ import annotations

from typing import Any

import msgspec

from clockwork.domain.executions import Claimed, Outcome, State
from clockwork.domain.fires.chains import release_of
from clockwork.domain.ids import ONLY_RUN
from clockwork.domain.lifecycle.parking import BEHIND_CIRCUIT
from clockwork.domain.limits.circuits import Circuit
from clockwork.domain.named.changes import replaced
from clockwork.domain.named.overlaps import WAITS
from clockwork.domain.recurrence import Fire
from clockwork.domain.releases import Deliver, Delivery
from clockwork.domain.waits import Waiting
from clockwork.flows.deliver.batch import Batch
from clockwork.flows.deliver.claim import give_back
from clockwork.flows.deliver.deliver import deliver_batch
from clockwork.flows.deliver.inbox import Message
from clockwork.flows.deliver.items import Item
from clockwork.flows.deliver.waiting import Resent
from clockwork.memory.world import MemoryClockwork
from clockwork.targets.http import HttpTarget
from tests.support.examples import release_in
from tests.support.named import Named

OLD, NEW = (HttpTarget(f"https://{host}.example.com/hook") for host in ("old", "new"))
BACKFILL = "b" + 22 * "x"


def fire_of(named: Named, run: str = ONLY_RUN, **changes: Any) -> Deliver:
    """The release of a fire that was due a minute ago."""
    due_at = named.start - 60_000
    return msgspec.structs.replace(release_of(named.job, Fire(due_at, due_at, 1)).of_its(run=run), **changes)


def sent(clockwork: MemoryClockwork) -> list[Deliver]:
    return [release_in(message.body) for message in clockwork.queue.messages.values()]


def retry_of(named: Named, in_ms: int) -> Deliver:
    """A retry that comes due in so many milliseconds, with its record."""
    retry_at = named.clockwork.clock.at + in_ms
    retry = fire_of(named, attempt=2, run_at=retry_at)
    failed = retry.first_record(State.FAILED, named.start * 2, attempt=1, waits=Waiting(retry_at))
    assert named.clockwork.executions.save([(None, failed)])[0].ok
    named.clockwork.queue.messages.clear()
    return retry


def deliver(clockwork: MemoryClockwork, release: Deliver) -> None:
    assert not clockwork.world.releases.send([release], clockwork.clock.now())
    (message,) = clockwork.queue.messages.values()
    clockwork.queue.messages.clear()
    deliver_batch(clockwork.world, [Message(message.message_id, message.body, 1)], clockwork.clock.now() + 20_000)


def test_the_wait_of_one_copy_makes_no_other_one_early_though_its_clock_is_ahead() -> None:
    named = Named(every_ms=86_400_000, overlap="skip")
    first = fire_of(named, run=BACKFILL, run_at=named.start)
    world = named.clockwork.world
    claim = Claimed("c", named.start + 60_000, named.start)
    claimed = first.first_record(State.RUNNING, named.start * 2, attempt=1, claim=claim)
    assert named.clockwork.executions.save([(None, claimed)])[0].ok
    named.clockwork.clock.at += 700
    give_back(Batch(world, named.start + 20_000, Resent(world)), Item("message", first, seen=claimed), WAITS)
    stored = world.executions.find(first.job_id, first.execution_id)
    assert stored is not None
    named.clockwork.clock.at -= 700
    deliver(named.clockwork, first)
    (delivered,) = named.clockwork.targets.delivered
    assert stored.waits.next_attempt_at is not None
    assert (delivered.execution_id, stored.waits.next_attempt_at <= named.clockwork.clock.at) == (
        first.execution_id,
        True,
    )


def test_another_copy_whose_instant_is_sooner_than_the_planned_one_comes_again_for_that() -> None:
    named = Named(every_ms=86_400_000)
    retry = retry_of(named, 1_900)
    deliver(named.clockwork, fire_of(named, attempt=2, run_at=named.start))
    assert (sent(named.clockwork), named.clockwork.targets.delivered) == ([retry], [])


def test_a_retry_that_was_parked_just_before_its_instant_keeps_it_when_its_job_gets_another_host() -> None:
    named = Named(every_ms=86_400_000, target=OLD)
    clockwork = named.clockwork
    now = clockwork.clock.at
    retry = retry_of(named, 1_900)
    assert clockwork.regulation.save_circuit(None, Circuit("acme", "old.example.com", now, now + 60_000, 60_000))
    deliver(clockwork, retry)
    (parked,) = named.executions()
    assert (parked.state, parked.reason) == (State.PARKED, BEHIND_CIRCUIT)
    named.change(replaced(named.definition(target=NEW, every_ms=86_400_000), b'"n"'))
    started_at: list[int] = []
    answer = clockwork.targets._answer

    def noted(delivery: Delivery) -> Outcome:
        started_at.append(clockwork.clock.at)
        return answer(delivery)

    clockwork.targets._answer = noted
    named.run(30)
    assert [max(0, retry.run_at - at) for at in started_at] == [0]
