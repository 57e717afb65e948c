"""The permit of a worker's attempt: held for as long as the attempt's claim, given back at its end.

Only clients with a concurrency limit have permits. The record is saved first: a slow permit must not lose a worker's
report. How it fails. A call may die between the renewal of the claim and the permit's, or the permit's lease may give
no answer. The client may then run one attempt more than its limit until the next heartbeat. If a call dies before it
gives the permit back, or the worker is dead, the permit is free when its lease ends, with the claim's.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from clockwork.domain.executions import Claimed, Execution
from clockwork.domain.lifecycle.awaiting import CLAIM_GRACE_MS
from clockwork.flows.apart import ASKED_FOR_MS
from clockwork.flows.outages import tolerated
from clockwork.flows.world import World

log = logging.getLogger(__name__)

#: A record before and after a change that was saved.
Change = tuple[Execution | None, Execution]


def settle_permits(world: World, saved: Sequence[Change]) -> None:
    """Hold the permits of the attempts that go on, and give back those of the others: for a bounded time.

    A client whose permits give no answer is asked once. Each call begins elsewhere, so that nobody always comes last.
    """
    some = [change for change in saved if _permit_of(change[0]) is not None]
    start = world.random.below(len(some)) if len(some) > 1 else 0
    until, silent = world.clock.now() + ASKED_FOR_MS, set[str]()
    for place, (before, after) in enumerate([*some[start:], *some[:start]]):
        if world.clock.now() >= until:
            log.warning("permits not settled: %d", len(some) - place, extra={"action": "permits_not_settled"})
            return
        if after.client_id not in silent and not settle_permit(world, before, after):
            silent.add(after.client_id)


def settle_permit(world: World, before: Execution | None, after: Execution) -> bool:
    """Hold the permit of an attempt whose claim was renewed, or give it back if it has ended; False: no answer."""
    permit = _permit_of(before)
    if before is None or before.claim is None or permit is None:
        return True
    if after.claim is None or after.end.report is not None:
        return _give_back(world, before.client_id, permit, before.claim)
    return after.claim.until <= before.claim.until or _hold(world, before, permit, after.claim)


def _hold(world: World, before: Execution, permit: int, claim: Claimed) -> bool:
    with tolerated(world, log, "permit not renewed: %s", {"action": "permit_not_renewed"}):
        now = world.clock.now()
        if not world.regulation.lease(before.client_id, permit, claim.claimant, now, claim.until + CLAIM_GRACE_MS):
            extra = {"action": "permit_is_anothers", "executionId": before.execution_id}
            log.warning("the permit of an attempt is another's by now", extra=extra)
        return True
    return False


def _give_back(world: World, client_id: str, permit: int, claim: Claimed) -> bool:
    with tolerated(world, log, "permit not given back: %s", {"action": "permit_not_given_back"}):
        world.regulation.give_back(client_id, permit, claim.claimant)
        return True
    return False


def _permit_of(running: Execution | None) -> int | None:
    return None if running is None or running.awaited is None else running.awaited.permit
