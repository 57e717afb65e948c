"""Claim for a worker: the deliverer's own steps with a release, except that the worker starts the attempt.

The worker has received tickets from its pool's queue, and hands them in. For each ticket the flow follows the record:
it sends the watch, writes the claim, looks at the job, and answers `start` or `gone`. Then the flow deletes the
message.

How it fails. If the call dies before the watch, nothing was changed, and the ticket comes back. If it dies between
watch and claim, the watch finds the attempt unclaimed, and the ticket comes back. If it dies behind the claim, the
worker repeats its claimId and gets the same answer, or the watch finds the end of the lease. If it stalls before the
claim until the watch arrives, the watch changes the record, and the claim fails. Without an answer of a store the
ticket is `unavailable` and stays. A ticket that is made up, altered, or of another pool is `gone`, whatever it names.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from functools import partial

import msgspec

from clockwork.domain.executions import Execution, State
from clockwork.domain.ids import NamedJobId, decode_job
from clockwork.domain.jobs import Occurrence
from clockwork.domain.lifecycle.awaiting import Worker
from clockwork.domain.lifecycle.tokens import Token
from clockwork.domain.messages.tickets import InvalidTicket, Ticket, opened
from clockwork.domain.pools.checkpoint import Checkpoint
from clockwork.domain.pools.pool import Pool, overflow_of
from clockwork.domain.releases import Release
from clockwork.domain.storage.codec import decode_ticket
from clockwork.flows.containment import contained
from clockwork.flows.deliver.batch import Batch
from clockwork.flows.deliver.claim import LOST_CLAIM, claim
from clockwork.flows.deliver.concurrency import give_back_all, give_back_permits
from clockwork.flows.deliver.deliver import note_refusal, record_refused, tell_of_deaths
from clockwork.flows.deliver.items import Item, is_still_ours
from clockwork.flows.deliver.start import wanted
from clockwork.flows.outages import tolerated
from clockwork.flows.pools.answers import started_within
from clockwork.flows.pools.checkpoints import last_checkpoint
from clockwork.flows.pools.claimable import claimable
from clockwork.flows.pools.putting_off import Handed, PutOff
from clockwork.flows.pools.sharing import Sharing, note_started
from clockwork.flows.records import Planned, replace
from clockwork.flows.timeline.retries import send_retries
from clockwork.flows.world import World
from clockwork.targets.pool import PoolTarget

log = logging.getLogger(__name__)


class Asked(msgspec.Struct, frozen=True):
    """A ticket that a worker hands in, with the receipt of its message, under a claimId of the worker's own making.

    The claimId becomes the secret of the attempt's token. It has the form of one: 22 characters of base64url.
    """

    claim_id: str
    ticket: str
    receipt: str


class Start(msgspec.Struct, frozen=True):
    """An attempt that a worker starts: release, record with its claim, token, and the instant of the answer (ms)."""

    release: Release
    claimed: Execution
    token: str
    now: int
    #: The last checkpoint of the attempts before it.
    checkpoint: Checkpoint | None = None

    @property
    def target(self) -> PoolTarget:
        """The pool and handler."""
        target = self.release.occurrence.target
        assert isinstance(target, PoolTarget), "a worker starts nothing else"
        return target

    @property
    def start_in_ms(self) -> int:
        """The time (ms) that the worker has to wait from the answer on.

        The api that took a handback may have a slow clock: its instant may lie before the occurrence's.
        """
        return max(0, max(self.release.run_at, self.release.occurrence.due_at) - self.now)

    @property
    def lease_in_ms(self) -> int:
        """For how long (ms) the worker holds it, from when it sent its request."""
        assert self.claimed.claim is not None, "it runs under its worker's claim"
        return max(0, self.claimed.claim.until - self.now)

    @property
    def job_key(self) -> str | None:
        """The key of its job, if that is a named one."""
        job = decode_job(self.release.job_id)
        return job.job_key if isinstance(job, NamedJobId) else None


class Claimed(msgspec.Struct, frozen=True):
    """The result of a ticket. `start` has the attempt to start; without it the ticket is gone, or stays (`is_left`)."""

    claim_id: str
    start: Start | None = None
    is_left: bool = False


class _Held(msgspec.Struct):
    """A received ticket with its item; None if its record cannot be read now.

    Duplicates of a release in a call share the item of the first one, and its result.
    """

    asked: Asked
    ticket: Ticket
    item: Item | None = None
    #: The queue in which its message lies. The item's release may be sent to another one.
    queue: str = ""


def claim_for(
    world: World,
    pool: Pool,
    worker_id: str,
    handlers: Sequence[str],
    asked: Sequence[Asked],
    deadline_at: int,
    sharing: Sharing | None = None,
) -> list[Claimed]:
    """Claim for a worker of the pool what its tickets name; one answer for each, in the same order.

    `handlers`: those that the worker has. `deadline_at` (ms): the end of the invocation. `sharing`: what
    a worker tells that receives from overflow queues, too. Raises Unavailable if the keys of tickets cannot be read.
    """
    waiting = PutOff(world)
    batch = Batch(world, deadline_at, waiting, Worker(pool.name, worker_id, pool.lease_seconds * 1000))
    held = _opened(world, pool, asked)
    # Of the duplicates of a ticket the first one counts.
    first = {index: one for index, one in held.items() if one.item is not None and one.item.message_id == str(index)}
    items = [one.item for one in first.values() if one.item is not None]
    waiting.handed = {
        item.message_id: Handed(one.ticket.pool, one.queue, one.asked.receipt, item.release.attempt)
        for one, item in zip(first.values(), items, strict=True)
    }
    going = claimable(batch, items, handlers, sharing)
    resumed = _resumed(batch, going)
    started = _started(batch, claim(batch, [item for item in going if id(item) in resumed]), resumed)
    _finish(batch, waiting)
    note_started(world, pool.name, sharing, [item for item in items if id(item) in started])
    failed = set(batch.report.failed_messages)
    idle = [one for one in items if id(one) not in started and one.message_id not in failed and not one.is_repeated]
    give_back_permits(batch, idle)
    kept = failed | waiting.staying
    done = [one for one in held.values() if one.item is not None and one.item.message_id not in kept]
    _delete(world, done)
    now = world.clock.now()
    starts = {item.message_id: _start(item, pool, now, started[id(item)]) for item in items if id(item) in started}
    answers = []
    for index, one in enumerate(asked):
        item = held[index].item if index in held else None
        is_left = index in held and (item is None or item.message_id in failed)
        answers.append(Claimed(one.claim_id, None if is_left else starts.get(str(index)), is_left))
    return answers


def _opened(world: World, pool: Pool, asked: Sequence[Asked]) -> dict[int, _Held]:
    """The tickets that count, by their place. The others are gone: they prove nothing, and tell nothing."""
    keys, now = world.ticket_keys.get(), world.clock.now()
    held: dict[int, _Held] = {}
    items: dict[str, Item] = {}
    for index, one in enumerate(asked):
        try:
            ticket = opened(one.ticket, keys, now, pool.name)
        except InvalidTicket as error:
            log.warning("a ticket does not count: %s", error, extra={"action": "invalid_ticket", "pool": pool.name})
            continue
        held[index] = _Held(one, ticket)
        # What a newer version has written stays for that.
        with contained(world.environment.faults, partial(_log_unread, pool.name), pool.name):
            release = decode_ticket(ticket.release)
            item = Item(str(index), release, secret=one.claim_id, check_key=keys[0], sent_at=ticket.sent_at)
            held[index].item = items.setdefault(ticket.release, item)
            held[index].queue = overflow_of(ticket.priority) if release.spilled else ticket.priority
    return held


def _log_unread(pool: str, why_not: str) -> None:
    log.error("undecodable ticket: %s", why_not, extra={"action": "undecodable_message", "pool": pool})


def _resumed(batch: Batch, going: Sequence[Item]) -> dict[int, Checkpoint | None]:
    """The last checkpoint of each item (by identity) that may be claimed, or None. An item without an answer is left.

    It is asked for before the claim: a claim that is not answered uses up an attempt.
    """
    resumed = {id(item): found for item, found in batch.each(going, partial(_last_of, batch.world))}
    left = [item for item in going if id(item) not in resumed]
    give_back_permits(batch, [item for item in left if item.seen is None or item.seen.state is not State.RUNNING])
    return resumed


def _last_of(world: World, item: Item) -> Checkpoint | None:
    """The last checkpoint, which only the attempts behind the first one ask for, and no item that is about to end."""
    release = item.release
    if release.attempt == 1 or item.objection is not None or item.refusal is not None:
        return None
    return last_checkpoint(world, release.execution_id, release.attempt)


def _started(
    batch: Batch, claimed: Sequence[Item], resumed: Mapping[int, Checkpoint | None]
) -> dict[int, Checkpoint | None]:
    """The claimed items (by identity) that their worker is to start: those that are still wanted.

    Each with its last checkpoint.
    """
    going = [claimed[slot] for slot in wanted(batch, claimed, range(len(claimed)))]
    going = [item for item, refused in batch.each(going, partial(note_refusal, batch)) if not refused]
    record_refused(batch)
    kept = [item for item, is_kept in batch.each(going, partial(_keep_whole, batch)) if is_kept]
    return {id(item): resumed[id(item)] for item in started_within(batch, kept, resumed)}


class _Kept(msgspec.Struct, frozen=True):
    """A claim with what is started under it, or None if it is not ours any more."""

    execution: Execution | None


def _keep_whole(batch: Batch, item: Item) -> bool:
    """Keep in the record what its worker is about to start, as a job that was changed gave it more; False: it fails."""
    assert item.seen is not None, "a worker starts nothing that is not recorded"
    whole = item.release.occurrence
    if item.seen.kept.occurrence == whole:
        return True
    plan, item.seen = replace(batch.world, item.seen, partial(_plan_kept, item, whole), item.replans)
    if plan.execution is None:
        batch.fail(item, LOST_CLAIM)
    return plan.execution is not None


def _plan_kept(item: Item, whole: Occurrence, stored: Execution | None) -> Planned:
    if stored is None or not is_still_ours(item, stored):
        return _Kept(None)
    return _Kept(stored.changed(kept=msgspec.structs.replace(stored.kept, occurrence=whole)))


def _finish(batch: Batch, waiting: PutOff) -> None:
    """Give permits back, tell of deaths, and send what follows: only then may messages be deleted."""
    give_back_all(batch)
    tell_of_deaths(batch)
    for item, why_not in waiting.settle():
        batch.fail(item, why_not)
    for index, why_not in send_retries(batch.world, [release for _, release in waiting.following]).items():
        batch.fail(waiting.following[index][0], why_not)


def _delete(world: World, done: Sequence[_Held]) -> None:
    """Delete the messages of tickets that are done. A message that is not deleted comes back, and finds the record."""
    queues: dict[tuple[str, str], list[str]] = {}
    for one in done:
        queues.setdefault((one.ticket.pool, one.queue), []).append(one.asked.receipt)
    for (pool, queue), receipts in queues.items():
        with tolerated(world, log, "tickets not deleted: %s", {"action": "tickets_not_deleted", "pool": pool}):
            world.pool_queues.delete(pool, queue, receipts)


def _start(item: Item, pool: Pool, now: int, checkpoint: Checkpoint | None) -> Start:
    assert item.seen is not None and item.secret is not None, "it was claimed under its secret"
    assert item.check_key is not None, "a ticket opened under a key"
    token = Token(item.release.execution_id, item.release.attempt, item.secret)
    return Start(item.release, item.seen, str(token.checked(item.check_key, pool.name)), now, checkpoint)
