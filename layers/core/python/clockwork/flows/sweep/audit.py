"""Audit the chain of every named job once a day, a slice of the jobs at each sweep."""

from __future__ import annotations

import logging

import msgspec

from clockwork.domain.errors import readable
from clockwork.flows.containment import why
from clockwork.flows.named.repair import check_chain
from clockwork.flows.world import World

log = logging.getLogger(__name__)

DAY_MS = 86_400_000
#: The check of one chain may take this long at the most (ms).
STOP_MARGIN_MS = 5_000


class AuditReport(msgspec.Struct):
    """How many jobs were audited, and how many chains repaired. `left`: jobs not audited; should read 0."""

    audited: int = 0
    repaired: int = 0
    left: int = 0


def audit_chains(world: World, deadline_at: int) -> AuditReport:
    """Check the slice of jobs that belongs to this moment of the day, as far as time allows.

    Jobs that are not checked before `deadline_at` (ms) are counted as left.
    """
    # A slice has its turn for the time of two sweeps, since two sweeps may be nearly that far apart: none is left out.
    turn_ms = 2 * world.settings.sweep_seconds * 1000
    slices = DAY_MS // turn_ms
    report = AuditReport()
    for job in world.jobs.scan(world.clock.now() // turn_ms % slices, slices):
        if world.clock.now() > deadline_at - STOP_MARGIN_MS:
            report.left += 1
            continue
        try:
            report.repaired += check_chain(world, readable(job))
            report.audited += 1
        except Exception as error:  # noqa: BLE001 - whatever one job raises, the chains of others are checked
            fault = why(world.environment.faults, error, "a job that is audited")
            log.error("chain not audited: %s", fault, extra={"action": "unreadable_job"})
            report.left += 1
    return report
