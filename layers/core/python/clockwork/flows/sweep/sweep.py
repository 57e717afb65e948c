"""A sweep: every kind of repair, one after the other. If one kind fails, the others go on."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

import msgspec

from clockwork.flows.containment import place_of
from clockwork.flows.operations.sweep import OperationsReport, run_operations
from clockwork.flows.sweep.audit import AuditReport, audit_chains
from clockwork.flows.sweep.dead_letters import SweepReport, sweep_dead_letters
from clockwork.flows.sweep.shards import Retirements, retire_shards
from clockwork.flows.sweep.too_long import TooLong, end_too_long
from clockwork.flows.sweep.unpark import UnparkReport, unpark
from clockwork.flows.world import World

log = logging.getLogger(__name__)

R = TypeVar("R")

#: Kinds of repair in one sweep.
KINDS = 6
#: A share of a sweep's time is this long (ms), if the sweep is: with less a repair could not begin.
LEAST_SHARE_MS = 20_000


class Repairs(msgspec.Struct):
    """The report of each kind of repair, an empty one if it failed; and the failures."""

    letters: SweepReport
    chains: AuditReport
    parked: UnparkReport
    shards: Retirements
    too_long: TooLong
    operations: OperationsReport
    failures: list[Exception]


def repair_all(world: World, deadline_at: int, *, waits: bool = True) -> Repairs:
    """Repair as much as time allows before `deadline_at` (ms); the caller counts it, and then raises the failures.

    Each kind of repair has its share of the time that is left, so that none can starve those after it. `waits`: stay
    for operations that wait for their rate.
    """
    failures: list[Exception] = []
    kinds_left = iter(range(KINDS, 0, -1))

    def repaired(repair: Callable[..., R], nothing: R, **options: bool) -> R:
        now = world.clock.now()
        try:
            share_ms = max((deadline_at - now) // next(kinds_left), LEAST_SHARE_MS)
            return repair(world, min(now + share_ms, deadline_at), **options)
        except Exception as error:  # noqa: BLE001 - the other repairs go on
            extra = {"action": "repair_failed", "repair": repair.__name__, **place_of(error)}
            log.error("a repair failed", extra=extra)
            failures.append(error)
            return nothing

    return Repairs(
        letters=repaired(sweep_dead_letters, SweepReport()),
        chains=repaired(audit_chains, AuditReport()),
        parked=repaired(unpark, UnparkReport()),
        shards=repaired(retire_shards, Retirements()),
        too_long=repaired(end_too_long, TooLong()),
        operations=repaired(run_operations, OperationsReport(), waits=waits),
        failures=failures,
    )
