"""The release queue on a standard queue of SQS."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from clockwork.aws.queues.sender import Message, Sender
from clockwork.aws.session import Aws
from clockwork.domain.messages.alignment import Aligned
from clockwork.domain.messages.bundles import plan_bundles
from clockwork.domain.releases import Release
from clockwork.domain.storage.codec import encode_message
from clockwork.ports import Refused


class AwsReleaseQueue(Sender):
    """`ports.ReleaseQueue` on a standard queue.

    `fair`: a message's group is its client, so that SQS keeps one client from starving the others. This costs 0.10 USD
    per million requests
    (https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-fair-queues.html).
    """

    def __init__(
        self,
        aws: Aws,
        queue_url: str,
        *,
        fair: bool = False,
        late_tolerance_ms: int = 0,
        elapsed_seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(aws, queue_url, late_tolerance_ms=late_tolerance_ms, elapsed_seconds=elapsed_seconds)
        self._fair = fair

    def send(self, releases: Sequence[Release], now: int, aligned: Aligned | None = None) -> Sequence[Refused]:
        messages = []
        for number, bundle in enumerate(plan_bundles(releases, now)):
            carried = [releases[index] for index in bundle.indexes]
            messages.append(self.message(number, bundle.indexes, bundle.run_at, carried))
        return self.post(messages, now, aligned)

    def message(self, number: int, indexes: tuple[int, ...], run_at: int, carried: Sequence[Release]) -> Message:
        """The message that carries these releases, which are all of one client."""
        group = carried[0].occurrence.client_id if self._fair else None
        return Message(number, indexes, run_at, encode_message(carried), group)
