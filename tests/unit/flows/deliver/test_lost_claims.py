"""An item whose claim was taken for lost comes back: another deliverer recorded the loss, and may have died behind it.

Both may have had the same message. If one of them acknowledged it, the retry of the other would never be sent.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from clockwork.domain.executions import State
from clockwork.domain.named.look import Objection
from clockwork.domain.named.overlaps import WAITS
from clockwork.domain.releases import Deliver
from clockwork.flows.deliver.batch import Batch
from clockwork.flows.deliver.claim import give_back
from clockwork.flows.deliver.inform import redirect
from clockwork.flows.deliver.items import Item
from clockwork.flows.deliver.start import _drop
from clockwork.flows.deliver.waiting import Resent
from clockwork.memory.world import MemoryClockwork
from clockwork.targets.http import HttpTarget
from tests.support.examples import NOW, changed, execution, release
from tests.support.named import Named

ELSEWHERE = HttpTarget("https://elsewhere.example.com/")
UNWANTED = Objection(State.SKIPPED, "its job is paused", 2)


def _redirect(batch: Batch, item: Item) -> None:
    job = Named(target=ELSEWHERE).job
    assert redirect(batch, item, job)


STEPS: tuple[Callable[[Batch, Item], None], ...] = (
    lambda batch, item: give_back(batch, item, WAITS),
    _redirect,
    lambda batch, item: _drop(batch, item, UNWANTED),
)


@pytest.mark.parametrize("step", STEPS, ids=["it waits for others", "its target was changed", "its job ends it"])
@pytest.mark.parametrize("is_lost", [False, True])
def test_whose_claim_was_taken_for_lost_comes_back(step: Callable[[Batch, Item], None], *, is_lost: bool) -> None:
    clockwork = MemoryClockwork()
    world, wanted = clockwork.world, release()
    claimed = execution(State.RUNNING, attempt=1, claimant="ours", claim_until=NOW + 1)
    lost = changed(claimed, state=State.WORKER_LOST, claimant=None, next_attempt_at=NOW)
    for before, after in ((None, claimed), (claimed, lost))[: 1 + is_lost]:
        assert clockwork.executions.save([(before, after)])[0].ok
    batch = Batch(world, NOW + 60_000, Resent(world))
    item = Item("message", wanted, seen=msgspec.structs.replace(claimed))
    step(batch, item)
    assert batch.report.failed_messages == ["message"] * is_lost
    assert world.executions.find(wanted.job_id, wanted.execution_id) is not None


@pytest.mark.parametrize("step", STEPS[:2], ids=["it waits for others", "its target was changed"])
def test_what_is_sent_on_gets_a_check_of_its_own(step: Callable[[Batch, Item], None]) -> None:
    """The check of a ticket before tells of nothing that was sent behind it, and the new ticket may be lost, too."""
    clockwork = MemoryClockwork()
    claimed = execution(State.RUNNING, attempt=1, claimant="ours", claim_until=NOW + 1)
    assert clockwork.executions.save([(None, claimed)])[0].ok
    waiting = Resent(clockwork.world)
    batch = Batch(clockwork.world, NOW + 60_000, waiting)
    had_a_check = msgspec.structs.replace(release(), checked=True)
    step(batch, Item("message", had_a_check, seen=claimed))
    ((_, again),) = waiting.following
    assert isinstance(again, Deliver)
    assert not again.checked


@pytest.mark.parametrize(
    ("run", "overlap", "waits"), [("b1", "skip", True), ("b1", "allow", False), ("", "skip", False)]
)
def test_a_backfilled_fire_that_goes_another_way_waits_for_others_there(run: str, overlap: str, *, waits: bool) -> None:
    """It was not let through, so no other execution of its job waits for it."""
    clockwork = MemoryClockwork()
    claimed = execution(State.RUNNING, attempt=1, claimant="ours", claim_until=NOW + 1)
    assert clockwork.executions.save([(None, claimed)])[0].ok
    batch = Batch(clockwork.world, NOW + 60_000, Resent(clockwork.world))
    mine = release()
    of = msgspec.structs.replace(mine.of, run=run or mine.of.run)
    item = Item("message", msgspec.structs.replace(mine, of=of), seen=claimed)
    assert redirect(batch, item, Named(target=ELSEWHERE, overlap=overlap).job)
    assert item.seen is not None
    stored = clockwork.world.executions.find(claimed.job_id, claimed.execution_id)
    assert stored is not None
    assert (stored.reason == WAITS) is waits
