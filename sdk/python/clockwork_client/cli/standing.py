"""`clockwork doctor`, second part: the state of the client and the deployment. Each finding says what to do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from itertools import islice
from typing import NamedTuple

from clockwork_client.client import Clockwork
from clockwork_client.errors import ClockworkError, NotAllowed, NotFound, Refused
from clockwork_client.overview import Counted, Shard

#: A shard that is further behind than this is late. Each tick polls every shard and looks minutes ahead, apart from
#: ordered shards, which are polled as their jobs come due.
LATE_SECONDS = 60
#: Messages beyond this wait: deliverers do not keep up. Pollers hold back from 40,000 on.
MANY_WAITING = 1_000
#: The checks of a deployment.
_CHECKS = ("ticks", "lag", "quarantine", "queues")
_ADMINS = "only admins see the shards"


class Finding(NamedTuple):
    """The result of a check, and the remedy if there is a fault."""

    check: str
    is_ok: bool
    found: str
    advice: str = ""

    def row(self) -> list[str]:
        """Its cells in a table."""
        return ["ok" if self.is_ok else "NOT OK", self.check, self.found, self.advice]


def of_client(cw: Clockwork) -> Iterator[Finding]:
    """Whether the caller may act for its client, and whether the client's work is held back."""
    name = cw.client_id
    if name is None:
        own = cw.whoami().client_ids
        if len(own) != 1:
            told = "the caller acts for no client" if not own else f"the caller acts for {', '.join(own)}"
            yield Finding("client", False, told, "name the client: --client or CLOCKWORK_CLIENT_ID")
            return
        (name,) = own
    try:
        client = cw.clients.get(name)
        next(cw.jobs.list(client_id=name, page_size=1), None)
    except (NotAllowed, NotFound) as error:
        advice = f"an admin lists your principal: clockwork client put {name} --principal ARN ... (replaces it whole)"
        yield Finding("client", False, error.detail, advice)
        return
    yield Finding("client", True, f"the caller may act for {name}")
    if client.state != "ACTIVE":
        why = f": {client.reason}" if client.reason else ""
        ends = f"an admin ends it: clockwork client resume {name}"
        advice = ends if client.state == "PAUSED" else "name another client"
        yield Finding("pause", False, f"{name} is {client.state}{why}", advice)
    yield from _held_up(cw, name)
    yield _dead(cw, name)


def _held_up(cw: Clockwork, name: str) -> Iterator[Finding]:
    usage = cw.clients.usage(name)
    count = _counted(usage.parked)
    is_empty = usage.parked.count == 0
    advice = "end the pause, or mend the target: then it goes by itself; clockwork client usage shows open circuits"
    yield Finding("parked", is_empty, f"{count} parked executions" if not is_empty else "no parked executions",
                  "" if is_empty else advice)  # fmt: skip
    for one in usage.open_circuits:
        told = f"{one.host} fails since {one.opened_at:%Y-%m-%d %H:%M} UTC, and is tried from {one.tried_at:%H:%M} on"
        yield Finding("circuit", False, told, "mend the target; the first delivery that succeeds closes the circuit")


def _counted(found: Counted) -> str:
    return f"{found.count} or more" if found.more else str(found.count)


def _dead(cw: Clockwork, name: str) -> Finding:
    pages = cw.dead.list(client_id=name, page_size=100)
    count = sum(1 for _ in islice(pages, 100))
    if count == 0:
        return Finding("dead", True, "no dead executions")
    many = "100 or more" if count == 100 else str(count)
    return Finding("dead", False, f"{many} dead executions", "clockwork dead list, then dead redrive or dead discard")


def of_deployment(cw: Clockwork) -> Iterator[Finding]:
    """Whether the deployment does its work: ticks, lag and queues. Only admins see that."""
    try:
        shards, waiting = cw.shards(), cw.backlog()
    except NotAllowed:
        yield from (Finding(check, True, f"not checked: {_ADMINS}") for check in _CHECKS)
        return
    except (Refused, ClockworkError) as error:
        yield Finding("ticks", False, str(error), "try again; if it stays so, read the api's log")
        return
    used = [one for one in shards if one.status == "used" and not one.ordered]
    yield _ticks(used, datetime.now(timezone.utc))
    yield _lag(used)
    yield _quarantine(shards)
    yield _queues(waiting)


def _ticks(shards: list[Shard], now: datetime) -> Finding:
    advice = "is the ticker's rule enabled, and what does its log say? docs/operations.md, the alarm NoTicks"
    if not shards:
        return Finding("ticks", True, "no shard is used yet: the first job brings them")
    never = [one.partition_id for one in shards if one.horizon_at is None]
    if never:
        return Finding("ticks", False, f"{len(never)} shards were never polled, such as {never[0]}", advice)
    stale, last = max(
        ((now - one.horizon_at).total_seconds(), one.partition_id) for one in shards if one.horizon_at is not None
    )
    if stale > 0:
        return Finding("ticks", False, f"{last} is looked at no further than {stale:.0f} s ago", advice)
    return Finding("ticks", True, f"every shard is looked at {-stale:.0f} s ahead or more")


def _lag(shards: list[Shard]) -> Finding:
    lags = [(one.lag_ms or 0, one.partition_id) for one in shards]
    most, name = max(lags, default=(0, ""))
    if most < LATE_SECONDS * 1_000:
        return Finding("lag", True, f"{most / 1000:.0f} s at most")
    advice = "what does the poller's log say? docs/operations.md, the alarm CursorLag"
    return Finding("lag", False, f"{name} is {most / 1000:.0f} s behind", advice)


def _quarantine(shards: Sequence[Shard]) -> Finding:
    count = sum(one.quarantined or 0 for one in shards)
    if count == 0:
        return Finding("quarantine", True, "nothing is in quarantine")
    fullest = max(shards, key=lambda one: one.quarantined or 0).partition_id
    advice = "what does the poller's log say, action quarantined? docs/operations.md, the alarm Quarantined"
    return Finding("quarantine", False, f"about {count:,} rows are in quarantine, most of them of {fullest}", advice)


def _queues(waiting: int | None) -> Finding:
    if waiting is None:
        return Finding("queues", True, "not counted just now")
    if waiting < MANY_WAITING:
        return Finding("queues", True, f"about {waiting:,} messages wait")
    advice = "deliverers do not keep up: slow targets, or delivererConcurrency; docs/operations.md"
    return Finding("queues", False, f"about {waiting:,} messages wait", advice)
