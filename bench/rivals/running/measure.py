"""All turns of all systems: rounds in which each has one turn, alone; then turns side by side.

The kills of each round go side by side, since they mostly wait and count jobs; a system that needs all cores to begin
has its kills alone. The memory of stores with many jobs comes last, since it does not depend on the time of the
filling.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from bench.rivals.judging.load import NUMBERS, Load
from bench.rivals.judging.report import Result
from bench.rivals.running.turns import Clock, Receiving, killed, laden, punctual
from bench.rivals.systems.base import NotToBeHad, System

AT_ONCE = 12
Say = Callable[[str], object]


class Measurement:
    """One run of the benchmark; `results` has what was measured so far, by the system's name."""

    def __init__(
        self,
        kinds: Sequence[type[System]],
        receiver: Receiving,
        load: Load,
        clock: Clock,
        say: Say,
        at_once: int = AT_ONCE,
    ) -> None:
        self.results = {kind.name: Result(said=kind.said, note=kind.note) for kind in kinds}
        self._kinds = kinds
        self._receiver, self._load, self._clock, self._say = receiver, load, clock, say
        self._at_once = at_once
        self._numbers = itertools.count(1)

    def run(self) -> None:
        """Install everything, then measure. A fault of one system is kept with its results."""
        for kind in self._kinds:
            self._say(f"{kind.name}: installing, if need be")
            try:
                kind.install()
            except NotToBeHad as no:
                self.results[kind.name].not_to_be_had = str(no)
        for number in range(1, self._load.rounds + 1):
            for kind in self._had():
                self._say(f"round {number}: {kind.name}")
                self._turn(kind)
            self._say(f"round {number}: kills of all")
            self._kills()
        if self._load.pending:
            self._say(f"memory of all with {self._load.pending:,} jobs pending")
            self._side_by_side([partial(self._memory, kind) for kind in self._had()])

    def _had(self) -> list[type[System]]:
        return [kind for kind in self._kinds if not self.results[kind.name].not_to_be_had]

    def _turn(self, kind: type[System]) -> None:
        def work(system: System) -> None:
            turn = punctual(system, self._receiver, self._load, self._first(), self._clock)
            self.results[kind.name].turns.append(turn)

        self._with(kind, work)

    def _kills(self) -> None:
        cases = [(kind, alone) for kind in self._had() for alone in ([False, True] if kind.has_own_store else [False])]
        self._side_by_side([partial(self._kill, kind, alone) for kind, alone in cases if not kind.needs_all_cores])
        for kind, alone in cases:
            if kind.needs_all_cores:
                self._kill(kind, alone)

    def _memory(self, kind: type[System]) -> None:
        def work(system: System) -> None:
            held = laden(system, self._receiver, self._load, self._first(), self._clock)
            self.results[kind.name].memory_pending_bytes = held

        self._with(kind, work)

    def _side_by_side(self, works: Sequence[Callable[[], None]]) -> None:
        with ThreadPoolExecutor(self._at_once) as threads:
            for ended in [threads.submit(work) for work in works]:
                ended.result()

    def _kill(self, kind: type[System], workers_alone: bool) -> None:
        def work(system: System) -> None:
            first, load = self._first(), self._load
            one = killed(system, self._receiver, load, first, self._clock, workers_alone=workers_alone)
            self.results[kind.name].kills.append(one)

        self._with(kind, work)

    def _with(self, kind: type[System], work: Callable[[System], object]) -> None:
        """Start a system in a folder of its own, and work with it; a fault of it is kept with its results."""
        with tempfile.TemporaryDirectory(prefix="clockwork-rival-", ignore_cleanup_errors=True) as folder:
            system = kind(Path(folder))
            try:
                system.start(self._receiver.port)
                work(system)
            except Exception as fault:  # noqa: BLE001 - a system that fails ends its own turn alone, and is told of
                self._say(f"{kind.name}: {type(fault).__name__}: {fault}")
                self.results[kind.name].faults.append(f"{type(fault).__name__}: {fault}")
            finally:
                system.stop()

    def _first(self) -> int:
        return next(self._numbers) * NUMBERS
