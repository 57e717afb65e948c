"""Replace records by compare-and-set (CAS): a change counts only if it was made of the latest revision.

A change loses when another attempt or a cancel wrote first. The caller then plans again with the record as stored, at
most `MOST_REPLANS` times. After that Unavailable is raised, so that one record cannot use up the invocation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeVar

from clockwork.domain.errors import Unavailable
from clockwork.domain.executions import Execution
from clockwork.domain.lifecycle.awaiting import is_claimed
from clockwork.flows.world import World
from clockwork.ports import Saved

MOST_REPLANS = 8


class Planned(Protocol):
    """A decision about a record: `execution` replaces the stored one; None leaves it as it is."""

    @property
    def execution(self) -> Execution | None:
        """The record to store in place of the one that was read, or None."""


P = TypeVar("P", bound=Planned)


def replans(what: str = "its record") -> Iterator[int]:
    """Yield a number for each time that a change of one record may be planned again; then raise Unavailable."""
    yield from range(1, MOST_REPLANS + 1)
    raise Unavailable(f"{what} keeps changing")


def replace(
    world: World, stored: Execution | None, plan: Callable[[Execution | None], P], again: Iterator[int] | None = None
) -> tuple[P, Execution | None]:
    """Replace the record `stored` as `plan` decides. If another writer came first, plan again with the new record.

    Returns the decision that stands, and the record as it is stored after it. `again`: the replans that are left, if
    the caller has used some already. Raises Unavailable if the store does not answer or the record keeps changing.
    """
    again = replans() if again is None else again
    while (planned := plan(stored)).execution is not None:
        (saved,) = replace_all(world, [(stored, planned.execution)])
        if saved.ok:
            return planned, planned.execution
        stored = saved.actual
        next(again)
    return planned, stored


def renew(world: World, stored: Execution | None) -> Execution | None:
    """Make sure that the record of an execution that has not ended outlives a message that is sent now.

    Returns it as it is stored then. A record with a live claim is its claimant's. Raises Unavailable if that is not
    certain, also if another writer came first.
    """
    now = world.clock.now()
    if stored is None or stored.is_final or is_claimed(stored, now):
        return stored
    if not world.retention.is_to_be_renewed(stored, now):
        return stored
    renewed = stored.changed()
    (saved,) = replace_all(world, [(stored, renewed)])
    if not saved.ok:
        raise Unavailable("its record has changed")
    return renewed


def replace_all(world: World, changes: Sequence[tuple[Execution | None, Execution]]) -> Sequence[Saved]:
    """Make each change (before, after) once; returns which of them won, in the same order.

    Raises Unavailable unless that is certain for all of them.
    """
    saves = world.executions.save(changes) if changes else ()
    for saved in saves:
        if saved.unavailable is not None:
            raise Unavailable(saved.unavailable)
    return saves
