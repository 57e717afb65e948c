"""What is sent and received."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from clockwork.domain.executions import Execution
from clockwork.domain.releases import Refused, Release


class ReleaseQueue(Protocol):
    """Our own queue between poller and deliverer. At least once; in no order, but for ordered occurrences.

    Those of one ordering key are handed out in the order of their sends, none while an earlier one is in hand. Of a
    send nothing of a key is taken behind what was refused for now; what is sent twice within minutes is taken once.
    """

    def send(self, releases: Sequence[Release], now: int) -> Sequence[Refused]:
        """Send each with a delay of what is left until its `run_at` (whole seconds, rounded down, at most 900).

        Reports what was not taken, after the adapter's own bounded retries; never raises Unavailable.
        """


class InHand(Protocol):
    """The messages of the ordered queue that a deliverer has in hand."""

    def hide(self, receipts: Sequence[str], seconds: int) -> None:
        """Let messages be handed out again after `seconds` from now (0 to 43,200), in their order.

        A message that is not in hand any more is left as it is.
        """


class Backlog(Protocol):
    """What deliverers have not kept up with."""

    def waiting(self) -> int:
        """About how many messages are visible or in hand in the release queue that has most of them.

        Those that are still delayed do not count, nor do ordered ones: these wait for each other.
        """


class Notices(Protocol):
    """What clients are told, in queues of their own."""

    def send(self, queue_arn: str, execution: Execution) -> None:
        """Send one message of an execution that became DEAD. Raises Unavailable if the queue did not take it."""


class DeadLetter(msgspec.Struct, frozen=True):
    """A message that was received too often. `receipt` is what `delete` takes."""

    receipt: str
    body: str


class DeadLetters(Protocol):
    """The release queue's dead-letter queue."""

    def receive(self) -> Sequence[DeadLetter]:
        """Some of what lies there, hidden from others for a while; empty if nothing is to be had now."""

    def delete(self, receipt: str) -> None:
        """Forget a message that was received."""
