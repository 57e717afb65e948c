"""Sweeper: repairs what was left behind; each repair is counted and should read 0.

Whatever ends one kind of repair, the others go on, and the invocation fails with it once they are through.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, TypeVar

from clockwork import bootstrap
from clockwork.flows.audit import AuditReport, audit_chains
from clockwork.flows.let_go import LetGoReport, let_go
from clockwork.flows.registry import Leavings, remove_shards
from clockwork.flows.sweep import SweepReport, sweep_dead_letters
from clockwork.flows.world import World

log = logging.getLogger(__name__)

R = TypeVar("R")


def make_handler(app: bootstrap.App) -> bootstrap.Handler:
    """The handler of one environment."""

    def handle(_event: dict[str, Any], context: Any) -> dict[str, int]:
        failures: list[Exception] = []

        def repaired(repair: Callable[[World, int], R], nothing: R) -> R:
            try:
                return repair(app.world, app.deadline_at(context))
            except Exception as error:
                log.exception("a repair failed", extra={"action": "repair_failed", "repair": repair.__name__})
                failures.append(error)
                return nothing

        report = repaired(sweep_dead_letters, SweepReport())
        audit = repaired(audit_chains, AuditReport())
        parked = repaired(let_go, LetGoReport())
        leavings = repaired(remove_shards, Leavings())
        counts = {
            "DeadLettersReleased": report.released,
            "DeadLettersAbsorbed": report.absorbed,
            "DeadLettersLeft": report.left,
            "Dead": report.dead,
            "ChainsAudited": audit.audited,
            "ChainsRepaired": audit.repaired,
            "ChainsLeft": audit.left,
            "ParkedReleased": parked.released,
            "ParkedDiscarded": parked.discarded,
            "ParkedLeft": parked.left,
            "ShardsRemoved": leavings.removed,
            "ShardsKept": leavings.kept,
        }
        app.emit({"Sweeps": 1, **counts})
        if failures:
            raise failures[0]
        return counts

    return handle


lambda_handler = bootstrap.entry_point(make_handler)
