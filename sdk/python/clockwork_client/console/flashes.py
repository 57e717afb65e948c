"""Messages for the next page of a session: the result of its last action, with a way to repeat it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from threading import Lock
from typing import NamedTuple

#: Those of sessions that never load another page are dropped, the oldest first.
_MOST = 200


class Repeat(NamedTuple):
    """The form that does the same again: where it is sent, its button, and its fields."""

    path: str
    label: str
    fields: Mapping[str, str]


class Flash(NamedTuple):
    """The result of an action, in words. `command` helps after a failure."""

    tone: str
    says: str
    command: str = ""
    repeat: Repeat | None = None


class Flashes:
    """Messages by session and page. They live in this process alone, so that no address shows or repeats one."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, str], Flash] = OrderedDict()
        self._lock = Lock()

    def put(self, session: str, path: str, flash: Flash) -> None:
        """Keep a message for the next time that this session loads this page."""
        with self._lock:
            self._kept[session, path] = flash
            self._kept.move_to_end((session, path))
            while len(self._kept) > _MOST:
                self._kept.popitem(last=False)

    def take(self, session: str, path: str) -> Flash | None:
        """The message for this page, which is gone by this."""
        with self._lock:
            return self._kept.pop((session, path), None)
