"""The workers of a pool: they receive tickets, claim, send heartbeats and report, well and badly, and some of them lie.

A worker is a process of somebody else's. It dies anywhere, hangs, beats late, reports twice or wrongly, hands back, and
shows tickets again that it has shown before, or that it has made up. It keeps one rule: it starts nothing once its own
count of the lease is over, which it counts from when it sent its request.
"""

from __future__ import annotations

import json
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

import msgspec

from clockwork.domain.errors import NotAllowed, Unavailable
from clockwork.domain.executions import State
from clockwork.domain.ids import only_execution
from clockwork.domain.lifecycle.tokens import Token, claimant_of, decode_token
from clockwork.domain.pools.pool import PRIORITIES, Pool
from clockwork.domain.releases import Delivery, Release
from clockwork.domain.storage.codec import decode_message, encode_release
from clockwork.edge.responses.workers import BeatAnswer
from clockwork.flows.access import Caller
from clockwork.flows.pools.access import worked_by
from clockwork.flows.pools.checkpoints import keep_checkpoint
from clockwork.flows.pools.claim import Asked, Claimed, Start, claim_for
from clockwork.flows.pools.presence import Hands, forget_ended, in_progress, note_beats, note_claims
from clockwork.flows.pools.reports import Beat, Ended, Taken, beat_all, report_all
from clockwork.flows.pools.sharing import Sharing
from clockwork.flows.requests.reading import Reading
from clockwork.flows.requests.reporting import Reported
from clockwork.flows.world import World
from tests.simulation.faults import Adversary, Fault
from tests.simulation.labour import ENDED_WITHIN_MS
from tests.simulation.receivers import DONE, FAULTLESS, SAYS, SOON, Answering, CallApi, Manner, acts
from tests.simulation.scheduler import Actor, Scheduler
from tests.simulation.watcher import CLAIMING, LOOKING_AT_POOL, REPORTING_WORKER, Watcher

NAME: Final = "etl"
HANDLERS: Final = ("work", "toil")
PRINCIPAL: Final = "worker"
POOL: Final = Pool(name=NAME, revision=1, principals=(PRINCIPAL,), handlers=HANDLERS, lease_seconds=60)
#: The names that workers give themselves.
WORKERS: Final = ("one", "two", "three")
HANDED_BACK: Final = Reported(State.HANDED_BACK)
#: The payload of a job whose first attempt is handed back.
HANDS_BACK: Final = b"handback"
#: A call that got no answer is repeated so often at the most.
TRIES = 4
#: Of so many workers that get no answer, or have something to start, one dies of it.
MORTAL = 8
#: Once the faults have stopped, so many first attempts have workers that fall silent.
SILENT = 0.3
#: This share of calls to claim is not waited for: the worker asks again while they may go on.
IMPATIENT = 0.25
#: Of so many calls one is followed by one of a liar.
HONEST = 6
#: This share of the calls comes from a worker that does not receive from overflow queues.
OLD = 0.25
#: A worker tells of so many slots at the most, where nothing says how many it has.
MOST_SLOTS = 4
#: An attempt holds its slot for so long (ms), where workers have so many.
HOLDS_MS = 20_000
#: Behind so many of the starts somebody looks at what the pool holds.
LOOKS = 0.1
#: No tokens: a text, one that names no execution, and one of an execution that there never was.
NO_TOKENS: Final = tuple(
    str(Token(execution_id, 1, "a" * 22)) for execution_id in ("", "none", only_execution("none", 1_700_000_000_000))
)

Call = Callable[[World, Reading], list[Taken]]


class Fleet:
    """All workers of a run. `call_api` runs a call in one of the environments that answer workers."""

    def __init__(self, scheduler: Scheduler, adversary: Adversary, watcher: Watcher, call_api: CallApi) -> None:
        self._scheduler = scheduler
        self._adversary = adversary
        self._watcher = watcher
        self._call_api = call_api
        self._rng = random.Random(adversary.rng.getrandbits(64))
        #: The last checkpoint of each execution that a worker was told is kept: its attempt, and its sequence.
        self._kept: dict[str, tuple[int, int]] = {}
        #: When (ms) it was told so of the first one.
        self._kept_since: dict[str, int] = {}
        #: The tickets that were seen by some worker, which a liar shows again.
        self._seen: list[str] = []
        #: The claimant of each claimId that a worker made.
        self._claimants: set[str] = set()
        #: By claimId: when a worker asked for that claim first (ms).
        self._asked_at: dict[str, int] = {}
        #: From when on nothing goes wrong, as far as a worker that asks has seen (ms).
        self._calm_from: int | None = None
        #: The handlers that the workers have.
        self.handlers: Sequence[str] = HANDLERS
        #: Whether they show each message twice in one call, under two claimIds.
        self.shows_twice = False
        #: After how long (ms) they ask again while their call goes on, where nothing troubles them; None: they do not.
        self.asks_again_after_ms: int | None = None
        #: How many attempts they run at once, all together; None: as many as there are.
        self.slots: int | None = None
        #: Called when a slot is free again.
        self.on_free: Callable[[], None] = lambda: None
        #: By token: the client of an attempt that a worker runs.
        self._held: dict[str, str] = {}
        #: The claimIds without an answer yet.
        self._open: set[str] = set()
        #: Where workers have so many slots: when (ms) attempts of each client began.
        self._began_at: defaultdict[str, list[int]] = defaultdict(list)
        #: The clients of all tickets.
        self._clients: set[str] = set()

    @property
    def _is_troubled(self) -> bool:
        return self._adversary.is_active and self._adversary.profile.targets > 0

    def room(self, most: int) -> int:
        """How many tickets may be received now: so many at the most, and no more than there are free slots."""
        return most if self.slots is None else min(most, self.slots - len(self._held) - len(self._open))

    def take(self, tickets: Sequence[tuple[str, str]]) -> None:
        """One worker has received these tickets, each with its receipt: it hands them in."""
        handlers = self.handlers if not self._is_troubled or self._rng.random() < 0.9 else HANDLERS[:1]
        asked = [Asked(self._claim_id(), text, receipt) for text, receipt in tickets]
        if self.shows_twice or (self._is_troubled and self._rng.randrange(HONEST) == 0):
            asked += [msgspec.structs.replace(one, claim_id=self._claim_id()) for one in asked]
        self._open |= {one.claim_id for one in asked}
        self._seen += [text for text, _ in tickets]
        self._clients |= {_release_in(text).occurrence.client_id for text, _ in tickets}
        if self._is_troubled and self._rng.randrange(HONEST) == 0:
            asked += self._lies()
        self._claim(asked, handlers, TRIES)

    def _claim_id(self) -> str:
        return f"{self._rng.getrandbits(64):022d}"

    def _lies(self) -> list[Asked]:
        """A ticket that was shown before, under another claimId, and one that was altered."""
        old = self._rng.choice(self._seen)
        altered = json.loads(old)
        (carried,) = decode_message(altered["release"])
        sooner = msgspec.structs.replace(carried.occurrence, due_at=carried.occurrence.due_at - 1)
        never = encode_release(msgspec.structs.replace(carried, occurrence=sooner))
        field, value = self._rng.choice((("release", never), ("release", never), ("mac", "0" * 64), ("pool", "other")))
        made_up = json.dumps({**altered, field: value})
        return [Asked(self._claim_id(), old, "no receipt"), Asked("forged" + self._claim_id()[6:], made_up, "none")]

    def _claim(self, asked: Sequence[Asked], handlers: Sequence[str], tries: int) -> None:
        sent_at, claimants = self._scheduler.now, {claimant_of(one.claim_id) for one in asked}
        self._note_asked(asked, sent_at)
        worker_id = self._rng.choice(WORKERS if self.slots is None else WORKERS[:1])
        sharing = self._sharing(worker_id)
        self._claimants |= claimants

        def work(world: World, _: object) -> list[Claimed]:
            assert self._scheduler.acting is not None
            self._scheduler.acting.tokens |= claimants
            deadline_at = world.clock.now() + world.settings.api_timeout_seconds * 1000
            pool = worked_by(world, Caller(PRINCIPAL), NAME)
            claimed = claim_for(world, pool, worker_id, handlers, asked, deadline_at, sharing)
            note_claims(world, pool, claimed)
            return claimed

        has_given_up = False

        def give_up() -> None:
            nonlocal has_given_up
            has_given_up = not actor.ended and tries > 1
            if has_given_up:
                self._claim(asked, handlers, tries - 1)

        def on_end(actor: Actor) -> None:
            if has_given_up:
                return  # Its caller waits no more, and has asked again.
            unanswered = [Claimed(one.claim_id, is_left=True) for one in asked]
            claimed = actor.result if isinstance(actor.result, list) else unanswered
            for one in claimed:
                self._answered(actor, one, sent_at)
            self._open -= {one.claim_id for one in claimed}
            self._scheduler.after(1, self.on_free)
            left = {one.claim_id for one in claimed if one.is_left}
            again = [one for one in asked if one.claim_id in left]
            if again and tries > 1 and not self._dies():
                # It asks again with the same claimIds, soon or when others may have acted.
                after_ms = self._rng.choice((500, 2_000, 30_000))
                self._scheduler.after(after_ms, partial(self._claim, again, handlers, tries - 1))

        actor = self._call_api(CLAIMING, work)
        actor.on_end = on_end
        if (after_ms := self._patience_ms()) is not None:
            self._scheduler.after(after_ms, give_up)

    def _sharing(self, worker_id: str) -> Sharing | None:
        """The slots of a worker, as it tells them. One client may flood them, and some workers tell nothing."""
        if self.slots is not None:
            held = {**dict.fromkeys(sorted(self._clients), 0), **Counter(self._held.values())}
            return Sharing(worker_id, self.slots, held)
        if self._rng.random() < OLD:
            return None
        slots, clients = self._rng.randint(1, MOST_SLOTS), sorted(self._clients)
        by_client = dict.fromkeys(clients, 0)
        if self._adversary.strikes(Fault.POOL_FLOOD, 2 * self._adversary.profile.queue):
            by_client[self._rng.choice(clients)] = slots
        return Sharing(worker_id, slots, by_client)

    def _note_asked(self, asked: Sequence[Asked], sent_at: int) -> None:
        for one in asked:
            self._asked_at.setdefault(one.claim_id, sent_at)
        if self._calm_from is None and self._adversary.is_done:
            self._calm_from = sent_at

    def _patience_ms(self) -> int | None:
        """After how long (ms) a worker asks again though its call may go on; None: it waits for the answer."""
        if self._is_troubled and self._rng.random() < IMPATIENT:
            return self._rng.choice((500, 5_000, 30_000))
        return self.asks_again_after_ms

    def _dies(self) -> bool:
        return self._is_troubled and self._rng.randrange(MORTAL) == 0

    def _answered(self, actor: Actor, claimed: Claimed, sent_at: int) -> None:
        start = claimed.start
        if start is None or self._dies():
            return
        self._held[start.token] = start.release.occurrence.client_id
        forged = claimed.claim_id.startswith("forged")
        self._watcher.require(not forged, "P5", "a ticket that was made up starts something", start.release.job_id)
        # An answer may be late, and a worker may pause before it starts: its own count decides.
        lag_ms = self._rng.randrange(1, 90_000) if self._is_troubled and self._rng.random() < 0.05 else 1
        begin = partial(self._begin, actor, start, sent_at, self._scheduler.now, self._asked_at[claimed.claim_id])
        self._scheduler.after(start.start_in_ms + lag_ms, begin)

    def _begin(self, actor: Actor, start: Start, sent_at: int, answered_at: int, asked_at: int) -> None:
        now, labour, lease_until = self._scheduler.now, self._watcher.labour, sent_at + start.lease_in_ms
        if now >= lease_until:
            return  # Its own count is over.
        delivery = _delivery_of(start)
        about, wanted_at = delivery.job_id, max(start.release.run_at, delivery.occurrence.due_at)
        objection = labour.begins(delivery.execution_id, delivery.attempt, lease_until, now)
        self._watcher.require(objection is None, "P1", str(objection), about)
        objection = labour.early_objection(wanted_at, start.now + now - answered_at)
        self._watcher.require(objection is None, "P6", str(objection), about)
        self._watcher.begun(actor, delivery, start.claimed, asked_at)
        self._goes_on(start, sent_at)
        self._is_shared(delivery, now)
        if self._rng.random() < LOOKS:
            self._look()
        goes_wrong = self._adversary.profile.targets > 0
        manners = (tuple(Manner) if goes_wrong else FAULTLESS) if self._adversary.is_active else SOON
        rng = random.Random(f"{delivery.execution_id} {delivery.attempt} worker")
        token = decode_token(start.token)
        asks = delivery.occurrence.payload.body
        if asks == HANDS_BACK and delivery.attempt == 1:
            self._scheduler.after(5_000, partial(self._report, delivery, token, HANDED_BACK))
            return
        if self.slots is not None:
            self._scheduler.after(HOLDS_MS, partial(self._report, delivery, token, DONE))
            return
        # Its watch is sent with its claim, and may be the last message that is late.
        is_calm = self._calm_from is not None and asked_at >= self._calm_from
        if is_calm and delivery.attempt == 1 and rng.random() < SILENT:
            at_end = partial(self._is_noticed, start, delivery)
            self._scheduler.after(lease_until + ENDED_WITHIN_MS - now, at_end)
            return
        if self._is_troubled and rng.random() < 0.15:
            hands_back_at = rng.randrange(1, 20_000)
            self._scheduler.after(hands_back_at, partial(self._report, delivery, token, HANDED_BACK))
            self._scheduler.after(
                hands_back_at + 5_000, partial(self._report, delivery, token, rng.choice((HANDED_BACK, DONE)))
            )
            return
        manner = rng.choice(manners)
        if asks.startswith(SAYS) and delivery.attempt == 1:
            manner = Manner[asks.removeprefix(SAYS).decode()]
        planned = acts(manner, rng, POOL.lease_seconds * 1000)
        if self._is_troubled and rng.random() < 0.15:
            del planned[1:]  # It dies behind its first sign of life, which may be its report.
        for after_ms, said in planned:
            act = partial(self._beat, delivery, token) if said is None else partial(self._report, delivery, token, said)
            self._scheduler.after(after_ms, act)

    def _is_noticed(self, start: Start, delivery: Delivery) -> None:
        """Requires that the end of a silent worker's claim was found: nothing goes wrong any more."""
        if delivery.occurrence.client_id == self._watcher.apart:
            return  # Its decisions may raise still.
        stored = self._watcher.executions.find(delivery.job_id, delivery.execution_id)
        objection = self._watcher.labour.silence_objection(start.claimed, stored)
        self._watcher.require(objection is None, "P4", str(objection), delivery.job_id)

    def _is_shared(self, delivery: Delivery, now: int) -> None:
        """Requires that no client with more attempts got more than half of the slots while this job was due."""
        if self.slots is None:
            return
        client_id, due_at = delivery.occurrence.client_id, delivery.occurrence.due_at
        self._began_at[client_id].append(now)
        for other, began_at in self._began_at.items():
            count = sum(at > due_at for at in began_at)
            is_few = other == client_id or len(began_at) < len(self._began_at[client_id]) or count <= self.slots // 2
            told = f"{count} attempts of {other} began while it was due"
            self._watcher.require(is_few, "P10", told, delivery.job_id)

    def _goes_on(self, start: Start, sent_at: int) -> None:
        """Requires that an attempt goes on from the last checkpoint that an earlier one was told is kept.

        Where nothing had been kept when its claim was sent there is no fence yet: a first value may come behind it.
        """
        found, kept = start.checkpoint, self._kept.get(start.release.execution_id)
        at = (0, 0) if found is None else (found.attempt, found.sequence)
        had_none = self._kept_since.get(start.release.execution_id, sent_at) >= sent_at
        is_last = kept is None or kept[0] >= start.release.attempt or at >= kept or had_none
        self._watcher.require(is_last, "P2", f"it goes on from {at}, and {kept} was kept", start.release.job_id)
        token = decode_token(start.token)
        for sequence in range(1, 3):
            self._scheduler.after(self._rng.randrange(1, 70_000), partial(self._keep, token, sequence))

    def _keep(self, token: Token, sequence: int) -> None:
        def call(world: World, reading: Reading) -> list[Taken]:
            value = b"%d" % token.attempt
            return [keep_checkpoint(world, POOL, str(token), sequence, value, reading)]

        def note(taken: Taken) -> None:
            if not taken.is_stale and not taken.is_unavailable:
                self._kept_since.setdefault(token.execution_id, self._scheduler.now)
                kept = self._kept.get(token.execution_id, (0, 0))
                self._kept[token.execution_id] = max(kept, (token.attempt, sequence))

        self._tell(token, call, tries=1, note=note)

    def _beat(self, delivery: Delivery, token: Token) -> None:
        sent_at, told = self._scheduler.now, list[int]()

        def call(world: World, reading: Reading) -> list[Taken]:
            (taken,) = beat_all(world, POOL, [Beat(str(token), 0.5)], reading)
            note_beats(world, POOL, [taken])
            told.append(BeatAnswer.of(taken, world.clock.now()).lease_in_ms or 0)
            if taken.record is not None and not taken.is_stale and taken.record.cancel_noted_at is not None:
                stopped = Reported(State.CANCELLED)
                self._scheduler.after(1_000, partial(self._report, delivery, token, stopped))
            return [taken]

        def note(_: Taken) -> None:
            if told[-1]:
                self._watcher.labour.renewed(delivery.execution_id, delivery.attempt, sent_at + told[-1])

        self._tell(token, call, tries=1, note=note)

    def _report(self, delivery: Delivery, token: Token, said: Reported) -> None:
        if said.state is State.SUCCEEDED:
            self._watcher.succeeded(delivery)
            self._watcher.accepted(delivery)
        sent_at, labour = self._scheduler.now, self._watcher.labour
        if self._held.pop(str(token), None) is not None:
            self._scheduler.after(1, self.on_free)
        labour.give_back(delivery.execution_id, delivery.attempt)

        def note(taken: Taken) -> None:
            if not taken.is_stale and not taken.is_unavailable:
                objection = labour.outcome_objection(delivery.execution_id, taken.record, said.state, sent_at)
                self._watcher.require(objection is None, "P7", str(objection), delivery.job_id)

        def call(world: World, reading: Reading) -> list[Taken]:
            taken = report_all(world, POOL, [Ended(str(token), said)], reading)
            forget_ended(world, POOL, taken)
            return taken

        self._tell(token, call, tries=TRIES, note=note)

    def _look(self) -> None:
        """A worker asks what the pool holds. A stranger asks, and sends texts that are no token, in vain."""
        stranger = Caller(f"{PRINCIPAL}'s neighbour")

        def work(world: World, _: object) -> Hands:
            taken = [keep_checkpoint(world, POOL, text, 1, b"1") for text in NO_TOKENS]
            taken += beat_all(world, POOL, [Beat(text) for text in NO_TOKENS])
            taken += report_all(world, POOL, [Ended(text, DONE) for text in NO_TOKENS])
            counts = [one for one in taken if not (one.is_stale or one.is_unavailable)]
            self._watcher.require(not counts, "P5", f"what is no token counts: {counts}")
            try:
                worked_by(world, stranger, NAME)
                self._watcher.violated("I9", "a principal works for a pool that does not list it")
            except NotAllowed:
                pass
            return in_progress(world, worked_by(world, Caller(PRINCIPAL), NAME))

        def on_end(actor: Actor) -> None:
            if isinstance(actor.result, Hands):
                self._is_told(actor.result)

        self._call_api(LOOKING_AT_POOL, work).on_end = on_end

    def _is_told(self, hands: Hands) -> None:
        """Requires that what is told of the pool is the work of its workers alone."""
        strange = {one.worker_id for one in hands.workers} | {*hands.running_of}
        self._watcher.require(strange <= {*WORKERS}, "P9", f"workers are told of that there are not: {strange}")
        for one in hands.running:
            is_ours = one.state is State.RUNNING and one.claimant in self._claimants
            self._watcher.require(is_ours, "P9", f"{one.state} of {one.claimant} is in no worker's hand", one.job_id)

    def _tell(self, token: Token, call: Call, tries: int, note: Callable[[Taken], None] = lambda _: None) -> None:
        def work(world: World, environment: Answering) -> list[Taken]:
            assert self._scheduler.acting is not None
            self._scheduler.acting.tokens.add(token.claimant)
            reading = environment.intake.reading
            reading.begin(world)
            try:
                return call(world, reading)
            finally:
                reading.settle(world)

        def on_end(actor: Actor) -> None:
            answers = actor.result if isinstance(actor.result, list) else []
            for one in answers:
                note(one)
            is_open = actor.killed or isinstance(actor.error, Unavailable) or any(one.is_unavailable for one in answers)
            if tries > 1 and is_open:
                self._scheduler.after(2_000, partial(self._tell, token, call, tries - 1))

        self._call_api(REPORTING_WORKER, work).on_end = on_end


def _release_in(ticket: str) -> Release:
    (release,) = decode_message(json.loads(ticket)["release"])
    return release


def _delivery_of(start: Start) -> Delivery:
    awaited, release = start.claimed.awaited, start.release
    assert awaited is not None, "a worker's claim is awaited"
    return Delivery(
        release.execution_id, release.job_id, release.attempt, release.occurrence, awaited.deadline_at, start.token
    )


#: The priorities of the pool, each with a queue.
SPEC: Final = f"{NAME}={','.join(PRIORITIES)}"
