"""`ports.Targets` on Kafka: the messages of a batch are produced without waiting, then flushed once.

A message counts as delivered once Kafka has acknowledged it. The producer repeats a message by itself, without
duplicates, for as long as `message.timeout.ms`. A message that is not acknowledged by then may have arrived or not.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from clockwork.domain.executions import Outcome, State
from clockwork.domain.releases import Delivery
from clockwork.ports import Clock
from clockwork.targets.kafka.errors import failure_of
from clockwork.targets.kafka.target import KafkaTarget

Note = Callable[[KafkaError | None, Message], None]

_log = logging.getLogger(__name__)


class KafkaTargets:
    """Delivers to KafkaTargets through one producer for the life of an environment.

    One thread at a time uses it. A producer that failed permanently, or was purged, is replaced.
    """

    def __init__(self, make: Callable[[], Producer], clock: Clock) -> None:
        self._make = make
        self._clock = clock
        self._producer = make()
        self._is_spent = False
        self._attempts = _Attempts(clock)

    def forget(self) -> None:
        """Drop the attempts under way: the producer drops their messages, and its results are ignored.

        A message that waits in the producer would leave when a frozen environment thaws, perhaps after its attempt was
        counted as lost and its cancel was answered. A message on the wire may still arrive.
        """
        left, self._attempts = self._attempts, _Attempts(self._clock)
        if left.under_way:
            self._purge()
            # The results of what was purged, which nobody waits for.
            self._producer.flush(0)

    def begin(self, slot: int, delivery: Delivery) -> None:
        """Hand the message to the producer, which sends it in the background at once."""
        started_at, attempts = self._clock.now(), self._attempts
        target = delivery.occurrence.target
        if not isinstance(target, KafkaTarget):
            error = f"this deliverer delivers to Kafka alone, not to {type(target).__name__}"
            attempts.ended.append((slot, Outcome(State.FAILED, started_at, started_at, error=error)))
            return
        if (too_late := delivery.too_late(started_at)) is not None:
            attempts.ended.append((slot, too_late))
            return
        if self._is_spent:
            self._producer, self._is_spent = self._make(), False
        attempts.under_way[slot] = delivery.deadline_at
        try:
            self._produce(delivery, target, partial(attempts.note, slot, started_at))
        except KafkaException as fault:
            attempts.fail(slot, fault.args[0], started_at)
        except BufferError:
            attempts.fail(slot, KafkaError(KafkaError._QUEUE_FULL), started_at)

    def collect(self) -> Sequence[tuple[int, Outcome]]:
        """Flush the producer until at least one attempt has ended; all outcomes that there are, by slot."""
        attempts = self._attempts
        while attempts.under_way and not attempts.ended:
            left_ms = min(attempts.under_way.values()) - self._clock.now()
            if left_ms <= 0:
                # An attempt that ends here must not deliver later: the producer drops its messages and reports each.
                self._purge()
            self._producer.flush(max(left_ms, 0) / 1000)
        ended, attempts.ended = attempts.ended, []
        return ended

    def close(self) -> None:
        """Drop the messages that are still under way."""
        self._producer.purge()
        self._producer.flush(0)

    def _purge(self) -> None:
        """Drop all messages of the producer, which the next message replaces.

        The cluster takes the messages of a producer in sequence. It would wait in vain for those that were purged on
        the wire, and so would every message behind them.
        """
        self._producer.purge()
        self._is_spent = True

    def _produce(self, delivery: Delivery, target: KafkaTarget, note: Note) -> None:
        send = partial(_send, delivery=delivery, target=target, note=note)
        try:
            send(self._producer)
        except KafkaException as fault:
            if fault.args[0].code() != KafkaError._FATAL:
                raise
            # The cluster has lost track of this producer's sequence: only a new producer can go on.
            _log.warning("the producer is made anew", extra={"action": "kafka_producer_renewed"})
            self._producer = self._make()
            send(self._producer)


class _Attempts:
    """The attempts of one invocation.

    A callback of the producer keeps the object that was current when its message was produced, so a result never
    reaches a later invocation. `under_way` holds the deadline of each attempt (ms), by slot.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.under_way: dict[int, int] = {}
        self.ended: list[tuple[int, Outcome]] = []

    def note(self, slot: int, started_at: int, error: KafkaError | None, message: Message) -> None:
        """Note the result of a message, as `flush` reports it; `latency` is from produce to acknowledgement."""
        if error is not None:
            self.fail(slot, error, started_at)
            return
        del self.under_way[slot]
        ended_at = started_at + round((message.latency() or 0) * 1000)
        self.ended.append((slot, Outcome(State.SUCCEEDED, started_at, ended_at)))

    def fail(self, slot: int, error: KafkaError, started_at: int) -> None:
        """End an attempt whose message was not acknowledged, with the outcome that `error` stands for."""
        del self.under_way[slot]
        self.ended.append((slot, failure_of(error, started_at, self._clock.now())))


def _send(producer: Producer, delivery: Delivery, target: KafkaTarget, note: Note) -> None:
    headers: list[tuple[str, str | bytes | None]] = [(name, str(fact)) for name, fact in delivery.message.facts.items()]
    key = (target.key or delivery.occurrence.ordering_key or delivery.job_id).encode()
    producer.produce(target.topic, delivery.occurrence.payload.body, key, on_delivery=note, headers=headers)
