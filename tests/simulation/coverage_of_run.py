"""What a run of many seeds must have met, so that its silence means something."""

from __future__ import annotations

from collections import Counter

from tests.simulation.faults import Fault
from tests.simulation.operations import ALWAYS_REFUSED, OPERATIONS

#: Operators repeat these until they are answered; that nobody else may do them is what `usurp` is about.
REFUSED_ELSEWHERE = frozenset(
    {"pause client", "resume client", "release sidelined", "discard sidelined", "redrive many", "discard dead"}
)
VERDICTS = ("cancelled", "running", "too_late")


def what_is_missing(faults: Counter[Fault], outcomes: Counter[tuple[str, str]]) -> list[str]:
    """Faults that never struck, and operations that never succeeded or were never refused."""
    missing = [f"fault {fault}" for fault in Fault if not faults[fault]]
    missing += [f"cancel answered {verdict}" for verdict in VERDICTS if not outcomes["cancel", verdict]]
    for operation in OPERATIONS:
        met = {outcome for (name, outcome), count in outcomes.items() if name == operation and count}
        refusals = {error.__name__ for error in ALWAYS_REFUSED.get(operation, ())}
        wanted = {f"refused: {name}" for name in refusals} or {"succeeded", "refused or unanswered"}
        if operation in REFUSED_ELSEWHERE:
            wanted = {"succeeded"}
        if met - {"succeeded", *VERDICTS}:
            met.add("refused or unanswered")
        missing += [f"{operation} {outcome}" for outcome in sorted(wanted - met)]
    return missing
