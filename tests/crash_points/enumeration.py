"""Tries every point of a scene at which a process can die, each in a world of its own.

The scene is played once. At each point the whole test process forks. In the child the actor dies at that point; the
child then plays the scene to its end and reports the violations it found. The parent plays on as if nothing had
happened. The part of the scene before a point is therefore played once for all points.
"""

from __future__ import annotations

import gc
import os
import traceback
import warnings
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NoReturn

from tests.crash_points.services import Services
from tests.crash_points.stage import Point, play_on_moto
from tests.simulation.stage import Stage

#: A pipe holds at least this many bytes without a reader.
LONGEST_REPORT = 4_000


@dataclass(frozen=True)
class Tried:
    """The result of one point: the invariants that did not hold there."""

    point: Point
    violations: str


@dataclass
class Enumeration:
    """One scene, and the results of all its points."""

    services: Services
    scene: str
    #: Whether points that are equal to others are tried, too.
    every: bool = False
    #: How many worlds are tried at once.
    width: int = field(default_factory=lambda: os.cpu_count() or 1)
    tried: list[Tried] = field(default_factory=list)
    _under_way: deque[tuple[Point, int, int]] = field(default_factory=deque)
    _reports_to: int | None = None

    def run(self) -> Stage:
        """Tries all points. Returns the stage of the world in which no process died."""
        gc.collect()
        gc.freeze()  # children share the parent's objects, and end before they have made much garbage
        gc.disable()
        try:
            stage = self._play()
        finally:
            while self._under_way:
                self._reap()
            gc.enable()
            gc.unfreeze()
        return stage

    def _play(self) -> Stage:
        """Plays the scene. In a child this never returns: the child reports and exits."""
        try:
            stage = play_on_moto(self.services, self.scene, self._dies_at, every=self.every)
            if self._reports_to is not None:
                self._report("\n".join(map(str, stage.watcher.violations)))
        except BaseException:
            if self._reports_to is not None:
                self._report(traceback.format_exc())
            raise
        return stage

    def _dies_at(self, point: Point) -> bool:
        if self._reports_to is not None:
            return False
        while len(self._under_way) >= self.width:
            self._reap()
        reads_from, reports_to = os.pipe()
        with warnings.catch_warnings():
            # Python warns of forking beside other threads; the child uses none and exits without cleaning up.
            warnings.simplefilter("ignore", DeprecationWarning)
            pid = os.fork()
        if pid == 0:
            self._reports_to = reports_to
            return True
        os.close(reports_to)
        self._under_way.append((point, pid, reads_from))
        return False

    def _report(self, told: str) -> NoReturn:
        """Reports and ends a child. The child cleans nothing up: everything it has belongs to its parent."""
        assert self._reports_to is not None
        os.write(self._reports_to, told.encode()[:LONGEST_REPORT])
        os._exit(0)

    def _reap(self) -> None:
        point, pid, reads_from = self._under_way.popleft()
        with os.fdopen(reads_from, "rb") as pipe:
            told = pipe.read().decode(errors="replace")
        _, status = os.waitpid(pid, 0)
        self.tried.append(Tried(point, told or f"it ended with status {status}" if status else told))


def failed(tried: list[Tried]) -> Iterator[Tried]:
    """The points at which some invariant did not hold."""
    return (one for one in tried if one.violations)
