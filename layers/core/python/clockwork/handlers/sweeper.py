"""The sweeper Lambda: repairs work that the other Lambdas left behind.

It counts each repair. The counts of repairs, such as DeadLettersReleased and ChainsRepaired, should read 0. An event
with a `clientId`, as a resume of that client sends it, asks to unpark that client's occurrences alone.
"""

from __future__ import annotations

from typing import Any

from clockwork import bootstrap
from clockwork.flows.sweep.sweep import repair_all
from clockwork.flows.sweep.unpark import UnparkReport, unpark


def make_handler(app: bootstrap.App) -> bootstrap.Handler:
    """The handler of one environment."""

    def handle(event: dict[str, Any], context: Any) -> dict[str, int]:
        if (client_id := event.get("clientId")) is not None:
            counts = _counts(unpark(app.world, app.deadline_at(context), client_id))
            app.emit(counts)
            return counts
        repairs = repair_all(app.world, app.deadline_at(context))
        counts = {
            "DeadLettersReleased": repairs.letters.released,
            "DeadLettersAbsorbed": repairs.letters.absorbed,
            "DeadLettersLeft": repairs.letters.left,
            "Dead": repairs.letters.dead,
            "ChainsAudited": repairs.chains.audited,
            "ChainsRepaired": repairs.chains.repaired,
            "ChainsLeft": repairs.chains.left,
            **_counts(repairs.parked),
            "ShardsRemoved": repairs.shards.removed,
            "ShardsKept": repairs.shards.kept,
            "ParkedTooLong": repairs.too_long.ended,
            "ParkedNearEnd": repairs.too_long.ending,
            "OperationTurns": repairs.operations.turns,
            "OperationsLeft": repairs.operations.left,
        }
        app.emit({"Sweeps": 1, **counts})
        if repairs.failures:
            raise repairs.failures[0]
        return counts

    return handle


def _counts(parked: UnparkReport) -> dict[str, int]:
    return {"ParkedReleased": parked.released, "ParkedDiscarded": parked.discarded, "ParkedLeft": parked.left}


lambda_handler = bootstrap.entry_point(make_handler)
