"""Sweeper: repairs what was left behind; each repair is counted and should read 0."""

from __future__ import annotations

from typing import Any

from clockwork import bootstrap
from clockwork.flows.audit import audit_chains
from clockwork.flows.let_go import let_go
from clockwork.flows.registry import remove_shards
from clockwork.flows.sweep import sweep_dead_letters


def make_handler(app: bootstrap.App) -> bootstrap.Handler:
    """The handler of one environment."""

    def handle(_event: dict[str, Any], context: Any) -> dict[str, int]:
        report = sweep_dead_letters(app.world, app.deadline_at(context))
        audit = audit_chains(app.world, app.deadline_at(context))
        parked = let_go(app.world, app.deadline_at(context))
        leavings = remove_shards(app.world, app.deadline_at(context))
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
        return counts

    return handle


lambda_handler = bootstrap.entry_point(make_handler)
