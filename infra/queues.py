"""The release queues, where what is due soon waits out the rest of its time, each with its dead-letter queue."""

from __future__ import annotations

from dataclasses import dataclass

import aws_cdk as cdk
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from clockwork.settings import Settings

#: The longest that SQS offers: waiting work must outlive the outage to be survived.
RETENTION = cdk.Duration.days(14)


@dataclass(frozen=True)
class Pair:
    """A release queue and where it puts what was received too often."""

    release: sqs.Queue
    dead_letters: sqs.Queue


class Queues(Construct):
    """`pairs` by the Lambda that takes from them, the deliverer's first. All refuse plain HTTP and are encrypted."""

    def __init__(self, scope: Construct, construct_id: str, *, settings: Settings, kafka: bool) -> None:
        super().__init__(scope, construct_id)
        self.pairs = {"deliverer": self._pair("", settings)}
        if kafka:
            # Of its own, so that only who delivers to Kafka lives in the cluster's network.
            self.pairs["kafka_deliverer"] = self._pair("Kafka", settings)

    def _pair(self, prefix: str, settings: Settings) -> Pair:
        dead_letters = self._queue(f"{prefix}DeadLetters")
        release = self._queue(
            f"{prefix}Release",
            visibility_seconds=settings.visibility_seconds,
            dead_letter_queue=sqs.DeadLetterQueue(queue=dead_letters, max_receive_count=settings.max_receive_count),
        )
        return Pair(release, dead_letters)

    def _queue(
        self, name: str, visibility_seconds: int = 300, dead_letter_queue: sqs.DeadLetterQueue | None = None
    ) -> sqs.Queue:
        return sqs.Queue(
            self,
            name,
            visibility_timeout=cdk.Duration.seconds(visibility_seconds),
            retention_period=RETENTION,
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=True,
            dead_letter_queue=dead_letter_queue,
        )
