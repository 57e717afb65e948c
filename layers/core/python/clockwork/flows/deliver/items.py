"""Items: the occurrences of one invocation of a deliverer, and the report on them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import msgspec

from clockwork.domain.clients import Pause
from clockwork.domain.executions import Execution
from clockwork.domain.jobs import Occurrence
from clockwork.domain.limits.circuits import Circuit
from clockwork.domain.named.look import Objection
from clockwork.domain.ordering import order_of
from clockwork.domain.releases import Deliver, Release
from clockwork.flows.records import replans
from clockwork.targets.target import StoredTarget


class DeliverReport(msgspec.Struct):
    """Counts of one batch. The messages in `failed_messages` (ids) come back; all others are acknowledged.

    `succeeded`: attempts that their targets have accepted. Attempts that end by callback are reported later.
    `lateness_ms` is the lateness of first attempts, and `waited_ms` has its waits by cause. `own_lateness_ms` is
    Clockwork's own lateness, without the client's limits, pauses, target, order and precision of a second.
    `workers_lost`: attempts whose workers or receivers fell silent. `forced_cancels`: attempts that were ended since
    they went on although a cancel was noted. `ends_told`: events of services that ended an attempt.
    """

    failed_messages: list[str] = []
    lateness_ms: list[int] = []
    own_lateness_ms: list[int] = []
    waited_ms: dict[str, list[int]] = {}
    succeeded: int = 0
    failed: int = 0
    dead: int = 0
    expired: int = 0
    absorbed: int = 0
    deferred: int = 0
    parked: int = 0
    early: int = 0
    workers_lost: int = 0
    forced_cancels: int = 0
    ends_told: int = 0

    def fail_message(self, message_id: str) -> None:
        """Let a message come back, with all occurrences that it carries."""
        if message_id not in self.failed_messages:
            self.failed_messages.append(message_id)


class Received(msgspec.Struct):
    """One release of the batch, of any kind. `seen` is its record as last seen.

    `bundled`: its message carries other items, too. `came_back`: its message was received before. `is_read`: its record
    was read. `left`: it is parked, was sent back, has ended or failed, so that this batch is done with it.
    `is_given_back`: this batch gave its claim back, so no other call sends its release. `replans`: the number of times
    that a change of its record may still be planned again.
    """

    message_id: str
    release: Release
    seen: Execution | None = None
    came_back: bool = False
    bundled: bool = False
    left: bool = False
    is_read: bool = False
    is_given_back: bool = False
    replans: Iterator[int] = msgspec.field(default_factory=replans)


class Item(Received):
    """One occurrence that is to be delivered. `seen` has our claim once the item is started.

    `probes`: if the item is a probe that tests whether its target has recovered, the circuit as saved for this probe.
    `is_started`: its target may have seen it.
    `is_informed`: its job was asked, before the look, whether it still wants the item.
    `came_for`: the target for which it was sent to this queue, if its job has another target by now.
    `refusal`: the reason why its client may not send to its target any more: then no attempt is made.
    `objection`: the reason why it ends undelivered, as its client was deleted.
    `has_cap`: its client chose a concurrency limit.
    `is_repeated`: its worker has repeated the claim, and may run it: see `leave_to_its_watch`.
    `secret`: of its token, under which its receiver calls back. `check_key`: the key of its token's check.
    `whole`: its occurrence by its named job, when that was asked. `pauses`: its client's pauses that had ended by then.
    `permit`: the permit that its worker holds until the attempt ends, leased until `permit_until` (ms).
    """

    release: Deliver
    probes: Circuit | None = None
    is_started: bool = False
    is_repeated: bool = False
    has_cap: bool = False
    refusal: str | None = None
    objection: Objection | None = None
    is_informed: bool = False
    came_for: StoredTarget | None = None
    secret: str | None = None
    check_key: str | None = None
    whole: Occurrence | None = None
    pauses: Sequence[Pause] = ()
    permit: int | None = None
    permit_until: int | None = None
    sent_at: int = 0

    def order_in(self, lanes: Collection[str]) -> str | None:
        """The order in which its message lies, given the lanes of the deliverers that have queues of their own."""
        occurrence = self.release.occurrence
        return order_of(occurrence.ordering_key, (self.came_for or occurrence.target).lane, lanes)


def leave_to_its_watch(item: Item) -> bool:
    """Leave a claimed item unchanged, if no decision against it is safe; False if one is.

    The worker has repeated its claim. An earlier call may have answered `start`, and this call may have stalled since
    before that. No record tells. The worker therefore gets no such answer, and the watch finds the claim if no worker
    runs it.
    """
    if item.is_repeated:
        item.left = True
    return item.is_repeated


def is_still_ours(item: Item, stored: Execution | None) -> bool:
    """Whether the claim that an item was given still stands on the record.

    The claim of a worker must not have changed at all: another call for the same worker may have gone on with it.
    """
    seen = item.seen
    if seen is None or seen.claim is None or stored is None or stored.claim is None:
        return False
    if stored.claim.claimant != seen.claim.claimant:
        return False
    awaited = seen.claim.awaited
    return awaited is None or awaited.pool is None or stored.revision == seen.revision


class LeasedBlock(msgspec.Struct):
    """A block of a client's permits that this invocation holds, and how many deliveries under it have not ended."""

    number: int
    running: int
