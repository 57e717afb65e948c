"""Heartbeats: a thread of its own renews the claims of all attempts, whatever their handlers do.

A claim is renewed every sixth of its lease. How it fails. A call has no answer: it is sent again within a second or
the next beat, and each answer counts from when its request was sent. The API says `stale`, or the worker's own count
is over: the attempt is over, is never beaten again (that would revive its claim), and its handler is told.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Thread

from clockwork_client.errors import ClockworkError
from clockwork_client.worker.attempt import Attempt
from clockwork_client.worker.calls import MOST_BEATS, Calls
from clockwork_client.worker.clock import Clock
from clockwork_client.worker.desk import Desk

log = logging.getLogger(__name__)

#: Heartbeats in the time of one lease.
BEATS_PER_LEASE = 6
#: So long (s) after a call that failed the next one is sent.
AGAIN_SECONDS = 1.0
#: So many calls are under way at once: a hundred attempts each.
CALLS_AT_ONCE = 8
_IDLE_SECONDS = 60.0


class Beats:
    """The heartbeats of the attempts on a desk."""

    def __init__(self, desk: Desk, calls: Calls, clock: Clock) -> None:
        self._desk = desk
        self._calls = calls
        self._clock = clock
        self._woken = Event()
        self._is_stopped = False
        self._senders = ThreadPoolExecutor(CALLS_AT_ONCE, thread_name_prefix="clockwork-beat")
        self._thread = Thread(target=self._run, name="clockwork-beats", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def wake(self) -> None:
        """There are other attempts than before: think anew about when the next beat is due."""
        self._woken.set()

    def stop(self) -> None:
        """End; no beat is sent afterwards."""
        self._is_stopped = True
        self._woken.set()
        self._thread.join()
        self._senders.shutdown()

    def _run(self) -> None:
        while not self._is_stopped:
            self._clock.wait(self._woken, self._until_next())
            self._woken.clear()
            if not self._is_stopped:
                self.beat()

    def beat(self) -> None:
        """Send what is due, and end what was not renewed in time."""
        now = self._clock.now()
        for attempt in self._desk.all():
            if not attempt.over and attempt.is_lost(now):
                attempt.end("the claim was not renewed in time, or its deadline is over")
        due = [one for one in self._desk.all() if not one.over and _due_at(one) <= now + one.lease_seconds / 60]
        batches = [due[begin : begin + MOST_BEATS] for begin in range(0, len(due), MOST_BEATS)]
        if len(batches) == 1:
            self._send(batches[0])
        else:
            list(self._senders.map(self._send, batches))

    def _send(self, attempts: Sequence[Attempt]) -> None:
        shortest = min(one.lease_seconds for one in attempts) / BEATS_PER_LEASE
        news = [one.take_news() for one in attempts]
        beats = [{"token": one.token, **told} for one, told in zip(attempts, news, strict=True)]
        sent_at = self._clock.now()
        # It is not repeated once a claim is over here: somebody else may have been told so by then.
        left = min(one.lease_until for one in attempts) - sent_at
        try:
            answers = self._calls.beat(beats, max(0.05, min(shortest, left)))
        except ClockworkError as error:
            log.warning("%d heartbeats have no certain answer: %s", len(attempts), error)
            answers = [{}] * len(attempts)
        for attempt, told, answer in zip(attempts, news, answers, strict=True):
            self._take(attempt, answer, told, sent_at)

    def _take(self, attempt: Attempt, answer: dict[str, object], told: dict[str, object], sent_at: float) -> None:
        if answer.get("outcome") == "stale":
            attempt.end("the API says that the claim is over")
            return
        try:
            if answer.get("outcome") != "ok":
                raise ValueError("no answer about this one")
            attempt.renew(sent_at, answer.get("leaseInMs"))
        except ValueError:
            attempt.give_back_news(told)
            attempt.beaten_at = self._clock.now() + AGAIN_SECONDS - attempt.lease_seconds / BEATS_PER_LEASE
            return
        attempt.beaten_at = sent_at
        if answer.get("cancelRequested") is True:
            attempt.ask_to_cancel()

    def _until_next(self) -> float:
        now = self._clock.now()
        alive = [one for one in self._desk.all() if not one.over]
        nearest = min((min(_due_at(one), one.lease_until, one.deadline_at) for one in alive), default=None)
        return _IDLE_SECONDS if nearest is None else max(0.0, nearest - now)


def _due_at(attempt: Attempt) -> float:
    return attempt.beaten_at + attempt.lease_seconds / BEATS_PER_LEASE
