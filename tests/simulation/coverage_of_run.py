"""The faults, answers and branches that a run of many seeds must have met, or its silence would mean nothing."""

from __future__ import annotations

from collections import Counter

from clockwork.domain.errors import (
    ClientDeleting,
    ClientNotFound,
    ClockworkError,
    ExecutionNotFound,
    InvalidRequest,
    JobNotFound,
    KeyReused,
    NameTaken,
    NotAllowed,
    NotDead,
    NotNamed,
    NotScheduled,
    RevisionConflict,
    TooManyRequests,
)
from tests.simulation.by_message import MESSAGES
from tests.simulation.faults import Fault
from tests.simulation.operations import ASKED_BY_MESSAGE, OPERATIONS, RARE_OPERATIONS

#: Least share of the flows' branches that the runs must take, and that a long run must take. Most others are guards:
#: against a record that keeps changing, a log line of a part that ran out of time, a queue that no client has filled.
LEAST_COVERAGE, LEAST_COVERAGE_OF_LONG = 0.93, 0.95
VERDICTS = ("cancelled", "running", "too_late")
#: Operations that no client may do: each must be refused every time.
NEVER_SUCCEED = frozenset({"snoop", "snoop named", "trespass", "usurp", "operate on nobody"})
#: The errors with which each operation must have been refused at least once, besides that of an unknown caller.
REFUSALS: dict[str, tuple[type[ClockworkError], ...]] = {
    "snoop": (JobNotFound, ExecutionNotFound),
    "snoop named": (JobNotFound,),
    "reuse key": (KeyReused,),
    "create metered": (TooManyRequests,),
    "preview": (TooManyRequests,),
    "cancel execution": (ExecutionNotFound,),
    "get execution": (ExecutionNotFound,),
    "redrive any": (NotDead,),
    "create named": (NameTaken, InvalidRequest),
    "replace": (JobNotFound, RevisionConflict, NotNamed),
    "pause": (JobNotFound, RevisionConflict),
    "resume": (JobNotFound, RevisionConflict),
    "delete": (JobNotFound, RevisionConflict),
    "run now": (JobNotFound,),
    "backfill": (JobNotFound,),
    "look at named": (JobNotFound,),
    "contend": (NameTaken,),
    "schedule": (NameTaken,),
    "unschedule": (NotScheduled,),
    "reuse run key": (KeyReused,),
    "contend for client": (RevisionConflict,),
    "operate on nobody": (ClientNotFound,),
    "change held": (JobNotFound,),
    "create departing": (ClientDeleting,),
    "make client anew": (ClientDeleting,),
    "delete client": (RevisionConflict,),
    "cancel named execution": (ExecutionNotFound, JobNotFound),
}


def what_is_missing(
    faults: Counter[Fault], outcomes: Counter[tuple[str, str]], coverage: float | None, least: float
) -> list[str]:
    """Faults that never struck, operations that never succeeded or were never refused, and coverage below the least."""
    missing = [f"fault {fault}" for fault in Fault if not faults[fault]]
    missing += [f"cancel answered {verdict}" for verdict in VERDICTS if not outcomes["cancel", verdict]]
    for operation in (OPERATIONS | RARE_OPERATIONS).keys() - ASKED_BY_MESSAGE:
        refusals: set[type[ClockworkError]] = {NotAllowed, *REFUSALS.get(operation, ())}
        wanted = [f"refused: {error.__name__}" for error in refusals]
        wanted += [] if operation in NEVER_SUCCEED else ["succeeded"]
        missing += [f"{operation} {outcome}" for outcome in wanted if not outcomes[operation, outcome]]
    for message in MESSAGES:
        wanted = ["succeeded", "refused: rejected"]
        missing += [f"{message} {outcome}" for outcome in wanted if not outcomes[message, outcome]]
    if coverage is not None and coverage < least:
        missing.append(f"{least:.1%} of the branches of the flows: it is {coverage:.1%}")
    return sorted(missing)
