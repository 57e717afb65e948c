"""The slots of a worker: how many handlers may run at once, and how many of them are free."""

from __future__ import annotations

from threading import Condition


class Slots:
    """Counts free slots. A thread that waits for a slot is released when no more work is wanted."""

    def __init__(self, count: int) -> None:
        if count < 1:
            raise ValueError(f"the concurrency is {count}; it has to be at least 1")
        self._free = self.count = count
        #: How many wait that have tickets already.
        self._with_tickets = 0
        self._is_closed = False
        self._changed = Condition()

    @property
    def free(self) -> int:
        """How many are free now."""
        with self._changed:
            return self._free

    def take(self, most: int, seconds: float | None = None) -> int:
        """Take up to so many; waits until there is one. 0 if none came within so many seconds, or no work is wanted."""
        with self._changed:
            free = self._changed.wait_for(self._is_for_fetches, seconds)
            return self._take(most) if free else 0

    def take_for_tickets(self, most: int, seconds: float) -> int:
        """Take up to so many for tickets that have come, before those who would fetch some."""
        with self._changed:
            self._with_tickets += 1
            self._changed.wait_for(lambda: self._free > 0 or self._is_closed, seconds)
            self._with_tickets -= 1
            taken = self._take(most)
            self._changed.notify_all()
            return taken

    def wait_for_one(self) -> bool:
        """Wait until one is free, and leave it; False if no work is wanted."""
        with self._changed:
            self._changed.wait_for(lambda: self._free > 0 or self._is_closed)
            return not self._is_closed

    def give(self, count: int = 1) -> None:
        """Give some back."""
        with self._changed:
            self._free += count
            self._changed.notify_all()

    def close(self) -> None:
        """No more work is wanted."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def _is_for_fetches(self) -> bool:
        return (self._free > 0 and not self._with_tickets) or self._is_closed

    def _take(self, most: int) -> int:
        taken = 0 if self._is_closed else min(most, self._free)
        self._free -= taken
        return taken
