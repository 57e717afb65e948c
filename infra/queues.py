"""The release queues, where what is due soon waits out the rest of its time, each with its dead-letter queue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import aws_cdk as cdk
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from clockwork.settings import Settings

#: The longest that SQS offers: waiting work must outlive the outage to be survived.
RETENTION = cdk.Duration.days(14)


@dataclass(frozen=True)
class Pair:
    """A release queue, and where it puts what was received too often."""

    release: sqs.Queue
    dead_letters: sqs.Queue


class Queues(Construct):
    """`pairs` by the Lambda that takes from them, the deliverer's first, and `ordered` alike: the FIFO queues.

    All refuse plain HTTP and are encrypted.
    """

    def __init__(self, scope: Construct, construct_id: str, *, settings: Settings, kafka: bool) -> None:
        super().__init__(scope, construct_id)
        prefixes = {"deliverer": ""}
        if kafka:
            # Of its own, so that only who delivers to Kafka lives in the cluster's network.
            prefixes["kafka_deliverer"] = "Kafka"
        self.pairs = {moment: self._pair(prefix, settings) for moment, prefix in prefixes.items()}
        self.ordered = {moment: self._pair(f"{p}Ordered", settings, fifo=True) for moment, p in prefixes.items()}

    @property
    def every(self) -> Sequence[Pair]:
        """All pairs."""
        return [*self.pairs.values(), *self.ordered.values()]

    def _pair(self, prefix: str, settings: Settings, *, fifo: bool = False) -> Pair:
        dead_letters = self._queue(f"{prefix}DeadLetters", fifo=fifo)
        # A head that fails is received again and again, since it is never sent anew.
        receives = settings.ordered_max_receive_count if fifo else settings.max_receive_count
        release = self._queue(
            f"{prefix}Release",
            visibility_seconds=settings.visibility_seconds,
            dead_letter_queue=sqs.DeadLetterQueue(queue=dead_letters, max_receive_count=receives),
            fifo=fifo,
        )
        return Pair(release, dead_letters)

    def _queue(
        self,
        name: str,
        visibility_seconds: int = 300,
        dead_letter_queue: sqs.DeadLetterQueue | None = None,
        *,
        fifo: bool,
    ) -> sqs.Queue:
        return sqs.Queue(
            self,
            name,
            visibility_timeout=cdk.Duration.seconds(visibility_seconds),
            retention_period=RETENTION,
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=True,
            dead_letter_queue=dead_letter_queue,
            fifo=True if fifo else None,
            # Both together are what AWS calls high throughput: limits count by message group.
            deduplication_scope=sqs.DeduplicationScope.MESSAGE_GROUP if fifo else None,
            fifo_throughput_limit=sqs.FifoThroughputLimit.PER_MESSAGE_GROUP_ID if fifo else None,
        )
