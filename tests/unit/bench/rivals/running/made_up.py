"""A system that is made up, and the world in which it runs: virtual time, and a receiver without a network."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import ClassVar

from bench.rivals.judging.account import Run, Runs
from bench.rivals.judging.load import Job, Load
from bench.rivals.running.receiver import LONG_SECONDS
from bench.rivals.systems.base import System, Usage

LOAD = Load(rounds=2, per_second=10, seconds=2, herd=5, pending=40, warm_up=2, killed_running=3, killed_pending=6)


class World:
    """The clock, the receiver and what happens at which instant: all in virtual time."""

    port = 80

    def __init__(self) -> None:
        self.at = 1_000_000
        self.happening: list[tuple[float, MadeUp, str]] = []
        #: The names of the systems that were killed, in their order.
        self.killed: list[str] = []
        self._runs: defaultdict[int, list[Run]] = defaultdict(list)

    def now(self) -> int:
        return self.at

    def sleep(self, seconds: float) -> None:
        until = self.at + round(seconds * 1_000)
        due = sorted((one for one in self.happening if one[0] <= until), key=lambda one: one[0])
        self.happening = [one for one in self.happening if one[0] > until]
        for at, system, url in due:
            if system.is_alive:
                self._post(at, url)
        self.at = until

    def url(self, job: Job) -> str:
        return f"{'long' if job.is_long else 'short'}/{job.number}"

    def runs(self, numbers: Iterable[int]) -> Runs:
        return {number: self._runs[number] for number in numbers if number in self._runs}

    def _post(self, at: float, url: str) -> None:
        length, number = url.split("/")
        self._runs[int(number)].append(Run(at, at + (LONG_SECONDS * 1_000 if length == "long" else 1)))


class MadeUp(System):
    """Starts each job `late_ms` after it was due, and after a kill again what it has not finished."""

    name = "made_up"
    said = "A system that is made up."
    world: ClassVar[World]
    late_ms: ClassVar[float] = 2
    #: Which of its jobs it forgets when it is left alone, and after a kill; and which it starts twice then.
    forgets: ClassVar[int] = 0
    forgets_after_kill: ClassVar[int] = 0
    doubles_after_kill: ClassVar[int] = 0

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.is_alive = True
        self._kept: list[tuple[str, int]] = []

    def start(self, receiver_port: int) -> None:
        assert receiver_port == World.port

    def create(self, jobs: Sequence[tuple[str, int]], *, together: bool = False) -> float:
        self._kept += jobs
        for url, due_at in jobs[self.forgets if len(jobs) > LOAD.warm_up else 0 :]:
            self.world.happening.append((due_at + self.late_ms, self, url))
        return len(jobs) / 100

    def usage(self) -> Usage:
        return Usage(self.world.at / 10_000, (5 + len(self._kept) // 40) * 2**20)

    def kill(self, *, workers_alone: bool) -> None:
        self.world.killed.append(self.name)
        self.world.happening = [one for one in self.world.happening if one[1] is not self]

    def restart(self, *, workers_alone: bool) -> None:
        self.world.sleep(1)
        kept = self._kept[self.forgets_after_kill :]
        for url, due_at in [*kept, *kept[: self.doubles_after_kill]]:
            self.world.happening.append((max(due_at, self.world.at) + self.late_ms, self, url))
