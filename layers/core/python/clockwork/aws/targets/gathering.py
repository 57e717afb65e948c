"""Gathers attempts that begin at the same time and lead to the same target into one call of a service."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from concurrent.futures import Future
from threading import Event, Lock
from typing import Protocol

from clockwork.domain.executions import Outcome
from clockwork.domain.releases import Delivery

#: The most attempts in one call:
#: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessageBatch.html
#: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutEvents.html
MOST_IN_CALL = 10
#: The most bytes of all payloads of a call, which leaves room for their attributes in the 1 MiB that SQS takes.
LARGEST_CALL = 900_000
#: How long the first attempt of a call waits for others: threads that were started together begin within this time.
GATHERING_SECONDS = 0.003


class TakesMany(Protocol):
    """A transport to a service that takes several messages in one call.

    Many threads call it at the same time.
    """

    def fellows(self, delivery: Delivery) -> Hashable:
        """The key of attempts that may share one call."""

    def deliver_all(self, deliveries: Sequence[Delivery]) -> Sequence[Outcome]:
        """Make attempts with the same key; an outcome for each, in order.

        An expected fault becomes the outcome of its attempt.
        """


class _Call:
    """A call that still gathers attempts, or is under way."""

    def __init__(self) -> None:
        self.deliveries: list[Delivery] = []
        self.bytes = 0
        self.full = Event()
        self.outcomes: Future[Sequence[Outcome]] = Future()


class Gathering:
    """A transport whose threads share calls: the first thread waits for others, then makes the call for all of them."""

    def __init__(self, inner: TakesMany, gathering_seconds: float = GATHERING_SECONDS) -> None:
        self._inner = inner
        self._gathering_seconds = gathering_seconds
        self._lock = Lock()
        self._open: dict[Hashable, _Call] = {}

    def deliver(self, delivery: Delivery) -> Outcome:
        """Make the attempt in one call with others; an expected fault becomes its outcome."""
        key = self._inner.fellows(delivery)
        call, number = self._join(key, delivery)
        if number == 0:
            self._make(key, call)
        return call.outcomes.result()[number]

    def _join(self, key: Hashable, delivery: Delivery) -> tuple[_Call, int]:
        size = len(delivery.occurrence.payload.body)
        with self._lock:
            call = self._open.get(key)
            if call is None or call.bytes + size > LARGEST_CALL:
                if call is not None:
                    call.full.set()
                call = self._open[key] = _Call()
            call.deliveries.append(delivery)
            call.bytes += size
            if len(call.deliveries) == MOST_IN_CALL:
                del self._open[key]
                call.full.set()
            return call, len(call.deliveries) - 1

    def _make(self, key: Hashable, call: _Call) -> None:
        call.full.wait(self._gathering_seconds)
        with self._lock:
            if self._open.get(key) is call:
                del self._open[key]
        try:
            call.outcomes.set_result(self._inner.deliver_all(call.deliveries))
        except Exception as fault:  # noqa: BLE001 - a defect of ours, raised in every thread that joined
            call.outcomes.set_exception(fault)
