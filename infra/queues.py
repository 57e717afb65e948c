"""The release queue, where what is due soon waits out the rest of its time, and its dead-letter queue."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from clockwork.settings import Settings

#: The longest that SQS offers: waiting work must outlive the outage to be survived.
RETENTION = cdk.Duration.days(14)


class Queues(Construct):
    """`release` and `dead_letters`. Both refuse plain HTTP and are encrypted at rest."""

    def __init__(self, scope: Construct, construct_id: str, *, settings: Settings) -> None:
        super().__init__(scope, construct_id)
        self.dead_letters = self._queue("DeadLetters")
        self.release = self._queue(
            "Release",
            visibility_seconds=settings.visibility_seconds,
            dead_letter_queue=sqs.DeadLetterQueue(
                queue=self.dead_letters, max_receive_count=settings.max_receive_count
            ),
        )

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
