"""A mutant: a small edit that breaks the shipped sources, given as the texts to replace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import clockwork

#: The folder of the shipped sources, as this process imports them.
PACKAGE = Path(next(iter(clockwork.__path__)))


class Rotten(Exception):
    """A mutant is out of date: its line is no longer in the sources."""


@dataclass(frozen=True)
class Mutant:
    """An edit of a file of the package: pairs of a text that occurs exactly once, and its replacement.

    `invariant` is the one that the edit breaks; the checker may notice a violation of another one first. `scene`: the
    scene whose points of failure show it, for an edit that takes a certain call to fail at a certain time. Without one
    the drawn runs have to show it. `tests`: the file of unit tests that show it, for what no run in virtual time does.
    """

    name: str
    file: str
    edits: Sequence[tuple[str, str]]
    invariant: str = ""
    scene: str = ""
    tests: str = ""

    def of(self, source: str) -> str:
        """The source with the edit in it. Raises Rotten unless each text to replace occurs exactly once."""
        for before, after in self.edits:
            if source.count(before) != 1:
                raise Rotten(f"{self.name}: {before!r} is {source.count(before)} times in {self.file}")
            source = source.replace(before, after)
        return source
