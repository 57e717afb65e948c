"""The release queues, where what is due soon waits out the rest of its time, and their dead-letter queues."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import aws_cdk as cdk
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from clockwork.settings import Settings, release_queue_name

#: The longest that SQS offers: waiting work must outlive the outage to be survived.
RETENTION = cdk.Duration.days(14)


#: Of what belongs to a further queue: it stays when it leaves the template, so that what waits in it is delivered.
LEFT_BEHIND = cdk.RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE


@dataclass(frozen=True)
class Pair:
    """A release queue, and where it puts what was received too often."""

    release: sqs.Queue
    dead_letters: sqs.Queue


class Queues(Construct):
    """`pairs` by the Lambda that takes from them, the deliverer's first, and `ordered` alike: the FIFO queues.
    `further`: what the deliverer's first is not enough for, by number from 1 on.

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
        self.further = {number: self._further(number, settings) for number in range(1, settings.release_queues)}

    @property
    def every(self) -> Sequence[Pair]:
        """All pairs."""
        return [*self.pairs.values(), *self.ordered.values()]

    def _pair(self, prefix: str, settings: Settings, *, fifo: bool = False) -> Pair:
        dead_letters = self._queue(f"{prefix}DeadLetters", fifo=fifo)
        # A head that fails is received again and again, since it is never sent anew.
        receives = settings.ordered_max_receive_count if fifo else settings.max_receive_count
        redrive = sqs.DeadLetterQueue(queue=dead_letters, max_receive_count=receives)
        release = self._queue(f"{prefix}Release", settings.visibility_seconds, redrive, fifo=fifo)
        return Pair(release, dead_letters)

    def _further(self, number: int, settings: Settings) -> sqs.Queue:
        """Like the first, but for a name that its number tells: an environment has no room for so many addresses."""
        shared = self.pairs["deliverer"].dead_letters
        redrive = sqs.DeadLetterQueue(queue=shared, max_receive_count=settings.max_receive_count)
        name = release_queue_name(cdk.Stack.of(self).stack_name, number)
        queue = self._queue(f"Release{number}", settings.visibility_seconds, redrive, name)
        leave_behind(queue)
        return queue

    def _queue(
        self,
        name: str,
        visibility_seconds: int = 300,
        dead_letter_queue: sqs.DeadLetterQueue | None = None,
        queue_name: str | None = None,
        *,
        fifo: bool = False,
    ) -> sqs.Queue:
        return sqs.Queue(
            self,
            name,
            queue_name=queue_name,
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


def leave_behind(construct: Construct) -> None:
    """Let a construct outlive its place in the template, with all that it is made of."""
    for child in construct.node.find_all():
        if isinstance(child, cdk.CfnResource):
            child.apply_removal_policy(LEFT_BEHIND)
