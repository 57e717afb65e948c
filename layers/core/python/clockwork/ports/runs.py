"""The port of the progress of workflows' runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from clockwork.domain.errors import Unreadable
from clockwork.domain.workflows.progress import Marks, Sets


class Runs(Protocol):
    """The set items of runs. A mark of a node's own generation is never taken away.

    A change answers with the whole item as it is behind that change. It raises Undecodable for an item that no version
    wrote. Each change may be repeated.
    """

    def get(self, run_ids: Sequence[str]) -> Sequence[Sets | Unreadable | None]:
        """The sets of each run, in this order: None if there are none, or why they cannot be read."""

    def put_new(self, sets: Sets) -> bool:
        """Store the sets unless the run has some that can be read. False: it has, and they stay as they are."""

    def add(self, run_id: str, marks: Marks) -> Sets | None:
        """Add marks, of which there is one at least. None: the run has no sets, and none are made."""

    def stop(self, run_id: str, generation: int) -> Sets | None:
        """Stop a generation, and those before it. A later one that was stopped stays so. None: there are no sets."""

    def open(self, before: Sets, after: Sets) -> Sets | None:
        """Write generation, generations and expiry of `after`, if the stored generation is that of `before`.

        The marks of `before` that `after` has not are taken away. Otherwise nothing is written. Stop and all other
        marks stay as they are. Answers with what is stored then; None: nothing.
        """
