"""Reports of a pool's workers on their attempts, many at a time: heartbeats and outcomes.

A worker tells of an attempt under a token that the api gave to a worker of this pool. Any other text is refused by its
check, before any record is read: a worker would otherwise read the records of clients that do not name the pool.

Each token counts for its own attempt, and one item's fault ends with that item. A record is written first; then the
releases that follow are sent; then permits are renewed or given back; then the worker is answered. A worker without an
answer may repeat, and gets the same answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import msgspec

from clockwork.domain import ids
from clockwork.domain.errors import Unavailable, readable
from clockwork.domain.executions import Execution, Report
from clockwork.domain.ids import InvalidId, is_node
from clockwork.domain.lifecycle.reports import Heartbeat, ReportPlan, plan_heartbeat, plan_report
from clockwork.domain.lifecycle.tokens import InvalidToken, Token, decode_token
from clockwork.domain.pools.pool import Pool
from clockwork.domain.releases import Release
from clockwork.domain.requests.reading import Kind
from clockwork.flows.apart import records_apart
from clockwork.flows.containment import contained
from clockwork.flows.records import MOST_REPLANS
from clockwork.flows.requests.permits import settle_permits
from clockwork.flows.requests.reading import Reading
from clockwork.flows.requests.reporting import Reported
from clockwork.flows.timeline.retries import send_retries
from clockwork.flows.workflows import late
from clockwork.flows.world import World


class Beat(msgspec.Struct, frozen=True):
    """A heartbeat under a token, with how much is done (0 to 1) and some words, where it tells them."""

    token: str
    progress: float | None = None
    message: str | None = None


class Ended(msgspec.Struct, frozen=True):
    """How the attempt of a token ended, as its worker reports it."""

    token: str
    said: Reported


class Taken(msgspec.Struct, frozen=True):
    """The result of one report: the stored record, or the reason why there is none.

    `execution_id` is None if the token is none. With neither flag the report counts.
    """

    execution_id: str | None
    record: Execution | None = None
    is_stale: bool = False
    is_unavailable: bool = False


class _Open(msgspec.Struct):
    """A report that has been read: its token, the record that it speaks of, and its plan.

    `before`: the record that was replaced, once `stored` is saved in its place.
    """

    token: Token
    plan_of: Callable[[Execution | None], ReportPlan]
    stored: Execution | None = None
    plan: ReportPlan | None = None
    before: Execution | None = None
    is_unavailable: bool = False

    @property
    def is_over(self) -> bool:
        """Whether its record was read and changed nothing, since the claim of its token does not stand any more."""
        if self.plan is None or self.plan.execution is not None:
            return False
        return self.plan.is_stale or (self.stored is not None and self.stored.is_final)


def beat_all(world: World, pool: Pool, beats: Sequence[Beat], reading: Reading | None = None) -> list[Taken]:
    """Take the heartbeats of the pool's workers; one answer for each, in the same order.

    Of several under one token the last one tells how far it is, and is answered in the place of all. `reading`: the
    pace of reads, at which each token whose claim does not stand is charged. Raises Unavailable if the keys of tokens
    cannot be read.
    """
    now = world.clock.now()
    last = {beat.token: Heartbeat(now, beat.progress, beat.message) for beat in beats}
    taken = _take(world, pool, list(last), [partial(_plan_beat, said=said) for said in last.values()], reading)
    answers = dict(zip(last, taken, strict=True))
    return [answers[beat.token] for beat in beats]


def report_all(world: World, pool: Pool, ended: Sequence[Ended], reading: Reading | None = None) -> list[Taken]:
    """Take the outcomes of the pool's workers. Returns one answer for each, in the same order.

    Equal reports are one report. Of two different reports under one token the first one counts. `reading`, and what it
    raises: as of `beat_all`.
    """
    now, once = world.clock.now(), list(dict.fromkeys(ended))
    plans = [partial(_plan_end, at=now, said=one.said) for one in once]
    answers = dict(zip(once, _take(world, pool, [one.token for one in once], plans, reading), strict=True))
    return [answers[one] for one in ended]


def token_of_worker(text: str, pool: Pool, keys: Sequence[str]) -> Token | None:
    """The token, which this deployment gave to a worker of the pool; None for any other text."""
    try:
        token = decode_token(text)
        ids.decode_execution(token.execution_id)
    except (InvalidToken, InvalidId):
        return None
    return token if token.is_checked(keys, pool.name) else None


def _plan_beat(token: Token, stored: Execution | None, *, said: Heartbeat) -> ReportPlan:
    return plan_heartbeat(stored, token, said)


def _plan_end(token: Token, stored: Execution | None, *, at: int, said: Reported) -> ReportPlan:
    return plan_report(stored, token, Report(token.claimant, at=at, **msgspec.structs.asdict(said)))


def _take(
    world: World,
    pool: Pool,
    texts: Sequence[str],
    plans: Sequence[Callable[[Token, Execution | None], ReportPlan]],
    reading: Reading | None,
) -> list[Taken]:
    keys = world.ticket_keys.get()
    tokens = [token_of_worker(text, pool, keys) for text in texts]
    pairs = enumerate(zip(tokens, plans, strict=True))
    known = {index: _Open(token, partial(plan, token)) for index, (token, plan) in pairs if token is not None}
    if reading is not None:
        for one in known.values():
            one.is_unavailable = not reading.has_room(world, Kind.STALE, one.token.claimant)
    _read(world, [one for one in known.values() if not one.is_unavailable])
    waiting = [one for one in known.values() if not one.is_unavailable]
    for _ in range(MOST_REPLANS + 1):
        waiting = _round(world, waiting)
    for one in waiting:
        one.is_unavailable = True  # Its record keeps changing.
    _send(world, list(known.values()))
    settle_permits(world, [(one.before, one.stored) for one in known.values() if one.before and one.stored])
    if reading is not None:
        for one in known.values():
            if one.is_over:
                reading.charge(Kind.STALE, one.token.claimant)
    return [_taken(known.get(index)) for index in range(len(tokens))]


def _read(world: World, some: Sequence[_Open]) -> None:
    refs = [(ids.decode_execution(one.token.execution_id).job_id, one.token.execution_id) for one in some]
    for one, stored in zip(some, records_apart(world, refs), strict=True):
        with contained(world.environment.faults, partial(_leave, one), one.token.execution_id):
            if isinstance(stored, Unavailable):
                raise stored
            one.stored = readable(stored)


def _leave(one: _Open, _why_not: str) -> None:
    one.is_unavailable = True


def _round(world: World, some: Sequence[_Open]) -> list[_Open]:
    """Plan each and save what the plans ask for, all together; returns those whose records have changed meanwhile."""
    for one in some:
        with contained(world.environment.faults, partial(_leave, one), one.token.execution_id):
            one.plan = one.plan_of(one.stored)
    saving = [(one, one.plan.execution) for one in some if one.plan and one.plan.execution and not one.is_unavailable]
    saves = world.executions.save([(one.stored, after) for one, after in saving]) if saving else ()
    again = []
    for (one, after), saved in zip(saving, saves, strict=True):
        if saved.ok:
            one.before, one.stored = one.stored, after
        elif saved.unavailable is not None:
            one.is_unavailable = True
        else:
            one.stored = saved.actual
            again.append(one)
    return again


def _send(world: World, some: Sequence[_Open]) -> None:
    """Send what follows from the reports that are recorded: the next attempt, or the watch that acts on a failure."""
    following: list[tuple[_Open, Release]] = [
        (one, one.plan.release) for one in some if one.plan and one.plan.release and not one.is_unavailable
    ]
    faults: Mapping[int, str] = send_retries(world, [release for _, release in following]) if following else {}
    for index in faults:
        following[index][0].is_unavailable = True
    # A repeat of an end changes nothing: the call before may have died behind the record of a node.
    repeated = (one for one in some if one.plan and not one.plan.execution and not one.plan.is_stale)
    for one in repeated:
        ended = one.stored
        if ended is not None and ended.is_final and is_node(ended.job_id):
            with contained(world.environment.faults, partial(_leave, one), one.token.execution_id):
                late.nudge(world, [ended])


def _taken(one: _Open | None) -> Taken:
    if one is None:
        return Taken(None, is_stale=True)
    execution_id = one.token.execution_id
    if one.is_unavailable or one.plan is None:
        return Taken(execution_id, is_unavailable=True)
    return Taken(execution_id, one.stored, is_stale=one.plan.is_stale)
