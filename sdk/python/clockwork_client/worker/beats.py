"""Heartbeats: a thread of its own renews the claims of all attempts, also while handlers are busy.

A claim is renewed every sixth of its lease. The shortest lease of a call bounds the call's time, so claims of long and
of short jobs are renewed by separate calls.

How it fails. If a call has no answer, or cannot be made, it is sent again within a second or with the next heartbeat.
If the API asks for a pause, the call waits for it, up to a sixth of the lease. Each answer counts from the send of its
request. If the API refuses a call, it is sent again at once without the handlers' news, since one of them may be the
cause. If that call fails too, the news are kept. If the API says `stale`, or the worker's own count of the lease ends,
the attempt is over. The worker never renews it again, since a heartbeat could revive the claim, and the handler's next
call raises. If a call does not end, the other calls and the count go on.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Thread

from clockwork_client.errors import ClockworkError, Refused, TooManyRequests
from clockwork_client.worker.attempt import Attempt
from clockwork_client.worker.calls import MOST_BEATS, Calls
from clockwork_client.worker.clock import Clock
from clockwork_client.worker.desk import Desk
from clockwork_client.worker.logs import logger
from clockwork_client.worker.pauses import asked_pause

log = logger(__name__)

#: Heartbeats in the time of one lease.
BEATS_PER_LEASE = 6
#: The pause (s) between a failed call and the next one.
AGAIN_SECONDS = 1.0
#: The most calls at once, with a hundred attempts each.
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
        #: The tokens of the attempts that a call is sent for now.
        self._under_way: set[str] = set()
        self._senders = ThreadPoolExecutor(CALLS_AT_ONCE, thread_name_prefix="clockwork-beat")
        self._thread = Thread(target=self._run, name="clockwork-beats", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def wake(self) -> None:
        """Compute the instant of the next heartbeat again: the attempts have changed."""
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
            if self._is_stopped:
                return
            try:
                self.beat()
            except Exception:
                log.exception("heartbeats could not be sent")
                self._clock.sleep(AGAIN_SECONDS)

    def beat(self) -> None:
        """End attempts that were not renewed in time.

        Send heartbeats that are due, together with those that are due soon.
        """
        now = self._clock.now()
        for attempt in self._desk.all():
            if not attempt.over and attempt.is_lost(now):
                attempt.end("the claim was not renewed in time, or its deadline is over")
        waiting = [one for one in self._desk.all() if not one.over and one.token not in self._under_way]
        for batch in _batches(waiting, now):
            self._put(batch)

    def _put(self, attempts: Sequence[Attempt]) -> None:
        """Have a call sent by a thread of the senders: one that does not end must not keep others from their count."""
        self._under_way.update(one.token for one in attempts)
        try:
            self._senders.submit(self._send_all, attempts)
        except RuntimeError as error:
            self._send_all(attempts)
            log.warning("no thread can be started to send heartbeats: %s", error)

    def _send_all(self, attempts: Sequence[Attempt]) -> None:
        try:
            self._send(attempts, is_telling=True)
        except Exception:
            for attempt in attempts:
                self._beat_soon(attempt)
            log.exception("%d heartbeats could not be sent", len(attempts))
        finally:
            self._under_way.difference_update(one.token for one in attempts)
            self._woken.set()

    def _send(self, waiting: Sequence[Attempt], *, is_telling: bool) -> bool:
        """Whether the API has answered, or nobody waits for that any more."""
        # A call that has waited for its thread must not revive a claim that is over here.
        if not (attempts := [one for one in waiting if not one.is_lost(self._clock.now())]):
            return True
        news = [one.take_news() if is_telling else {} for one in attempts]
        beats = [{"token": one.token, **told} for one, told in zip(attempts, news, strict=True)]
        sent_at = self._clock.now()
        try:
            answers = self._calls.beat(beats, max(0.05, min(_budget(one, sent_at) for one in attempts)))
        except Exception as error:  # noqa: BLE001 - whatever the signer or its library says; a later call may get through
            self._fail(attempts, news, error)
            return False
        for attempt, told, answer in zip(attempts, news, answers, strict=True):
            self._take(attempt, answer, told, sent_at)
        return True

    def _fail(self, attempts: Sequence[Attempt], news: Sequence[dict[str, object]], error: Exception) -> None:
        """Send claims without an answer again: at once without the news, if the news may be the cause, or else soon."""
        # They are the cause only if the call gets through without them.
        is_mended = any(news) and _may_be_of_the_news(error) and self._send(attempts, is_telling=False)
        if not is_mended:
            for attempt, told in zip(attempts, news, strict=True):
                attempt.give_back_news(told)
                self._beat_soon(attempt, asked_pause(error))
        said = "are refused" if isinstance(error, Refused) else "have no certain answer"
        log.warning("%d heartbeats %s: %s: %s", len(attempts), said, type(error).__name__, error)

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
            self._beat_soon(attempt)
            return
        attempt.beaten_at = sent_at
        if answer.get("cancelRequested") is True:
            attempt.ask_to_cancel()

    def _beat_soon(self, attempt: Attempt, asked_for: float = 0.0) -> None:
        """Have a heartbeat sent again within a sixth of its lease; the API may have asked for a pause (s)."""
        between = attempt.lease_seconds / BEATS_PER_LEASE
        attempt.beaten_at = self._clock.now() + min(max(AGAIN_SECONDS, asked_for), between) - between

    def _until_next(self) -> float:
        now = self._clock.now()
        alive = [one for one in self._desk.all() if not one.over]
        ends = [min(one.lease_until, one.deadline_at) for one in alive]
        dues = [_due_at(one) for one in alive if one.token not in self._under_way]
        nearest = min(ends + dues, default=None)
        return _IDLE_SECONDS if nearest is None else max(0.0, nearest - now)


def _due_at(attempt: Attempt) -> float:
    return attempt.beaten_at + attempt.lease_seconds / BEATS_PER_LEASE


def _budget(attempt: Attempt, now: float) -> float:
    """The time (s) that a call may take which renews this claim.

    The worker does not repeat the call once the claim is over here, since the handler may have learned of its end
    already.
    """
    return min(attempt.lease_seconds / BEATS_PER_LEASE, attempt.lease_until - now)


def _batches(waiting: Sequence[Attempt], now: float) -> list[list[Attempt]]:
    """The due heartbeats, with those that are due soon, by call.

    A call has the time of its shortest budget. An attempt with more than twice that budget goes in another call, which
    leaves the API more time.
    """
    soon = [one for one in waiting if _due_at(one) <= now + one.lease_seconds / 60]
    budgets = {one.token: _budget(one, now) for one in soon}
    batches: list[list[Attempt]] = []
    for attempt in sorted(soon, key=lambda one: (-budgets[one.token], _due_at(one))):
        last = batches[-1] if batches else []
        if not last or len(last) == MOST_BEATS or budgets[attempt.token] < budgets[last[0].token] / 2:
            batches.append([])
        batches[-1].append(attempt)
    return [batch for batch in batches if any(_due_at(one) <= now for one in batch)]


def _may_be_of_the_news(error: Exception) -> bool:
    """Whether a call may get through without the handlers' news: it was refused, or could not be made of them."""
    if isinstance(error, ClockworkError):
        return isinstance(error, Refused) and not isinstance(error, TooManyRequests)
    return True
