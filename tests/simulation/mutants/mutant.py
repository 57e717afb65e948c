"""A mutant: one thing broken in the shipped sources, told as the texts to replace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import clockwork

#: The shipped sources, as this process sees them.
PACKAGE = Path(next(iter(clockwork.__path__)))


class Rotten(Exception):
    """A mutant whose line is no longer in the sources."""


@dataclass(frozen=True)
class Mutant:
    """An edit of a file of the package: texts that occur exactly once, and what stands there instead.

    `invariant` is the one that the edit takes the ground from; the checker may well notice by another one first.
    """

    name: str
    file: str
    edits: Sequence[tuple[str, str]]
    invariant: str = ""

    def of(self, source: str) -> str:
        """The source with the edit in it. Raises Rotten unless each text to replace occurs exactly once."""
        for before, after in self.edits:
            if source.count(before) != 1:
                raise Rotten(f"{self.name}: {before!r} is {source.count(before)} times in {self.file}")
            source = source.replace(before, after)
        return source
