"""All that clients do in a run, how often, and what of it can only be refused."""

from __future__ import annotations

from collections.abc import Callable

from clockwork.domain.errors import ClockworkError, ExecutionNotFound, JobNotFound, KeyReused, NotAllowed
from tests.simulation.clients import ANONYMOUS_OPERATIONS, ANONYMOUS_WEIGHTS, Visit
from tests.simulation.named_clients import NAMED_OPERATIONS, NAMED_WEIGHTS
from tests.simulation.regulated import REGULATED_OPERATIONS, REGULATED_WEIGHTS

OPERATIONS: dict[str, Callable[[Visit], None]] = {**ANONYMOUS_OPERATIONS, **NAMED_OPERATIONS, **REGULATED_OPERATIONS}
#: How often each is drawn.
WEIGHTS = {**ANONYMOUS_WEIGHTS, **NAMED_WEIGHTS, **REGULATED_WEIGHTS}
#: Operations that are refused whenever they are answered, and by what.
ALWAYS_REFUSED: dict[str, tuple[type[ClockworkError], ...]] = {
    "snoop": (JobNotFound, ExecutionNotFound),
    "snoop named": (JobNotFound,),
    "trespass": (NotAllowed,),
    "stranger": (NotAllowed,),
    "usurp": (NotAllowed,),
    "reuse key": (KeyReused,),
}
