"""The ports as one actor sees them: the shared stores behind its gate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

import msgspec

from clockwork import ports
from clockwork.domain.clients import Client, ClientUnreadable
from clockwork.domain.errors import NewerFormat, Unavailable, Unreadable
from clockwork.domain.executions import WAITING, Execution
from clockwork.domain.lifecycle.tokens import claimant_of
from clockwork.domain.messages.alignment import Aligned
from clockwork.domain.named_jobs import Turnstile
from clockwork.domain.pools.checkpoint import Checkpoint
from clockwork.domain.pools.pool import Pool
from clockwork.domain.releases import Release
from clockwork.domain.requests.operations import Open, Operation
from clockwork.domain.timeline import Page, Row
from clockwork.memory.clock import SeededRandom
from tests.simulation.faults import OF_READ, OF_READ_OF_RECORDS, OF_WRITE_ONCE
from tests.simulation.gate import Gate, Newer, NoAnswer
from tests.simulation.scheduler import Actor, Scheduler

R = TypeVar("R")
#: Calls that change nothing. Every other call counts as a write, which more faults may strike.
READS = frozenset(
    {
        *("list", "all", "get", "find", "read", "scan", "of_principal", "receive", "dead", "parked", "circuits"),
        *("retrying", "between", "indexed", "overflow", "admins", "open", "open_of"),
    }
)


class GatedPort:
    """Any port whose calls each do one thing."""

    def __init__(self, name: str, inner: Any, gate: Gate) -> None:
        self._name = name
        self._inner = inner
        self._gate = gate

    def __getattr__(self, method: str) -> Callable[..., Any]:
        inner = getattr(self._inner, method)
        through = self._gate.read if method in READS else self._gate.write
        call = f"{self._name}.{method}"

        def gated(*args: Any, **named: Any) -> Any:
            return through(call, partial(inner, *args, **named), *args)

        self.__dict__[method] = gated
        return gated


#: No sleeper wakes up so much too late (ms).
LATEST_WAKE_MS = 9


class SkewedClock:
    """`ports.Clock` of one machine. Reading it is not a call, so no other actor acts meanwhile."""

    def __init__(self, actor: Actor, scheduler: Scheduler, skew_ms: int) -> None:
        self._actor = actor
        self._scheduler = scheduler
        self._skew_ms = skew_ms

    def now(self) -> int:
        return self._scheduler.now + self._skew_ms

    def hold_until(self, at: int) -> None:
        while (left := at - self.now()) > 0:
            # A sleeper wakes up some milliseconds late, as many as its sleep happens to give.
            self._actor.pause(left + left % LATEST_WAKE_MS)


class NotedRandom:
    """`ports.Random` from the seed; notes which actor drew which token."""

    def __init__(self, random: SeededRandom, actor: Actor) -> None:
        self._tokens = actor.tokens
        self._random = random
        self.below = random.below
        self.fraction = random.fraction

    def token(self) -> str:
        token = self._random.token()
        self._tokens |= {token, claimant_of(token)}
        return token


class GatedTimeline(GatedPort):
    """`ports.Timeline`: puts and finds take several rows, each stored on its own."""

    def __init__(self, inner: ports.Timeline, gate: Gate) -> None:
        super().__init__("timeline", inner, gate)
        self._inner: ports.Timeline = inner

    def put(self, rows: Sequence[Row]) -> None:
        def effect(some: Sequence[Row]) -> Sequence[None]:
            self._inner.put(some)
            return [None] * len(some)

        _require(self._gate.each("timeline.put", rows, effect, rows, kinds=OF_WRITE_ONCE))

    def put_new(self, rows: Sequence[Row]) -> None:
        def effect(some: Sequence[Row]) -> Sequence[None]:
            self._inner.put_new(some)
            return [None] * len(some)

        _require(self._gate.each("timeline.put_new", rows, effect, rows))

    def find(self, row_refs: Sequence[tuple[str, str]]) -> Sequence[Row | None]:
        return _require(self._gate.each("timeline.find", row_refs, self._inner.find, row_refs, kinds=OF_READ))

    def read(self, partition_id: str, after: str, until: str, limit: int) -> Page:
        effect = partial(self._inner.read, partition_id, after, until, limit)
        page = self._gate.read("timeline.read", effect, partition_id, after, until)
        self._gate.actor.rows |= {(row.partition_id, row.key, row.blob) for row in page.rows}
        return page

    def cancel(self, partition_id: str, key: str, element: int) -> bool:
        effect = partial(self._inner.cancel, partition_id, key, element)
        return self._gate.write("timeline.cancel", effect, f"{partition_id}/{key}")


class GatedExecutions(GatedPort):
    """`ports.Executions`: saves take several records, and report the unanswered ones one by one."""

    def __init__(self, inner: ports.Executions, gate: Gate) -> None:
        super().__init__("executions", inner, gate)
        self._inner: ports.Executions = inner

    def save(self, changes: Sequence[tuple[Execution | None, Execution]]) -> Sequence[ports.Saved]:
        wanted = [after for _, after in changes]
        answers = self._gate.each("executions.save", changes, self._inner.save, wanted, overtake=self._overtake)
        return [ports.Saved(ok=False, unavailable="no answer") if isinstance(a, NoAnswer) else a for a in answers]

    def _overtake(self, change: tuple[Execution | None, Execution]) -> None:
        """Renews a record that waits, as whoever has a copy of its message may do."""
        after = change[1]
        stored = self._inner.find(after.job_id, after.execution_id)
        if stored is not None and stored.state in WAITING:
            self._inner.save([(stored, stored.changed())])

    def get(self, execution_refs: Sequence[tuple[str, str]]) -> Sequence[Execution | Unreadable | None]:
        answers = self._gate.each(
            "executions.get", execution_refs, self._inner.get, execution_refs, kinds=OF_READ_OF_RECORDS
        )
        return _require([NewerFormat("written by a newer build") if isinstance(a, Newer) else a for a in answers])

    def find(self, job_id: str, execution_id: str) -> Execution | None:
        return self._gate.read("executions.find", partial(self._inner.find, job_id, execution_id), job_id)

    def list(self, job_id: str, limit: int, before: str | None) -> Sequence[Execution]:
        return self._gate.read("executions.list", partial(self._inner.list, job_id, limit, before), job_id)


class GatedReleases(GatedPort):
    """`ports.ReleaseQueue`: sends take several messages, and report the refused ones one by one."""

    def __init__(self, inner: ports.ReleaseQueue, gate: Gate) -> None:
        super().__init__("releases", inner, gate)
        self._inner: ports.ReleaseQueue = inner

    def send(self, releases: Sequence[Release], now: int, aligned: Aligned | None = None) -> Sequence[ports.Refused]:
        refused: list[ports.Refused] = []
        for send, is_ordered in ((self._send_each, False), (self._send_all, True)):
            indexes = [i for i, r in enumerate(releases) if (r.occurrence.ordering_key is not None) == is_ordered]
            answers = send([releases[index] for index in indexes], now, aligned) if indexes else ()
            refused += [ports.Refused(indexes[one.index], one.permanent, one.reason) for one in answers]
        return sorted(refused, key=lambda refusal: refusal.index)

    def _send_all(self, releases: Sequence[Release], now: int, aligned: Aligned | None) -> Sequence[ports.Refused]:
        """Sends releases of one ordering key, which fail together: none may be taken behind a refused one."""
        try:
            return self._gate.write("releases.send", partial(self._inner.send, releases, now, aligned), releases)
        except Unavailable as error:
            return [ports.Refused(index, permanent=False, reason=str(error)) for index in range(len(releases))]

    def _send_each(self, releases: Sequence[Release], now: int, aligned: Aligned | None) -> Sequence[ports.Refused]:
        def effect(some: Sequence[Release]) -> Sequence[ports.Refused | None]:
            refused = {r.index: r for r in self._inner.send(some, now, aligned)}
            return [refused.get(index) for index in range(len(some))]

        answers = self._gate.each("releases.send", releases, effect, releases)
        return [self.refusal(index, answer) for index, answer in enumerate(answers) if answer is not None]

    @staticmethod
    def refusal(index: int, answer: ports.Refused | NoAnswer) -> ports.Refused:
        if isinstance(answer, NoAnswer):
            return ports.Refused(index, permanent=False, reason="no answer")
        return ports.Refused(index, answer.permanent, answer.reason)


class GatedClients(GatedPort):
    """`ports.Clients`: of two that put one client at the same time, one comes second."""

    def __init__(self, inner: ports.Clients, gate: Gate) -> None:
        super().__init__("clients", inner, gate)
        self._inner: ports.Clients = inner

    def put(self, client: Client, *, replaces: int | None = None) -> bool:
        def effect(some: Sequence[Client]) -> Sequence[bool]:
            return [self._inner.put(one, replaces=replaces) for one in some]

        overtake = None if replaces is None else self._overtake
        return _require(self._gate.each("clients.put", [client], effect, client, overtake=overtake))[0]

    def _overtake(self, client: Client) -> None:
        try:
            stored = self._inner.get(client.client_id, fresh=True)
        except ClientUnreadable:
            return  # nobody but the repair changes it
        if stored is not None:
            self._inner.put(msgspec.structs.replace(stored, revision=stored.revision + 1))


class GatedPoolQueues(GatedPort):
    """`ports.PoolQueues`: sends take several tickets, and report the refused ones one by one."""

    def __init__(self, inner: ports.PoolQueues, gate: Gate) -> None:
        super().__init__("pool_queues", inner, gate)
        self._inner: ports.PoolQueues = inner

    def send(self, messages: Sequence[ports.PoolMessage], now: int) -> Sequence[ports.Refused]:
        def effect(some: Sequence[ports.PoolMessage]) -> Sequence[ports.Refused | None]:
            refused = {one.index: one for one in self._inner.send(some, now)}
            return [refused.get(index) for index in range(len(some))]

        answers = self._gate.each("pool_queues.send", messages, effect, messages)
        return [GatedReleases.refusal(index, answer) for index, answer in enumerate(answers) if answer is not None]


class GatedPools(GatedPort):
    """`ports.Pools`: of two that put one pool at the same time, one comes second."""

    def __init__(self, inner: ports.Pools, gate: Gate) -> None:
        super().__init__("pools", inner, gate)
        self._inner: ports.Pools = inner

    def put(self, pool: Pool, *, replaces: int) -> bool:
        def effect(some: Sequence[Pool]) -> Sequence[bool]:
            return [self._inner.put(one, replaces=replaces) for one in some]

        return _require(self._gate.each("pools.put", [pool], effect, pool, overtake=self._overtake))[0]

    def _overtake(self, pool: Pool) -> None:
        stored = self._inner.get(pool.name, fresh=True)
        if stored is not None:
            self._inner.put(msgspec.structs.replace(stored, revision=stored.revision + 1), replaces=stored.revision)


class GatedCheckpoints(GatedPort):
    """`ports.Checkpoints`: of two that put one checkpoint at the same time, one comes second."""

    def __init__(self, inner: ports.Checkpoints, gate: Gate) -> None:
        super().__init__("checkpoints", inner, gate)
        self._inner: ports.Checkpoints = inner

    def put(self, before: Checkpoint | None, after: Checkpoint) -> bool:
        def effect(some: Sequence[Checkpoint]) -> Sequence[bool]:
            return [self._inner.put(before, one) for one in some]

        return _require(self._gate.each("checkpoints.put", [after], effect, after, overtake=self._overtake))[0]

    def _overtake(self, after: Checkpoint) -> None:
        stored = self._inner.get(after.execution_id)
        if stored is not None:
            self._inner.put(stored, msgspec.structs.replace(stored, revision=stored.revision + 1))


class GatedTurnstiles(GatedPort):
    """`ports.Turnstiles`: of two that put one turnstile at the same time, one comes second."""

    def __init__(self, inner: ports.Turnstiles, gate: Gate) -> None:
        super().__init__("turnstiles", inner, gate)
        self._inner: ports.Turnstiles = inner

    def put(self, found: object, after: Turnstile) -> bool:
        def effect(some: Sequence[Turnstile]) -> Sequence[bool]:
            return [self._inner.put(found, one) for one in some]

        return _require(self._gate.each("turnstiles.put", [after], effect, after, overtake=self._overtake))[0]

    def _overtake(self, after: Turnstile) -> None:
        stored, found = self._inner.get(after.job_id)
        if stored is not None:
            self._inner.put(found, msgspec.structs.replace(stored, revision=stored.revision + 1))


class GatedOperations(GatedPort):
    """`ports.Operations`: of two that write one record or one list at the same time, one comes second."""

    def __init__(self, inner: ports.Operations, gate: Gate) -> None:
        super().__init__("operations", inner, gate)
        self._inner: ports.Operations = inner

    def find(self, client_id: str, operation_id: str) -> Operation | Unreadable | None:
        def effect(some: Sequence[str]) -> Sequence[Operation | Unreadable | None]:
            return [self._inner.find(client_id, one) for one in some]

        answers = self._gate.each("operations.find", [operation_id], effect, client_id, kinds=OF_READ_OF_RECORDS)
        return _require([NewerFormat("written by a newer build") if isinstance(a, Newer) else a for a in answers])[0]

    def save(self, before: Operation | None, after: Operation) -> bool:
        def effect(some: Sequence[Operation]) -> Sequence[bool]:
            return [self._inner.save(before, one) for one in some]

        return _require(self._gate.each("operations.save", [after], effect, after, overtake=self._overtake))[0]

    def put_open(self, before: Open, after: Open) -> bool:
        def effect(some: Sequence[Open]) -> Sequence[bool]:
            return [self._inner.put_open(before, one) for one in some]

        return _require(self._gate.each("operations.put_open", [after], effect, after, overtake=self._list_nothing))[0]

    def _overtake(self, after: Operation) -> None:
        stored = self._inner.find(after.client_id, after.operation_id)
        if isinstance(stored, Operation):
            self._inner.save(stored, msgspec.structs.replace(stored, revision=stored.revision + 1))

    def _list_nothing(self, after: Open) -> None:
        """Lists an operation that has no record, as an api does that dies before it writes the record."""
        stored = self._inner.open_of(after.client_id)
        since = {**stored.since, f"{len(stored.since)}-nothing": 0}
        self._inner.put_open(stored, msgspec.structs.replace(stored, since=since))


#: Ports of which one call does several things.
OF_THEIR_OWN: dict[str, Callable[[Any, Gate], object]] = {
    "timeline": GatedTimeline,
    "executions": GatedExecutions,
    "releases": GatedReleases,
    "pool_queues": GatedPoolQueues,
    "clients": GatedClients,
    "pools": GatedPools,
    "checkpoints": GatedCheckpoints,
    "turnstiles": GatedTurnstiles,
    "operations": GatedOperations,
}


def gated(name: str, inner: object, gate: Gate) -> Any:
    """The port `name` behind a gate."""
    return OF_THEIR_OWN[name](inner, gate) if name in OF_THEIR_OWN else GatedPort(name, inner, gate)


def _require(answers: Sequence[R | NoAnswer]) -> list[R]:
    known = [answer for answer in answers if not isinstance(answer, NoAnswer)]
    if len(known) < len(answers):
        raise Unavailable(f"{len(answers) - len(known)} of {len(answers)} got no answer")
    return known
