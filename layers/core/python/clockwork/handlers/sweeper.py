"""The sweeper Lambda: repairs work that the other Lambdas left behind.

It counts each repair. The counts of repairs, such as DeadLettersReleased and ChainsRepaired, should read 0.
"""

from __future__ import annotations

from typing import Any

from clockwork import bootstrap
from clockwork.flows.sweep.sweep import repair_all


def make_handler(app: bootstrap.App) -> bootstrap.Handler:
    """The handler of one environment."""

    def handle(_event: dict[str, Any], context: Any) -> dict[str, int]:
        repairs = repair_all(app.world, app.deadline_at(context))
        counts = {
            "DeadLettersReleased": repairs.letters.released,
            "DeadLettersAbsorbed": repairs.letters.absorbed,
            "DeadLettersLeft": repairs.letters.left,
            "Dead": repairs.letters.dead,
            "ChainsAudited": repairs.chains.audited,
            "ChainsRepaired": repairs.chains.repaired,
            "ChainsLeft": repairs.chains.left,
            "ParkedReleased": repairs.parked.released,
            "ParkedDiscarded": repairs.parked.discarded,
            "ParkedLeft": repairs.parked.left,
            "ShardsRemoved": repairs.shards.removed,
            "ShardsKept": repairs.shards.kept,
        }
        app.emit({"Sweeps": 1, **counts})
        if repairs.failures:
            raise repairs.failures[0]
        return counts

    return handle


lambda_handler = bootstrap.entry_point(make_handler)
