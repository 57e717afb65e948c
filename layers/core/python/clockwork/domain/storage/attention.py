"""The lists of a client's executions that somebody may want to look at: those that are dead, and those being retried.

A record is in one list at most, by what it holds, so each save computes the same. An execution that succeeds at its
first attempt is in none at any time: its saves write nothing but its record. With its first failed attempt an execution
comes into the list of those retried. It stays there while it is tried, and leaves the list once it has ended.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from clockwork.domain.executions import Execution, State

Kind = Literal["dead", "retrying"]
#: The ends of an attempt after which another one may follow.
_FAILED = frozenset({State.FAILED, State.TIMED_OUT, State.WORKER_LOST})


def listed_as(execution: Execution) -> Kind | None:
    """The list that has the execution; None if none has it."""
    if execution.needs_attention:
        return "dead"
    if execution.is_final or not any(one.state in _FAILED for one in execution.attempts):
        return None
    return "retrying"


def owner_of(client_id: str, kind: Kind) -> str:
    """The name under which a client's list is kept. No clientId begins with a tilde."""
    return client_id if kind == "dead" else f"~{client_id}"


class DeadPage(msgspec.Struct, frozen=True):
    """A page of executions that need attention, the latest due instant first; `next_before` asks for the next page.

    `read`: how many a filter has looked at.
    """

    executions: Sequence[Execution]
    next_before: str | None
    read: int = 0
