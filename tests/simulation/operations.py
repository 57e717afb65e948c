"""All operations of clients in a run, and how often each is drawn."""

from __future__ import annotations

from collections.abc import Callable

from tests.simulation.batches import BATCH_OPERATIONS, BATCH_WEIGHTS
from tests.simulation.by_message import MESSAGE_OPERATIONS, MESSAGE_WEIGHTS
from tests.simulation.clients import ANONYMOUS_OPERATIONS, ANONYMOUS_WEIGHTS, Visit
from tests.simulation.departing import DEPARTING_OPERATIONS, DEPARTING_WEIGHTS
from tests.simulation.many import MANY_OPERATIONS, MANY_WEIGHTS
from tests.simulation.named_clients import NAMED_OPERATIONS, NAMED_WEIGHTS
from tests.simulation.named_further import FURTHER_OPERATIONS, FURTHER_WEIGHTS
from tests.simulation.named_held import HELD_OPERATIONS, HELD_WEIGHTS
from tests.simulation.operating import OPERATING_OPERATIONS, OPERATING_WEIGHTS
from tests.simulation.regulated import REGULATED_OPERATIONS, REGULATED_WEIGHTS
from tests.simulation.upcoming import UPCOMING_OPERATIONS, UPCOMING_WEIGHTS

OPERATIONS: dict[str, Callable[[Visit], None]] = {
    **ANONYMOUS_OPERATIONS,
    **BATCH_OPERATIONS,
    **MESSAGE_OPERATIONS,
    **NAMED_OPERATIONS,
    **FURTHER_OPERATIONS,
    **HELD_OPERATIONS,
    **REGULATED_OPERATIONS,
    **UPCOMING_OPERATIONS,
}
#: How often each operation is drawn.
WEIGHTS: dict[str, float] = {
    **ANONYMOUS_WEIGHTS,
    **BATCH_WEIGHTS,
    **MESSAGE_WEIGHTS,
    **NAMED_WEIGHTS,
    **FURTHER_WEIGHTS,
    **HELD_WEIGHTS,
    **REGULATED_WEIGHTS,
    **UPCOMING_WEIGHTS,
}
#: The operations of those seeds in which a client is deleted, beside all others, and how often each is drawn there.
RARE_OPERATIONS: dict[str, Callable[[Visit], None]] = {
    **DEPARTING_OPERATIONS,
    **MANY_OPERATIONS,
    **OPERATING_OPERATIONS,
}
RARE_WEIGHTS: dict[str, float] = {**DEPARTING_WEIGHTS, **MANY_WEIGHTS, **OPERATING_WEIGHTS}
#: A queue policy decides who may send messages, so strangers are not tried here; each kind of message is counted as an
#: operation of its own.
ASKED_BY_MESSAGE = frozenset(MESSAGE_OPERATIONS)
