"""The ports for queues: all messages that Clockwork sends and receives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from clockwork.domain.executions import Execution
from clockwork.domain.messages.alignment import Aligned
from clockwork.domain.pools.pool import Tickets
from clockwork.domain.releases import Refused, Release


class ReleaseQueue(Protocol):
    """Clockwork's own queue between poller and deliverer: at least once, and in order for ordered occurrences only.

    Occurrences of one ordering key are handed out in the order of their sends, none while an earlier one is in flight.
    If a send refuses one of them for now, it takes none of the same key behind that. An ordered release that is sent
    twice within minutes is taken once.
    """

    def send(self, releases: Sequence[Release], now: int, aligned: Aligned | None = None) -> Sequence[Refused]:
        """Send each release, delayed by the time left until its `run_at` (whole seconds, rounded down, at most 900).

        It is rounded up where the release comes late by no more than the queue's tolerance.
        `aligned`: the delays of all first tries count from its instant, however long these take, and end its margin
        before `run_at`. A repeat counts from the clock.
        Returns the releases that were not taken, after the adapter's own bounded retries; never raises Unavailable.
        """


class PoolMessage(msgspec.Struct, frozen=True):
    """A ticket of one client to be sent to a queue of a pool, delayed until `run_at` (ms)."""

    pool: str
    queue: str
    body: str
    run_at: int
    client_id: str


class PoolQueues(Protocol):
    """The queues of pools, two for each priority of each pool. Workers receive from them, at least once.

    A priority names its queue, and its overflow queue has a name that is made of it (`overflow_of`).
    """

    def send(self, messages: Sequence[PoolMessage], now: int) -> Sequence[Refused]:
        """Send each message, delayed as releases are. Returns the refused ones; never raises Unavailable.

        A message for a queue that the deployment does not have is refused permanently.
        """

    def delete(self, pool: str, queue: str, receipts: Sequence[str]) -> None:
        """Delete messages that a worker has received. A deleted message stays deleted. Raises Unavailable.

        A text that is no receipt of the queue changes nothing, or raises Unavailable.
        """

    def hold(self, pool: str, queue: str, receipts: Sequence[str], seconds: int) -> Sequence[bool | None]:
        """Hold messages that a worker has received, for `seconds` from now. Returns for each whether it was in flight.

        None: the queue did not tell about this one. A message that was deleted or is visible again is not in flight,
        and stays unchanged; nor is a text that is no receipt. A message that another worker has received meanwhile may
        count as in flight. Raises Unavailable.
        """

    def waiting(self, pool: str) -> Mapping[str, Tickets]:
        """The number of tickets that no worker has received, by queue. Raises Unavailable."""


class TicketKeys(Protocol):
    """The keys under which tickets are sealed: random values of the deployment. The first one seals, all open."""

    def get(self) -> Sequence[str]:
        """The keys, as old as the adapter's stated cache time; empty until one is made."""

    def make(self, key: str) -> None:
        """Keep this key, unless there is one."""


class Visibility(Protocol):
    """The visibility of messages of the ordered queue that a deliverer has received and not yet acknowledged."""

    def hide(self, receipts: Sequence[str], seconds: int) -> None:
        """Hide messages for `seconds` from now (0 to 43,200). The queue then hands them out again, in their order.

        A message that is not in flight any more stays unchanged.
        """


class Backlog(Protocol):
    """The backlog: due messages that the deliverers have not kept up with."""

    def waiting(self) -> int:
        """The approximate number of messages, visible or in flight, in the fullest release queue.

        Messages that are still delayed do not count. Nor do ordered ones, which wait for each other.
        """


class Notices(Protocol):
    """Notices to clients, sent to queues of their own."""

    def send(self, queue_arn: str, execution: Execution) -> None:
        """Send one message about an execution that became DEAD. Raises Unavailable if the queue did not take it."""


class DeadLetter(msgspec.Struct, frozen=True):
    """A message that was received too often. `DeadLetters.delete` takes its `receipt`."""

    receipt: str
    body: str


class DeadLetters(Protocol):
    """The release queue's dead-letter queue."""

    def receive(self) -> Sequence[DeadLetter]:
        """Some of its messages, hidden from other readers for a while; empty if there are none to be had now."""

    def delete(self, receipt: str) -> None:
        """Delete a message that was received."""

    def beside(self) -> int:
        """About how many messages lie in dead-letter queues that nobody sweeps: a person has to look at those."""
