"""The shortest sequence of operations that still shows a disagreement."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from tests.model.comparison import Disagreement
from tests.model.operations import Operation

#: Shrinking tries to replace an operation's job by one of the first this many.
FIRST_JOBS = 3


def shortest(operations: Sequence[Operation], compare: Callable[[Sequence[Operation]], None]) -> str | None:
    """None if both sides agree; otherwise the operations left when none can be left out, and their disagreement."""
    told = _disagreement(operations, compare)
    if told is None:
        return None
    left, place = list(operations), 0
    while place < len(left):
        for fewer in _simpler(left, place):
            found = _disagreement(fewer, compare)
            if found is not None:
                left, told, place = fewer, found, 0
                break
        else:
            place += 1
    return "\n".join([*map(str, left), told])


def _simpler(operations: list[Operation], place: int) -> Iterator[list[Operation]]:
    """The sequences without one operation, or with that operation on an earlier job."""
    before, op, behind = operations[:place], operations[place], operations[place + 1 :]
    yield before + behind
    for job in range(min(op.job, FIRST_JOBS)):
        yield [*before, replace(op, job=job), *behind]


def _disagreement(operations: Sequence[Operation], compare: Callable[[Sequence[Operation]], None]) -> str | None:
    try:
        compare(operations)
    except Disagreement as error:
        return str(error)
    return None
