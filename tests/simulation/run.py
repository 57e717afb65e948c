"""One run: a script of operations, an adversary, and incidents, all drawn from the seed."""

from __future__ import annotations

import random
from collections import Counter
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial

from clockwork.domain import keys
from clockwork.domain.errors import NewerFormat
from clockwork.domain.keys import instant_of, plain_partitions, row_key
from clockwork.domain.named_jobs import NamedJob, Pointer
from clockwork.domain.releases import Release
from clockwork.domain.requests.quotas import day_of
from clockwork.domain.storage.codec import FORMAT
from clockwork.domain.timeline import Row
from clockwork.flows.requests.read import MOST_READ
from clockwork.memory.jobs import MemoryJobs
from clockwork.settings import Settings
from tests.simulation.accounting import check_accounted
from tests.simulation.clients import Step
from tests.simulation.damage import damage, damage_client, damage_parked_rows, lose_parked_record
from tests.simulation.decisions import raising
from tests.simulation.defects import DEFECTIVE, Defects
from tests.simulation.faults import CALM, CURIOUS, DEFECTS, PROFILES, SHORT_LIVES, Adversary, Fault, Profile
from tests.simulation.fleet import POOL, SPEC
from tests.simulation.history import History
from tests.simulation.named_further import hoard
from tests.simulation.operations import ASKED_BY_MESSAGE, OPERATIONS, RARE_OPERATIONS, RARE_WEIGHTS, WEIGHTS
from tests.simulation.outages import BESIDE_DEFECTS, LIMITS, OUTAGES, PLACED_AT, LongOutage, Outage, place_of_seed
from tests.simulation.requests import CLIENTS, DEPARTING, METERED, RETRY_POLICIES
from tests.simulation.retention import LONG_PAUSE_MS, SHORT, SLOW_RETRIES
from tests.simulation.rows import UNDAMAGED, elements_of, every_row
from tests.simulation.running import RUN_OPERATIONS, with_runs
from tests.simulation.small import small_bounds
from tests.simulation.stage import BEGAN_AT, DRAIN_BOUND_MS, Stage
from tests.simulation.stores import LARGEST_PAGE
from tests.simulation.verdict import check_calm, check_lines
from tests.simulation.watcher import Violation
from tests.simulation.zones import ZONES_EVERY, Zones

OPERATIONS_PER_RUN = 200
#: Profiles with sleeping sweepers: their parked rows fill many pages, and their sweepers have little time.
SWEEPING = tuple(profile for profile in PROFILES if profile.name in ("slow sweeps", "sleepy sweeps"))
#: How many jobs the client with a quota has created earlier in the day, and its quota.
CREATED_EARLIER = (METERED.jobs_per_day or 0) - 10, METERED.jobs_per_day or 0
#: In one of this many seeds, a client has a long list of jobs.
HOARDS_EVERY = 9
#: One of so many seeds meets defects in the work of one client, and nothing else that goes wrong.
DEFECTS_EVERY = 25
#: One of so many seeds meets an outage of that client's queue and records besides.
OUTAGE_BESIDE_DEFECTS_EVERY = 12 * DEFECTS_EVERY
#: In every second calm seed so many operations in a row are creates of the client that has a low rate cap. In the other
#: calm seeds they are creates of the client that has both caps.
CREATES_FOR_LINE = {"create paced": 12, "create capped": 40}
#: In one of so many seeds some jobs end by callback; in every second one of these, reports may come unsigned.
COMPLETES_EVERY, COMPLETES_AT = 7, 5
#: In one of so many seeds workers pull some jobs.
PULLS_EVERY = 6
#: One of so many seeds keeps everything for a short time only.
SHORT_LIVES_EVERY = 11
#: In one of so many seeds a client is deleted and made anew, clients change many jobs by one call, and somebody looks
#: at what waits. Of the operations so many are of these, and so many of those are tried by a stranger.
DEPARTS_EVERY, DEPARTS_AT = 7, 4
RARE, STRANGE = 0.3, 0.1
#: In one of so many of these seeds the adversary looks for calls that it has struck seldom, whatever its turn is.
CURIOUS_EVERY = 3
#: Event sources look at their queues this often (ms) in every third seed and where something is out: so what one batch
#: carries is of several clients. Where something is out, batches are full as well.
LOOKS_EVERY_MS = 1_000
#: The rows of one client are damaged so often, where they are, so many at once, and for so long (ms).
DAMAGES, MOST_DAMAGED, DAMAGED_MS = 5, 6, 600_000
#: The clients are busy for this long (ms); then faults stop.
BUSY_MS = 1_500_000


@dataclass
class Result:
    """The result of a run."""

    seed: int
    profile: str
    operations: int
    delivered: int
    faults: Counter[Fault]
    outcomes: Counter[tuple[str, str]]
    violations: list[Violation]
    history: History
    drained_after_ms: int
    lateness_ms: list[int] = field(default_factory=list)


class Run:
    """The run of one seed. `operations` and `faults` cut it short, which makes a failure smaller."""

    def __init__(self, seed: int, operations: int = OPERATIONS_PER_RUN, faults: int | None = None) -> None:
        self.seed = seed
        self.rng = random.Random(seed)
        place = place_of_seed(seed)
        self.profile = profile_of(seed) if place is None else OUTAGES
        self.settings = _settings(self.rng, self.profile, seed)
        if seed % ZONES_EVERY == 2:  # so that the new rules hold for everybody soon after they are deployed
            self.settings = self.settings.with_(poller_timeout_seconds=40, lookahead_seconds=240)
        self.script = _script(self.rng, seed)[:operations]
        if seed % DEPARTS_EVERY == DEPARTS_AT:
            self.script = _with_rare(self.script, random.Random(seed))
        self.script = with_runs(self.script, seed)
        has_both_caps = self.profile is CALM and not seed // len(PROFILES) % 2
        if self.profile is CALM:
            creates = "create capped" if has_both_caps else "create paced"
            self.script = _with_line(self.script, creates, random.Random(seed))
        self.adversary = Adversary(random.Random(~seed), self.profile, faults)
        herd_at = BEGAN_AT + self.rng.randrange(100_000, BUSY_MS)
        page_bytes = 3_000 if self.profile in SWEEPING else self.rng.choice((LARGEST_PAGE, LARGEST_PAGE, 3_000))
        self.has_small_pages = page_bytes < LARGEST_PAGE
        self.stage = Stage(seed, self.settings, self.adversary, herd_at, page_bytes)
        # Who looks once a second is late for slots by more than the second's worth of them that may be used at once.
        if place is not None or (seed % 3 == 1 and not has_both_caps):
            self.stage.cloud.looks_every_ms = LOOKS_EVERY_MS
        self.stage.cloud.fills_batches = place is not None
        if self.profile is SHORT_LIVES:
            self.stage.paused_until = BEGAN_AT + BUSY_MS + LONG_PAUSE_MS
            self.stage.desk.retry_policies = (*RETRY_POLICIES, *SLOW_RETRIES)
            self.adversary.outage = LongOutage(LIMITS, BEGAN_AT, random.Random(seed))
        if self.profile is DEFECTS:
            odd = DEFECTIVE[seed // DEFECTS_EVERY % len(DEFECTIVE)]
            timeline = self.stage.stores.timeline
            self.adversary.defects = Defects(odd, timeline, BEGAN_AT, BUSY_MS, random.Random(seed))
            self.stage.watcher.apart = odd
            self.stage.watcher.is_held_up = lambda occurrence: occurrence.client_id == odd
            # The place of that outage is the first of these clients.
            place = BESIDE_DEFECTS if seed % OUTAGE_BESIDE_DEFECTS_EVERY < DEFECTS_EVERY else None
        if place is not None:
            self.adversary.outage = (
                LongOutage(place, BEGAN_AT, random.Random(seed))
                if place.is_long
                else Outage(place, BEGAN_AT, BUSY_MS, herd_at, random.Random(seed))
            )
            self.stage.watcher.is_held_up = place.holds_up
        self.damages = place is not None and place.is_damaged
        self.stage.desk.some_complete = seed % COMPLETES_EVERY == COMPLETES_AT
        if seed % PULLS_EVERY == 2 and self.profile is not SHORT_LIVES:
            self.stage.desk.some_pull = True
            self.stage.stores.ticket_keys.make("key of the run")
            self.stage.stores.pools.put(POOL, replaces=0)
        self.zones = self.stage.watcher.named.zones
        if seed % ZONES_EVERY == 2:
            self.zones = self.stage.watcher.named.zones = Zones.drawn(random.Random(seed), BEGAN_AT, self.settings)
        self.stage.scheduler.rules = lambda: self.zones.known
        self._remember_earlier_days()

    def go(self) -> Result:
        """Runs the script and returns its result."""
        for step in self.script:
            work = (OPERATIONS | RARE_OPERATIONS | RUN_OPERATIONS)[step.operation]
            self.stage.scheduler.after(step.at, partial(self.stage.desk.carry_out, step, work))
        self._plan_incidents()
        bounds = small_bounds() if self.has_small_pages else nullcontext()
        with bounds, raising(self._spoils) if self.profile is DEFECTS else nullcontext():
            drained_after_ms = self.stage.run(BUSY_MS)
        watcher = self.stage.watcher
        if self.profile in (CALM, DEFECTS, OUTAGES) and not watcher.violations:
            check_calm(watcher)
        if self.profile is CALM and not watcher.violations:
            check_lines(watcher)
        seen = watcher.seen.values()
        return Result(
            seed=self.seed,
            profile=self.profile.name,
            operations=len(self.script),
            delivered=sum(s.accepted > 0 for s in seen),
            faults=self.adversary.counts,
            outcomes=self.stage.desk.outcomes,
            violations=watcher.violations,
            history=self.stage.history,
            drained_after_ms=drained_after_ms,
            lateness_ms=[s.first_lateness_ms for s in seen if s.first_lateness_ms is not None],
        )

    def _spoils(self, decision: str, about: object) -> bool:
        """Whether a decision raises now."""
        scheduler = self.stage.scheduler
        if scheduler.acting is None or not self.adversary.spoils(scheduler.acting.name, about):
            return False
        self.stage.history.add(scheduler.now, scheduler.acting.name, decision, Fault.BAD_DECISION, ())
        return True

    def _remember_earlier_days(self) -> None:
        """Stores what clients did before the run begins."""
        stores = self.stage.stores
        stores.regulation.count_created(METERED.client_id, day_of(BEGAN_AT), *CREATED_EARLIER)
        if self.seed % DEPARTS_EVERY == DEPARTS_AT:
            stores.clients.put(DEPARTING)
            for job in hoard(BEGAN_AT, 5, DEPARTING.client_id):
                MemoryJobs.save(stores.jobs, None, job)
            self._make_unreadable(job)
            until = random.Random(self.seed).randrange(BUSY_MS)
            self.stage.scheduler.after(until, partial(self._make_readable, job))
        if self.seed % HOARDS_EVERY == 0:
            for job in hoard(BEGAN_AT, MOST_READ + 100):
                MemoryJobs.save(stores.jobs, None, job)
            self._make_unreadable(job)

    def _make_unreadable(self, job: NamedJob) -> None:
        """Lets nobody read the row of a job that ended long ago."""
        if self.adversary.strikes(Fault.UNREADABLE_JOB, float(self.profile.calls > 0 or self.damages)):
            error = NewerFormat(f"the job {job.job_key} was written by a newer build")
            self.stage.stores.jobs.unreadable[job.client_id, job.job_key] = error

    def _make_readable(self, job: NamedJob) -> None:
        self.stage.stores.jobs.unreadable.pop((job.client_id, job.job_key), None)

    # Incidents, which happen beside the clients' operations.

    def _plan_incidents(self) -> None:
        scheduler = self.stage.scheduler
        for at in range(300_000, BUSY_MS + DRAIN_BOUND_MS, 300_000):
            scheduler.after(at, self.stage.cloud.expire)
        for at in range(100_000, BUSY_MS, 100_000):
            scheduler.after(at, lambda: check_accounted(self.stage.stores, self.stage.watcher))
        if self.zones.are_drawn:
            scheduler.after(self.zones.changes_at - BEGAN_AT, self._new_zones)
        scheduler.after(self.rng.randrange(BUSY_MS), self._deploy)
        for number in range(DAMAGES if self.damages else 0):
            scheduler.after((number + 1) * BUSY_MS // (DAMAGES + 1), partial(self._damage, number))
        if self.rng.random() < self.profile.rows / 2:
            scheduler.after(self.rng.randrange(BUSY_MS), self._misdeploy)
        for incident in (*[self._lose_record] * 4, self._damage_parked):
            if self.rng.random() < self.profile.rows:
                scheduler.after(self.rng.randrange(BUSY_MS), incident)
        for incident in (
            self._garbage_row,
            self._newer_row,
            self._garbage_message,
            *[self._lost_pointer] * 2,
            self._damage_client,
        ):
            if self.rng.random() < self.profile.rows:
                scheduler.after(self.rng.randrange(BUSY_MS), incident)

    def _damage_client(self) -> None:
        damage_client(self.stage.cloud, self.adversary)

    def _deploy(self) -> None:
        shards = max(1, self.settings.shards + (-1, 1, 2)[self.rng.randrange(3)])
        lookahead = self.rng.choice((240, 840))
        if self.zones.are_drawn:
            lookahead = self.settings.lookahead_seconds  # How far ahead is read says when the new rules hold.
        self.stage.cloud.deploy(self.settings.with_(shards=shards, lookahead_seconds=lookahead))

    def _new_zones(self) -> None:
        """Deploys other rules of a time zone: who begins from now on goes by them."""
        if self.adversary.strikes(Fault.NEW_ZONES, 1.0):
            self.zones.is_changed = True

    def _misdeploy(self) -> None:
        """Deploys another number of ordered shards, for a minute or two."""
        cloud = self.stage.cloud
        right = cloud.settings.ordered_shards
        # Before the first ordered shard exists, any number is right.
        is_first = not any(keys.is_ordered(shard.partition_id) for shard in self.stage.stores.shards.all())
        if not is_first and self.adversary.strikes(Fault.MISDEPLOY, 1.0):
            cloud.deploy(cloud.settings.with_(ordered_shards=right + 1))
            undone_after = self.rng.randrange(60_000, 150_000)
            self.stage.scheduler.after(undone_after, lambda: cloud.deploy(cloud.settings.with_(ordered_shards=right)))

    def _lose_record(self) -> None:
        lose_parked_record(self.stage.stores, self.adversary)

    def _damage_parked(self) -> None:
        damage_parked_rows(self.stage.stores, self.adversary, self.stage.scheduler.now)

    def _strange_row(self, blob: bytes) -> Row:
        partition_id = self.rng.choice(plain_partitions(self.settings.shards))
        due_at = self.stage.scheduler.now + 900_000
        return Row(partition_id, row_key(due_at, "strange"), blob, due_at + 10**7)

    def _garbage_row(self) -> None:
        if self.adversary.strikes(Fault.GARBAGE_ROW, 1.0):
            self.stage.stores.timeline.put([self._strange_row(bytes([FORMAT]) + b"\xff\xff")])

    def _newer_row(self) -> None:
        """Puts a row of a newer version: its shard stops until that version is deployed; here the row is rewritten."""
        if self.adversary.strikes(Fault.NEWER_ROW, 1.0):
            timeline = self.stage.stores.timeline
            row = self._strange_row(bytes([FORMAT + 1]) + b"from the future")
            readable = Row(row.partition_id, row.key, bytes([FORMAT]) + b"\xff", row.expires_at)
            timeline.put([row])
            self.stage.scheduler.after(900_000, lambda: timeline.put([readable]))

    def _damage(self, number: int) -> None:
        """Lets the rows of one client's next work say for minutes that a newer version wrote them."""
        stores, rng = self.stage.stores, random.Random(self.seed + number)
        rows = [
            row
            for partition_id, shard in stores.shards.get(stores.shards.list()).items()
            for row in every_row(stores.timeline, partition_id, shard.cursor)
            if row.blob not in UNDAMAGED and _is_of(row, PLACED_AT)
        ]
        lives = [life for life in self.stage.watcher.named.lives.values() if life.truths[-1].client_id == PLACED_AT]
        # What many changes at once leave out is judged elsewhere.
        for life in lives[:1] if self.seed % DEPARTS_EVERY != DEPARTS_AT else ():
            job = life.truths[-1]
            self._make_unreadable(job)
            self.stage.scheduler.after(DAMAGED_MS, partial(self._make_readable, job))
        for row in rows[:MOST_DAMAGED]:
            if self.adversary.strikes(Fault.NEWER_ROW, 1.0):
                damage(stores.timeline, row, bytes([rng.randrange(FORMAT + 1, 256)]) + row.blob[1:])
                self.stage.scheduler.after(DAMAGED_MS, partial(damage, stores.timeline, row, row.blob))

    def _garbage_message(self) -> None:
        if self.adversary.strikes(Fault.GARBAGE_MESSAGE, 1.0):
            body = self.rng.choice(("garbage!", "AgAA", ""))
            self.stage.garbage.add(self.stage.stores.queue.put_garbage(body))
            self.stage.garbage.add(self.stage.stores.ordered_queue.put_garbage(body))

    def _lost_pointer(self) -> None:
        """Removes the pointer of a recurring job: within a day the audit or a read repairs its chain."""
        stores, named = self.stage.stores, self.stage.watcher.named
        recurring = [life.truths[-1] for life in named.lives.values() if life.truths[-1].definition.recurrence]
        for job in recurring:
            cursor = stores.shards.get([job.partition_id])[job.partition_id].cursor
            rows = every_row(stores.timeline, job.partition_id, cursor)
            keys = [row.key for row in rows if _points_to(row, job)]
            if keys and self.adversary.strikes(Fault.POINTER_LOST, 1.0):
                stores.timeline.forget(job.partition_id, keys)
                named.cut_at.setdefault(job.job_id, min(map(instant_of, keys)))
                named.cut_rows |= set(keys)
                return


def _is_of(row: Row, client_id: str) -> bool:
    """Whether all that a row holds is of a client."""
    elements = elements_of(row).values()
    return {one.occurrence.client_id if isinstance(one, Release) else one.client_id for one in elements} == {client_id}


def _points_to(row: Row, job: NamedJob) -> bool:
    """Whether the row holds the pointer of the job's chain."""
    return any(isinstance(one, Pointer) and one.series == job.series for one in elements_of(row).values())


def meets_defects(seed: int) -> bool:
    """Whether the run of a seed meets defects, in its calls and decisions, and nothing else."""
    return place_of_seed(seed) is None and profile_of(seed) is DEFECTS


def is_curious(seed: int) -> bool:
    """Whether the adversary strikes most, in the run of a seed, where it was seldom."""
    return place_of_seed(seed) is None and profile_of(seed) is CURIOUS


def profile_of(seed: int) -> Profile:
    """The profile of a seed that meets no outage."""
    if seed % DEFECTS_EVERY == DEFECTS_EVERY - 1:
        return DEFECTS
    if seed % (DEPARTS_EVERY * CURIOUS_EVERY) == DEPARTS_AT:
        return CURIOUS
    return SHORT_LIVES if seed % SHORT_LIVES_EVERY == SHORT_LIVES_EVERY - 3 else PROFILES[seed % len(PROFILES)]


def _settings(rng: random.Random, profile: Profile, seed: int) -> Settings:
    patient = profile.name == "slow puts"  # the longest timeout, so that much may happen within one call
    deliverer_timeout = 200 if patient else rng.choice((60, 60, 200))
    if profile.name == "overruns":  # so short that a sleeper wakes up after its claim, and before its end
        deliverer_timeout = 30
    lives = SHORT if profile is SHORT_LIVES else {"row_retention_seconds": 4_000, "idempotency_seconds": 900}
    return Settings.for_account().with_(
        **lives,
        ordered_shards=1,
        pools=(SPEC,),
        takes_unsigned=seed % COMPLETES_EVERY == COMPLETES_AT and seed // COMPLETES_EVERY % 2 == 1,
        kafka_release_queue_url="of Kafka's deliverer",
        shards=rng.randint(1, 4),
        poller_timeout_seconds=rng.choice((300, 300, 40)),
        sweeper_timeout_seconds=25 if profile in SWEEPING else rng.choice((300, 25)),
        target_timeout_seconds=deliverer_timeout // 2 if deliverer_timeout < 60 else 30,
        lookahead_seconds=840 if patient else rng.choice((240, 240, 840)),
        commit_occurrences=rng.choice((2, 7, 500)),
        max_receive_count=2 if profile.name in ("bad sweeps", "lone sweeps") else rng.choice((2, 4, 100)),
        deliverer_timeout_seconds=deliverer_timeout,
        visibility_seconds=2 * deliverer_timeout,
        ticket_check_seconds=900,
        # Where something is out pollers have to read ahead of it.
        backpressure_messages=rng.choice((2, 40_000)) if profile not in (OUTAGES, DEFECTS) else 40_000,
    )


def _script(rng: random.Random, seed: int) -> list[Step]:
    """Draws the operations of clients; one of them, another in each seed, is tried by a stranger."""
    names = list(OPERATIONS)
    weights = [WEIGHTS[name] for name in names]
    at = 0
    steps = []
    for _ in range(OPERATIONS_PER_RUN):
        at += int(rng.expovariate(OPERATIONS_PER_RUN / (BUSY_MS * 0.8))) if rng.random() < 0.7 else 0
        name = rng.choices(names, weights)[0]
        steps.append(Step(min(at, BUSY_MS - 1), name, rng.choice(CLIENTS), rng.getrandbits(64)))
    asked = [name for name in names if name not in ASKED_BY_MESSAGE]
    place = rng.randrange(OPERATIONS_PER_RUN)
    steps[place] = replace(steps[place], operation=asked[seed % len(asked)], by_stranger=True)
    return steps


def _with_line(script: list[Step], creates: str, rng: random.Random) -> list[Step]:
    """The script with creates of one client that has caps, all within seconds: so its line is long for minutes."""
    first = rng.randrange(len(script) // 2)
    for number, step in enumerate(script[first : first + CREATES_FOR_LINE[creates]]):
        if not step.by_stranger:
            at = script[first].at + 500 * number
            script[first + number] = replace(step, at=at, operation=creates)
    return script


def _with_rare(script: list[Step], rng: random.Random) -> list[Step]:
    """The script with rare operations in place of some others."""
    names = list(RARE_OPERATIONS)
    weights = [RARE_WEIGHTS[name] for name in names]
    steps = list(script)
    for number, step in enumerate(script):
        if rng.random() < RARE and not step.by_stranger:
            is_strange = rng.random() < STRANGE
            steps[number] = replace(step, operation=rng.choices(names, weights)[0], by_stranger=is_strange)
    return steps
