"""One run: a script of operations, an adversary, a cloud; everything follows from the seed."""

from __future__ import annotations

import random
import traceback
from collections import Counter
from dataclasses import dataclass, field

from clockwork.domain.codec import FORMAT
from clockwork.domain.keys import plain_partitions, row_key
from clockwork.domain.timeline import Row
from clockwork.memory.clock import MemoryClock
from clockwork.settings import Settings
from tests.simulation.clients import OPERATIONS, WEIGHTS, Desk, Step
from tests.simulation.cloud import Cloud
from tests.simulation.faults import CALM, PROFILES, Adversary, Fault
from tests.simulation.history import History
from tests.simulation.requests import CLIENTS
from tests.simulation.scheduler import Actor, Livelock, Scheduler
from tests.simulation.stores import Stores
from tests.simulation.verdict import check_calm, check_end, is_drained
from tests.simulation.watcher import Violation, Watcher

BEGAN_AT = 1_700_000_000_000
OPERATIONS_PER_RUN = 200
#: The clients are busy for so long (ms); then faults stop, and all must have drained within the bound.
BUSY_MS = 1_500_000
DRAIN_BOUND_MS = 5_400_000
SLICE_MS = 120_000


@dataclass
class Result:
    """What came of a run."""

    seed: int
    profile: str
    operations: int
    delivered: int
    faults: Counter[Fault]
    outcomes: Counter[tuple[str, str]]
    violations: list[Violation]
    history: History
    drained_after_ms: int = 0
    lateness_ms: list[int] = field(default_factory=list)


class Run:
    """Everything of one seed. `operations` and `faults` cut it short, which is how a failure is made smaller."""

    def __init__(self, seed: int, operations: int = OPERATIONS_PER_RUN, faults: int | None = None) -> None:
        self.seed = seed
        self.rng = random.Random(seed)
        self.clock = MemoryClock(BEGAN_AT)
        self.scheduler = Scheduler(self.clock, random.Random(seed ^ 0x5EED))
        self.scheduler.unexpected = self._unexpected
        self.history = History(BEGAN_AT)
        self.profile = PROFILES[seed % len(PROFILES)]
        self.settings = _settings(self.rng)
        script = _script(self.rng)
        self.script = script[:operations]
        self.adversary = Adversary(random.Random(seed ^ 0xBAD), self.profile, faults)
        self.watcher = Watcher(self.scheduler, self.settings)
        self.stores = Stores(self.clock, self.settings, self.adversary, self.watcher)
        for client in CLIENTS:
            self.stores.clients.put(client)
        self.cloud = Cloud(self.scheduler, self.adversary, self.watcher, self.stores, self.settings, self.history)
        self.desk = Desk(self.cloud, self.watcher, BEGAN_AT + self.rng.randrange(100_000, BUSY_MS))
        self._garbage: set[str] = set()

    def go(self) -> Result:
        """Carry it out."""
        for step in self.script:
            self.scheduler.after(step.at, lambda step=step: self.desk.carry_out(step))  # type: ignore[misc]
        self._plan_incidents()
        self.cloud.start_rules()
        try:
            self._run_all()
        except Livelock as error:
            self.watcher.violated("L1", str(error))
        self.scheduler.close()
        return self._result(self.scheduler.now - BEGAN_AT - BUSY_MS)

    def _run_all(self) -> None:
        self.scheduler.run(BEGAN_AT + BUSY_MS)
        self.adversary.stop()
        stopped_at = self.scheduler.now
        while not self.scheduler.stopped and self.scheduler.now < stopped_at + DRAIN_BOUND_MS:
            if is_drained(self.cloud, self.watcher, self._garbage):
                break
            self.scheduler.run(self.scheduler.now + SLICE_MS)
        if not self.watcher.violations:
            check_end(self.cloud, self.watcher, self._garbage)
        if self.profile is CALM and not self.watcher.violations:
            check_calm(self.watcher)

    def _result(self, drained_after_ms: int) -> Result:
        seen = self.watcher.seen.values()
        return Result(
            seed=self.seed,
            profile=self.profile.name,
            operations=len(self.script),
            delivered=sum(s.accepted > 0 for s in seen),
            faults=self.adversary.counts,
            outcomes=self.desk.outcomes,
            violations=self.watcher.violations,
            history=self.history,
            drained_after_ms=drained_after_ms,
            lateness_ms=[s.first_lateness_ms for s in seen if s.first_lateness_ms is not None],
        )

    def _unexpected(self, actor: Actor, error: Exception) -> None:
        trail = "".join(traceback.format_exception(error)[-3:])
        self.watcher.violated("Unexpected", f"{actor.name}: {error!r}\n{trail}")

    # What happens beside the clients' doing.

    def _plan_incidents(self) -> None:
        for at in range(300_000, BUSY_MS + DRAIN_BOUND_MS, 300_000):
            self.scheduler.after(at, self.cloud.expire)
        self.scheduler.after(self.rng.randrange(BUSY_MS), self._deploy)
        for incident in (self._garbage_row, self._newer_row, self._garbage_message):
            if self.rng.random() < self.profile.rows:
                self.scheduler.after(self.rng.randrange(BUSY_MS), incident)

    def _deploy(self) -> None:
        shards = self.settings.shards + self.rng.randrange(3)
        lookahead = self.rng.choice((240, 840))
        self.cloud.deploy(self.settings.with_(shards=shards, lookahead_seconds=lookahead))

    def _strange_row(self, blob: bytes) -> Row:
        partition_id = self.rng.choice(plain_partitions(self.settings.shards))
        due_at = self.scheduler.now + 900_000
        return Row(partition_id, row_key(due_at, "strange"), blob, due_at + 10**7)

    def _garbage_row(self) -> None:
        if self.adversary.strikes(Fault.GARBAGE_ROW, 1.0):
            self.stores.timeline.put([self._strange_row(bytes([FORMAT]) + b"\xff\xff")])

    def _newer_row(self) -> None:
        """A row of a newer version stops its shard until that version is deployed, which here makes it readable."""
        if self.adversary.strikes(Fault.NEWER_ROW, 1.0):
            row = self._strange_row(bytes([FORMAT + 1]) + b"from the future")
            readable = Row(row.partition_id, row.key, bytes([FORMAT]) + b"\xff", row.expires_at)
            self.stores.timeline.put([row])
            self.scheduler.after(900_000, lambda: self.stores.timeline.put([readable]))

    def _garbage_message(self) -> None:
        if self.adversary.strikes(Fault.GARBAGE_MESSAGE, 1.0):
            self._garbage.add(self.stores.releases.put_garbage(self.rng.choice(("garbage!", "AgAA", ""))))


def _settings(rng: random.Random) -> Settings:
    deliverer_timeout = rng.choice((60, 60, 200))
    return Settings.for_account().with_(
        shards=rng.randint(2, 4),
        lookahead_seconds=rng.choice((240, 240, 840)),
        commit_occurrences=rng.choice((2, 7, 500)),
        max_receive_count=rng.choice((2, 4, 100)),
        deliverer_timeout_seconds=deliverer_timeout,
        visibility_seconds=2 * deliverer_timeout,
        row_retention_seconds=4_000,
        idempotency_seconds=900,
    )


def _script(rng: random.Random) -> list[Step]:
    names = list(OPERATIONS)
    weights = [WEIGHTS[name] for name in names]
    at = 0
    steps = []
    for _ in range(OPERATIONS_PER_RUN):
        at += int(rng.expovariate(OPERATIONS_PER_RUN / (BUSY_MS * 0.8))) if rng.random() < 0.7 else 0
        steps.append(
            Step(min(at, BUSY_MS - 1), rng.choices(names, weights)[0], rng.choice(CLIENTS), rng.getrandbits(64))
        )
    return steps
