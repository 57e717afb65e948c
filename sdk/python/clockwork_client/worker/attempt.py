"""One attempt of this worker: its claim and its state. Instants are seconds of the worker's clock.

The claim counts from the send of the request that made or renewed it. The claim therefore never ends later here than at
the API.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import RLock
from typing import Any, NamedTuple

#: The answer of a claim says that the attempt may start this late at the most (s). Later ones are no answer of the API.
_LONGEST = 10 * 86_400


class Lost(Exception):
    """The claim is over, and another worker may do the work: stop. The handler's result does not count any more."""


class Cancelled(Exception):
    """Somebody has asked for a cancel: stop. A handler that lets it pass ends its attempt CANCELLED."""


class Checkpoint(NamedTuple):
    """The last checkpoint: the number of its attempt, its own number within the attempt, and the value."""

    attempt: int
    sequence: int
    value: Any


class Attempt:
    """A claimed attempt. It is shared by its handler, the heartbeats and the reports, each in a thread of its own."""

    def __init__(self, started: Mapping[str, Any], sent_at: float, answered_at: float) -> None:
        """`started`: the API's answer to the claim. Raises KeyError, TypeError or ValueError for anything else."""
        self.execution_id = str(started["executionId"])
        self.job_id = str(started["jobId"])
        self.job_key: str | None = started.get("jobKey")
        self.client_id = str(started["clientId"])
        self.number = _whole(started["attempt"])
        self.token = str(started["token"])
        self.handler = str(started["handler"])
        self.payload = started.get("payload")
        self.run: str | None = started.get("run")
        self.node: str | None = started.get("node")
        kept = started.get("checkpoint")
        self.checkpoint = (
            None if kept is None else Checkpoint(_whole(kept["attempt"]), _whole(kept["sequence"]), kept["value"])
        )
        self.start_at = answered_at + _seconds(started["startInMs"])
        self.deadline_at = sent_at + _seconds(started["deadlineInMs"])
        self.lease_until = sent_at + _seconds(started["leaseInMs"])
        self.lease_seconds = _seconds(started["leaseInMs"])
        #: When its claim was made or renewed last, as far as a heartbeat is concerned.
        self.beaten_at = sent_at
        self.cancel_requested = False
        #: Why it is over for its handler, while nothing was reported; empty while it is not.
        self.over = ""
        #: Whether its handler has ended, or never begins. Later calls of the handler come too late.
        self.is_settled = False
        #: The news for the next heartbeat.
        self.news: dict[str, Any] = {}
        #: Called once, in any thread, when it is over or is to be cancelled.
        self.on_stop: Callable[[], None] = lambda: None
        self._lock = RLock()

    def renew(self, sent_at: float, lease_in_ms: object) -> None:
        """Take up a heartbeat's answer. The end of a claim never goes back."""
        with self._lock:
            self.lease_until = max(self.lease_until, sent_at + _seconds(lease_in_ms))

    def ask_to_cancel(self) -> None:
        """Note that a cancel was asked for."""
        with self._lock:
            is_new, self.cancel_requested = not self.cancel_requested, True
        if is_new:
            self.on_stop()

    def end(self, why: str) -> None:
        """Note that the attempt is over. The handler's next call raises."""
        with self._lock:
            is_new, self.over = not self.over, self.over or why
        if is_new:
            self.on_stop()

    def settle(self) -> bool:
        """Whether this call is the first that says how it ended: the handler's end, or a hand-back."""
        with self._lock:
            is_first, self.is_settled = not self.is_settled, True
            return is_first

    def is_lost(self, now: float) -> bool:
        """Whether the claim is over, as far as is known here; the API may know better, and never knows worse."""
        return bool(self.over) or now >= min(self.lease_until, self.deadline_at)

    def tell(self, progress: float | None, message: str | None) -> None:
        """Keep news for the next heartbeat."""
        with self._lock:
            self.news |= {name: one for name, one in (("progress", progress), ("message", message)) if one is not None}

    def take_news(self) -> dict[str, Any]:
        """The kept news. They are given out once."""
        with self._lock:
            news, self.news = self.news, {}
            return news

    def give_back_news(self, news: Mapping[str, Any]) -> None:
        """Keep news whose heartbeat did not get through, unless there are newer ones."""
        with self._lock:
            self.news = {**news, **self.news}


def _seconds(ms: object) -> float:
    # It is compared before it is divided: an integer of JSON may be larger than any float.
    if isinstance(ms, bool) or not isinstance(ms, (int, float)) or not 0 <= ms <= _LONGEST * 1000:
        raise ValueError(f"{ms!r:.40} is no duration")
    return ms / 1000


def _whole(number: Any) -> int:
    try:
        return int(number)
    except OverflowError as error:
        raise ValueError(f"{number!r} is no whole number") from error
