"""The attempts in this worker's hands, from their claim until the API has taken how they ended."""

from __future__ import annotations

from threading import Condition

from clockwork_client.worker.attempt import Attempt


class Desk:
    """All attempts under way. Each is beaten for as long as it lies here."""

    def __init__(self) -> None:
        self._attempts: dict[str, Attempt] = {}
        self._changed = Condition()

    def put(self, attempt: Attempt) -> None:
        """Take up an attempt."""
        with self._changed:
            self._attempts[attempt.token] = attempt
            self._changed.notify_all()

    def drop(self, attempt: Attempt) -> None:
        """Let go of an attempt: it has ended, or is somebody else's."""
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
