"""Audit the chain of every named job once a day, a slice of the jobs at each sweep."""

from __future__ import annotations

import logging

import msgspec

from clockwork.domain.errors import Unreadable, readable
from clockwork.domain.named_jobs import NamedJob
from clockwork.flows.containment import why
from clockwork.flows.named.repair import check_chain
from clockwork.flows.world import World

log = logging.getLogger(__name__)

DAY_MS = 86_400_000
#: The check of one chain may take this long at the most (ms).
STOP_MARGIN_MS = 5_000


class AuditReport(msgspec.Struct):
    """How many jobs were audited, and how many chains repaired.

    `left`: jobs not audited; should read 0. If time ran out, it counts those of the last page that was read.
    """

    audited: int = 0
    repaired: int = 0
    left: int = 0


def audit_chains(world: World, deadline_at: int) -> AuditReport:
    """Check the slice of jobs that belongs to this moment of the day, as far as time allows before `deadline_at` (ms).

    The jobs are read page by page, and a page is dropped before the next one is read.
    """
    # A slice has its turn for the time of two sweeps, since two sweeps may be nearly that far apart: none is left out.
    turn_ms = 2 * world.settings.sweep_seconds * 1000
    slices = DAY_MS // turn_ms
    return audit_slice(world, world.clock.now() // turn_ms % slices, slices, deadline_at)


def audit_slice(world: World, number: int, slices: int, deadline_at: int) -> AuditReport:
    """Check one of so many slices of the jobs, as far as time allows before `deadline_at` (ms)."""
    report = AuditReport()
    last_at = deadline_at - STOP_MARGIN_MS
    for page in world.jobs.scan(number, slices):
        if not page and world.clock.now() > last_at:
            report.left += 1
            return report
        for place, job in enumerate(page):
            if world.clock.now() > last_at:
                report.left += len(page) - place
                return report
            _audit(world, job, report)
    return report


def _audit(world: World, job: NamedJob | Unreadable, report: AuditReport) -> None:
    try:
        report.repaired += check_chain(world, readable(job))
        report.audited += 1
    except Exception as error:  # noqa: BLE001 - whatever one job raises, the chains of others are checked
        # What cannot be read names itself in its error.
        about = {} if isinstance(job, Unreadable) else {"clientId": job.client_id, "jobKey": job.job_key}
        fault = why(world.environment.faults, error, "/".join(about.values()))
        log.error("chain not audited: %s", fault, extra={"action": "unreadable_job", **about})
        report.left += 1
