"""One turn of a system: its jobs are created, come due and are counted; or it is killed among them."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from bench.rivals.judging.account import Punctuality, Runs, Survival, is_complete, missing, punctuality, survival
from bench.rivals.judging.load import Job, Load, due_at
from bench.rivals.systems.base import System

#: How long duplicates are waited for after the last job came: no event shows that none will.
STRAY_SECONDS = 3
#: How long after its first jobs were due a kill waits for these to be under way, and how long they then run.
BEGIN_SECONDS, RUN_SECONDS = 15, 1
#: How long a store that has taken many jobs is left alone before its memory is measured.
SETTLE_SECONDS = 3


class Clock(Protocol):
    """The time of this machine, or that of a test."""

    def now(self) -> int:
        """The instant (epoch ms)."""

    def sleep(self, seconds: float) -> None:
        """Let time pass."""


class SystemTime:
    """The time of this machine."""

    def now(self) -> int:
        """The instant (epoch ms)."""
        return time.time_ns() // 1_000_000

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        time.sleep(seconds)


class Receiving(Protocol):
    """Where jobs arrive."""

    @property
    def port(self) -> int:
        """Where it listens on 127.0.0.1."""

    def url(self, job: Job) -> str:
        """Where a job is to be posted."""

    def runs(self, numbers: Iterable[int]) -> Runs:
        """By number of the job, the runs of these jobs so far; jobs without a run are left out."""


@dataclass(frozen=True, kw_only=True)
class Turn:
    """The results of one turn. `memory_bytes`: when the last job was done."""

    creates_per_second: float
    cpu_seconds_per_1000: float
    steady: Punctuality
    herd: Punctuality
    memory_bytes: int


@dataclass(frozen=True, kw_only=True)
class Killed:
    """The results of a kill. `restart_seconds`: from the kill until everything had been started again."""

    workers_alone: bool
    running: Survival
    waiting: Survival
    restart_seconds: float


def punctual(system: System, receiver: Receiving, load: Load, first: int, clock: Clock) -> Turn:
    """Let a system that has been started run the load, with numbers from `first` on."""
    begins_at = (clock.now() // 1_000 + load.lead_seconds) * 1_000
    _create(system, receiver, load.before(begins_at, first))
    steady, herd = load.steady(begins_at, first), load.on_one_second(begins_at, first)
    counted, used = [*steady, *herd], system.usage().cpu_seconds
    seconds = _create(system, receiver, counted)
    _await(receiver, clock, due_at(counted), load.straggler_seconds)
    clock.sleep(STRAY_SECONDS)
    usage, runs = system.usage(), receiver.runs(due_at(counted))
    return Turn(
        creates_per_second=len(counted) / seconds,
        cpu_seconds_per_1000=(usage.cpu_seconds - used) * 1_000 / len(counted),
        steady=punctuality(due_at(steady), runs),
        herd=punctuality(due_at(herd), runs),
        memory_bytes=usage.memory_bytes,
    )


def laden(system: System, receiver: Receiving, load: Load, first: int, clock: Clock) -> int:
    """The memory (bytes) of a system that has been started and has taken many jobs, none of which is due yet."""
    _create(system, receiver, load.far_ahead(clock.now(), first), together=True)
    clock.sleep(SETTLE_SECONDS)
    return system.usage().memory_bytes


def killed(system: System, receiver: Receiving, load: Load, first: int, clock: Clock, *, workers_alone: bool) -> Killed:
    """Kill a system that has been started while some jobs are in the middle and others wait; start it again at once."""
    due = clock.now() + load.lead_seconds * 1_000
    running, waiting = load.in_the_middle(due, first), load.not_due_yet(due, first)
    _create(system, receiver, [*running, *waiting])
    _await_begun(receiver, clock, running, due)
    clock.sleep(RUN_SECONDS)
    killed_at = clock.now()
    system.kill(workers_alone=workers_alone)
    system.restart(workers_alone=workers_alone)
    restarted_at = clock.now()
    # All are watched for as long, since a duplicate may come with a time-out; and never so briefly that a job that was
    # not due yet counts as lost.
    last_at = waiting[-1].due_at if waiting else due
    ends_at = max(killed_at + load.watch_seconds * 1_000, last_at + load.straggler_seconds * 1_000)
    clock.sleep(max(0, ends_at - clock.now()) / 1_000)
    # What the kill really found in the middle; a job that it found before or after that stands with the others.
    runs = receiver.runs(due_at([*running, *waiting]))
    middle = [job for job in running if not all(is_complete(run, killed_at) for run in runs.get(job.number, ()))]
    others = [job for job in (*running, *waiting) if job not in middle]
    return Killed(
        workers_alone=workers_alone,
        running=survival(due_at(middle), runs, killed_at),
        waiting=survival(due_at(others), runs, killed_at),
        restart_seconds=(restarted_at - killed_at) / 1_000,
    )


def _create(system: System, receiver: Receiving, jobs: Sequence[Job], *, together: bool = False) -> float:
    return system.create([(receiver.url(job), job.due_at) for job in jobs], together=together)


def _await(receiver: Receiving, clock: Clock, due: Mapping[int, int], straggler_seconds: float) -> None:
    """Wait until all jobs have come, but no longer than so many seconds after the last was due."""
    last_at = max(due.values())
    clock.sleep(max(0, last_at - clock.now()) / 1_000)
    while missing(due, receiver.runs(due)) and clock.now() < last_at + straggler_seconds * 1_000:
        clock.sleep(0.2)


def _await_begun(receiver: Receiving, clock: Clock, jobs: Sequence[Job], due: int) -> None:
    """Wait until all of these jobs are under way, but no longer than 15 s after they were due."""
    clock.sleep(max(0, due - clock.now()) / 1_000)
    numbers = [job.number for job in jobs]
    while len(receiver.runs(numbers)) < len(numbers) and clock.now() < due + BEGIN_SECONDS * 1_000:
        clock.sleep(0.1)
