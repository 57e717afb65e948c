"""The clients that share a worker, as it tells the API: an environment of the API may know nobody yet."""

from __future__ import annotations

from collections import Counter
from threading import Lock

from clockwork_client.worker.desk import Desk

#: A worker tells of so many clients, and so long (s) after it started a job of theirs.
_MOST = 50
_FOR = 3_600.0


class Sharing:
    """The clients of the attempts on a desk, and by priority those of the jobs that were started within an hour."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._met_at: dict[str, dict[str, float]] = {}
        self._lock = Lock()

    def met(self, priority: str, client_id: object, now: float) -> None:
        """Note the client of a job that starts."""
        with self._lock:
            known = self._met_at.setdefault(priority, {})
            if isinstance(client_id, str):
                known.pop(client_id, None)
                known[client_id] = now
            if len(known) > _MOST:
                del known[next(iter(known))]

    def held(self, priority: str, now: float) -> dict[str, int]:
        """How many attempts the worker has of each client, the most first, and 0 for those that it met lately."""
        counts = Counter(one.client_id for one in self._desk.all())
        with self._lock:
            lately = [one for one, at in self._met_at.get(priority, {}).items() if now < at + _FOR]
        names = dict.fromkeys([*(one for one, _ in counts.most_common(_MOST)), *reversed(lately)])
        return {one: counts[one] for one in list(names)[:_MOST]}
