"""The clients that share a worker, as it tells the API: an environment of the API may know nobody yet."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping
from threading import Lock
from typing import Any

from clockwork_client.worker.desk import Desk

#: A worker tells of so many clients, and so long (s) after it started a job of theirs.
_MOST = 50
_FOR = 3_600.0
#: A worker of fewer slots tells as of so many. Of three slots no client is beyond its share while one is free, and of a
#: few starts a quiet client's own may be the most.
_LEAST = 10


class Sharing:
    """The clients of the attempts on a desk, and by priority those of the jobs that were started within an hour."""

    def __init__(self, desk: Desk, slots: int) -> None:
        self._desk = desk
        self._count = max(slots, _LEAST)
        #: The tokens and clients of the last starts, of which no more than half are still under way.
        self._started = deque[tuple[object, str]](maxlen=2 * self._count)
        self._met_at: dict[str, dict[str, float]] = {}
        self._lock = Lock()

    def met(self, priority: str, answer: Mapping[str, Any], now: float) -> None:
        """Note the client of a job that starts."""
        with self._lock:
            known = self._met_at.setdefault(priority, {})
            if isinstance(client_id := answer.get("clientId"), str):
                known.pop(client_id, None)
                known[client_id] = now
                self._started.append((answer.get("token"), client_id))
            if len(known) > _MOST:
                del known[next(iter(known))]

    def told(self, priority: str, now: float) -> dict[str, Any]:
        """The slots, and how many are each client's: the most first, and 0 for those that it met lately.

        A slot that is free counts for the client that had it last. In a worker's only slot nobody has anything whenever
        it asks.
        """
        running = {one.token: one.client_id for one in self._desk.all()}
        with self._lock:
            lately = [one for one, at in self._met_at.get(priority, {}).items() if now < at + _FOR]
            ended = [client for token, client in reversed(self._started) if token not in running]
        counts = Counter([*running.values(), *ended[: max(0, self._count - len(running))]])
        names = dict.fromkeys([*(one for one, _ in counts.most_common(_MOST)), *reversed(lately)])
        return {"count": self._count, "held": {one: counts[one] for one in list(names)[:_MOST]}}
