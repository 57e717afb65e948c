"""The permit of an attempt that a worker has in hand: held for as long as the attempt's claim, given back at its end.

Only clients with a concurrency limit have any. How it fails. A call dies after it has leased and before the claim is
renewed: the permit is held for longer than the claim. It dies before the permit is given back, or nobody gives it back
since the worker is dead: it is free again when its lease ends, with the claim's. The lease gives no answer: the call
goes on, and the client may have one attempt more in hand than its limit, until the next heartbeat.
"""

from __future__ import annotations

import logging

from clockwork.domain.executions import Execution, State
from clockwork.domain.lifecycle.awaiting import CLAIM_GRACE_MS
from clockwork.flows.outages import tolerated
from clockwork.flows.world import World

log = logging.getLogger(__name__)


def hold_permit(world: World, running: Execution | None, renewed: Execution) -> None:
    """Hold the permit of an attempt for as long as its claim, which is about to be renewed."""
    permit, until = _permit_of(running), renewed.claim_until
    is_renewed = running is not None and until is not None and until > (running.claim_until or 0)
    if running is None or permit is None or until is None or not is_renewed or running.claimant is None:
        return
    with tolerated(world, log, "permit not renewed: %s", {"action": "permit_not_renewed"}):
        now = world.clock.now()
        world.regulation.lease(running.client_id, permit, running.claimant, now, until + CLAIM_GRACE_MS)


def give_permit_back(world: World, running: Execution | None, after: Execution) -> None:
    """Give the permit of an attempt back, once the record says that it has ended or how it is to end."""
    permit = _permit_of(running)
    has_ended = after.state is not State.RUNNING or after.report is not None
    if running is None or permit is None or not has_ended or running.claimant is None:
        return
    with tolerated(world, log, "permit not given back: %s", {"action": "permit_not_given_back"}):
        world.regulation.give_back(running.client_id, permit, running.claimant)


def _permit_of(running: Execution | None) -> int | None:
    return None if running is None or running.awaited is None else running.awaited.permit
