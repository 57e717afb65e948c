"""The bodies of answers about the whole: the caller, clients, shards, the use of a client and upcoming jobs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Self, get_args

from msgspec import Meta

from clockwork.domain import keys
from clockwork.domain.clients import Client
from clockwork.domain.ids import key_of
from clockwork.domain.instants import to_text
from clockwork.domain.limits.circuits import MOST_CIRCUITS, Circuit
from clockwork.domain.requests.activity import Tally
from clockwork.domain.requests.reading import Debt
from clockwork.domain.timeline import Shard, ShardStatus
from clockwork.domain.waits import Cause
from clockwork.edge.http.answer import AnswerBody, Instant, instant, one_of
from clockwork.edge.responses.clients import ShownClient
from clockwork.edge.responses.executions import Waits
from clockwork.edge.responses.targets import ShownJobTarget, shown_job_target
from clockwork.flows.activity.read import Found
from clockwork.flows.requests import upcoming


class WhoAmI(AnswerBody):
    """The caller as Clockwork sees it."""

    principal: Annotated[str, Meta(description="what a client's `principals` would list")]
    admin: Annotated[bool, Meta(description="an admin may act for every client")]
    client_ids: Annotated[list[str], Meta(description="the clients that list the principal")]


class ClientPage(AnswerBody):
    """In no particular order. No `nextToken`: this is the last page."""

    items: list[ShownClient]
    unreadable: Annotated[list[str] | None, Meta(description="clients that this version cannot read")] = None
    next_token: str | None = None


class ShownShard(AnswerBody):
    """A part of the timeline, with the poller that works on it."""

    partition_id: str
    status: Annotated[str, one_of(ShardStatus)]
    ordered: bool
    leased: Annotated[bool, Meta(description="a poller is at work")]
    owner: Annotated[str | None, Meta(description="of the lease, the last one if it is over")] = None
    lease_until: Instant | None = None
    cursor_at: Annotated[Instant | None, Meta(description="all that was due by then is released")] = None
    horizon_at: Annotated[Instant | None, Meta(description="all that is due by then may have been read")] = None
    lag_ms: Annotated[int | None, Meta(description="how far the cursor is behind now")] = None
    last_released: Annotated[int | None, Meta(description="occurrences, by the last visit")] = None
    quarantined: Annotated[
        int, Meta(description="about so many rows were passed, and are tried again by themselves")
    ] = 0

    @classmethod
    def of(cls, shard: Shard, now: int) -> Self:
        """The shard as it is kept."""
        cursor, horizon = _instant_of(shard.cursor), _instant_of(shard.horizon)
        is_polled = shard.status is not ShardStatus.LEFT and cursor is not None
        return cls.like(
            shard,
            status=str(shard.status),
            ordered=keys.is_ordered(shard.partition_id),
            leased=shard.lease_until >= now,
            owner=shard.owner or None,
            lease_until=instant(shard.lease_until or None),
            cursor_at=instant(cursor),
            horizon_at=instant(horizon),
            lag_ms=shard.lag_ms(now) if is_polled else None,
            last_released=shard.released,
        )


def _instant_of(key: str) -> int | None:
    return None if key == keys.BEGINNING else keys.instant_of(key)


class ShardList(AnswerBody):
    """All shards that were ever used, in order."""

    items: list[ShownShard]
    waiting: Annotated[
        int | None,
        Meta(description="due messages in the fullest release queue, if they could be counted"),
    ] = None


class Counted(AnswerBody):
    """How many there are, as far as was counted."""

    count: int
    more: Annotated[bool, Meta(description="there are more than these")]


class OpenCircuit(AnswerBody):
    """A host that fails. Its due occurrences are parked, except for one at a time that tries the host."""

    host: str
    opened_at: Instant
    tried_at: Annotated[Instant, Meta(description="from then on the next occurrence tries it")]

    @classmethod
    def of(cls, circuit: Circuit) -> Self:
        """The circuit as stored."""
        return cls.like(circuit, opened_at=to_text(circuit.opened_at), tried_at=to_text(circuit.probe_at))


class Reads(AnswerBody):
    """The pace of the client's reads, as the environment of the API knows it that answers: each keeps its own share."""

    units_per_second: Annotated[float, Meta(description="read units (4 KB) of this environment")]
    owed: Annotated[float, Meta(description="units that were read and are not paid yet")]
    refused: Annotated[int, Meta(description="requests that this environment has refused; it forgets them in time")]

    @classmethod
    def of(cls, debt: Debt, share: float) -> Self:
        """The debt now."""
        return cls(share, round(debt.units, 1), debt.refused)


class Usage(AnswerBody):
    """A client's work, and the rest of its caps. A cap that it does not have is left out."""

    client_id: str
    paused: bool
    parked: Annotated[Counted, Meta(description="occurrences set aside while it is paused or a target fails")]
    dead: Annotated[Counted, Meta(description="executions that gave up and wait for a redrive or a discard")]
    open_circuits: Annotated[list[OpenCircuit], Meta(description="by host; a hundred at the most")]
    reads: Annotated[Reads, Meta(description="requests that only read")]
    changes: Annotated[Reads, Meta(description="requests that may change something, by what they read in vain")]
    released_until: Annotated[
        Instant | None, Meta(description="all that is due by then, in no order, is released and starts at its instant")
    ] = None
    as_of: Annotated[Instant | None, Meta(description="when that was so")] = None
    max_rate_per_second: float | None = None
    max_concurrency: int | None = None
    creates_per_second: float | None = None
    jobs_per_day: int | None = None
    jobs_left_today: Annotated[
        int | None, Meta(description="UTC; what environments have reserved and not used counts as used")
    ] = None

    @classmethod
    def of(
        cls,
        client: Client,
        parked: Counted,
        dead: Counted,
        circuits: Mapping[str, Circuit],
        created_today: int | None,
        *paces: Reads,
        released: tuple[int | None, int],
    ) -> Self:
        """The usage of a client with these counts. `paces`: of its reads, and of its changes.

        `released`: until when (ms) all is released, as of an instant (ms).
        """
        reads, changes = paces
        most = client.jobs_per_day
        left = None if most is None or created_today is None else max(0, most - created_today)
        return cls.like(
            client,
            parked=parked,
            dead=dead,
            open_circuits=[OpenCircuit.of(circuits[host]) for host in sorted(circuits)[:MOST_CIRCUITS]],
            reads=reads,
            changes=changes,
            jobs_left_today=left,
            released_until=instant(released[0]),
            as_of=instant(released[1] or None),
        )


class UpcomingItem(AnswerBody):
    """Something that is about to start: a job's next fire, or an execution that waits for its next attempt."""

    at: Annotated[Instant, Meta(description="when it is to start")]
    due_at: Instant
    job_id: str
    target: ShownJobTarget
    job_key: str | None = None
    recurs: Annotated[bool, Meta(description="other fires follow; they are not listed")] = False
    execution_id: Annotated[str | None, Meta(description="of an execution that waits")] = None
    attempt: Annotated[int, Meta(description="of an execution that waits")] = 1
    waits_for: Annotated[str | None, one_of(get_args(Cause))] = None

    @classmethod
    def of(cls, item: upcoming.Upcoming, *, is_paused: bool) -> Self:
        """The item as it was read. `is_paused`: its client is, and it is parked when it comes due."""
        waits_for = "pause" if is_paused else item.waits_for
        shown = {"target": shown_job_target(item.target), "job_key": item.job_key or key_of(item.job_id)}
        return cls.like(item, at=instant(item.at), waits_for=waits_for, **shown)


class UpcomingPage(AnswerBody):
    """In the order in which they start, to within a second. With a `nextToken` a page may be short, even empty."""

    items: list[UpcomingItem]
    next_token: str | None = None


class ActivityStep(AnswerBody, kw_only=True):
    """The counts of one step. `failed` counts attempts, each other field executions."""

    at: Annotated[Instant, Meta(description="the begin of the step")]
    started: Annotated[int, Meta(description="whose first attempt was started, or the first after a redrive")]
    succeeded: int
    failed: int
    dead: int
    skipped: int
    expired: int
    cancelled: int
    p50_ms: Annotated[int | None, Meta(description="half of those that started were at most so late")] = None
    p99_ms: Annotated[int | None, Meta(description="99 of 100 were; left out beyond an hour")] = None
    waited: Annotated[Waits | None, Meta(description="the waits of those that started, all together")] = None

    @classmethod
    def of(cls, at: int, tally: Tally) -> Self:
        """The step that begins at `at` (ms)."""
        known = {cause: ms for cause, ms in tally.waited.items() if cause in Waits.__struct_fields__}
        waited = Waits(**known) if known else None
        late = {"p50_ms": tally.late_within(0.5), "p99_ms": tally.late_within(0.99)}
        return cls.like(tally, at=to_text(at), waited=waited, **late)


class Activity(AnswerBody):
    """The counts of all environments. They are approximate. Anonymous jobs and nodes of workflows are in them."""

    client_id: str
    step: Annotated[int, Meta(description="seconds")]
    items: Annotated[list[ActivityStep], Meta(description="the earliest first, without steps that have nothing")]
    complete_from: Annotated[Instant, Meta(description="from then on the counts were read to the end")]
    unreadable: Annotated[int, Meta(description="notes that this version cannot read")] = 0

    @classmethod
    def of(cls, client_id: str, step_seconds: int, found: Found) -> Self:
        """The steps as they were read."""
        items = [ActivityStep.of(at, tally) for at, tally in found.steps.items()]
        return cls(client_id, step_seconds, items, to_text(found.complete_from), found.unreadable)
