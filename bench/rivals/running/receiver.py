"""The receiver that every system posts to: it notes when each request came, and when it was answered."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Iterable

from bench.rivals.judging.account import Run, Runs
from bench.rivals.judging.load import Job
from local.receiver import Answer, Post, Receiver

#: How long a request for a long job takes to be answered. Shorter than the shortest time that a system grants (15 s).
LONG_SECONDS = 6.0


class RunReceiver(Receiver):
    """Jobs are told apart by the number at the end of the path."""

    def __init__(self) -> None:
        super().__init__()
        self._runs: defaultdict[int, list[Run]] = defaultdict(list)
        self._lock = threading.Lock()

    def url(self, job: Job) -> str:
        """Where a job is to be posted."""
        return f"http://{self.place}/{'long' if job.is_long else 'short'}/{job.number}"

    def runs(self, numbers: Iterable[int]) -> Runs:
        """By number of the job, the runs of these jobs so far; jobs without a run are left out.

        A waiting turn asks often, so the cost must not grow with the time of the benchmark.
        """
        with self._lock:
            return {number: list(self._runs[number]) for number in numbers if number in self._runs}

    def answer(self, post: Post) -> Answer:
        """Note the run as begun; answer at once, or late if the job is long."""
        _, length, number = post.path.split("/")
        place = self._begin(int(number), post.at)
        if length == "long":
            time.sleep(LONG_SECONDS)
        with self._lock:
            self._runs[int(number)][place] = Run(post.at, time.time_ns() / 1_000_000)
        return Answer(200)

    def _begin(self, number: int, at: float) -> int:
        with self._lock:
            self._runs[number].append(Run(at, None))
            return len(self._runs[number]) - 1
