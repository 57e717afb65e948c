"""The target of every system under measurement: it accepts everything and notes when each job arrives."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Mapping

from local.receiver import Answer, Post, Receiver


class Target(Receiver):
    """Jobs are told apart by the number at the end of the path."""

    def __init__(self) -> None:
        super().__init__()
        self._arrivals: defaultdict[int, list[float]] = defaultdict(list)
        self._lock = threading.Lock()

    def url(self, number: int) -> str:
        """Where job `number` is to be posted."""
        return f"http://{self.place}/{number}"

    def arrivals(self) -> Mapping[int, list[float]]:
        """By number, the instants (epoch ms) at which requests came, so far."""
        with self._lock:
            return {number: list(instants) for number, instants in self._arrivals.items()}

    def answer(self, post: Post) -> Answer:
        """Keep its instant."""
        with self._lock:
            self._arrivals[int(post.path[1:])].append(post.at)
        return Answer(200)
