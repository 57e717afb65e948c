"""The attempts in this worker's slots, from their claim until the API has taken how they ended."""

from __future__ import annotations

from threading import Condition

from clockwork_client.worker.attempt import Attempt


class Desk:
    """All attempts in progress. The worker sends heartbeats for each of them.

    The desk is full with `most`. While the API takes no outcomes, a worker without this bound would collect finished
    work that nobody knows of. If the worker died, all of that work would be repeated.
    """

    def __init__(self, most: float = float("inf")) -> None:
        self._most = most
        self._is_closed = False
        self._attempts: dict[str, Attempt] = {}
        self._changed = Condition()

    def put(self, attempt: Attempt) -> None:
        """Take up an attempt."""
        with self._changed:
            self._attempts[attempt.token] = attempt
            self._changed.notify_all()

    def drop(self, attempt: Attempt) -> None:
        """Remove an attempt that has ended, or that another worker has."""
        with self._changed:
            self._attempts.pop(attempt.token, None)
            self._changed.notify_all()

    def all(self) -> list[Attempt]:
        """The attempts under way."""
        with self._changed:
            return list(self._attempts.values())

    def is_empty(self) -> bool:
        """Whether there are none."""
        with self._changed:
            return not self._attempts

    def is_full(self) -> bool:
        """Whether no more are to be taken up now."""
        with self._changed:
            return len(self._attempts) >= self._most

    def wait_for_room(self) -> bool:
        """Wait until it is not full; False if no more are taken up at all."""
        with self._changed:
            self._changed.wait_for(lambda: len(self._attempts) < self._most or self._is_closed)
            return not self._is_closed

    def close(self) -> None:
        """No more are taken up."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
