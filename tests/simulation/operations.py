"""All that clients do in a run, how often, and by what each must have been refused."""

from __future__ import annotations

from collections.abc import Callable

from tests.simulation.batches import BATCH_OPERATIONS, BATCH_WEIGHTS
from tests.simulation.by_message import MESSAGE_OPERATIONS, MESSAGE_WEIGHTS
from tests.simulation.clients import ANONYMOUS_OPERATIONS, ANONYMOUS_WEIGHTS, Visit
from tests.simulation.named_clients import NAMED_OPERATIONS, NAMED_WEIGHTS
from tests.simulation.named_further import FURTHER_OPERATIONS, FURTHER_WEIGHTS
from tests.simulation.regulated import REGULATED_OPERATIONS, REGULATED_WEIGHTS

OPERATIONS: dict[str, Callable[[Visit], None]] = {
    **ANONYMOUS_OPERATIONS,
    **BATCH_OPERATIONS,
    **MESSAGE_OPERATIONS,
    **NAMED_OPERATIONS,
    **FURTHER_OPERATIONS,
    **REGULATED_OPERATIONS,
}
#: How often each is drawn.
WEIGHTS: dict[str, float] = {
    **ANONYMOUS_WEIGHTS,
    **BATCH_WEIGHTS,
    **MESSAGE_WEIGHTS,
    **NAMED_WEIGHTS,
    **FURTHER_WEIGHTS,
    **REGULATED_WEIGHTS,
}
#: Who sends messages is the business of the queue's policy; what comes of each counts as an operation of its own.
ASKED_BY_MESSAGE = frozenset(MESSAGE_OPERATIONS)
