"""Attention: what needs somebody, what just ran, and what starts next."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from typing import NamedTuple

from clockwork_client.attention import Attention
from clockwork_client.console import shapes
from clockwork_client.console.context import Asked, Context, Page
from clockwork_client.console.source import Found, within
from clockwork_client.overview import UpcomingItem, Usage
from clockwork_client.results import Execution, Job

#: The jobs whose runs are read for the river, and the runs of each.
_MOST_READ, _RUNS = 4, 200
_ROWS = 9
_FAR = datetime.max.replace(tzinfo=timezone.utc)


class Need(NamedTuple):
    """Something that needs somebody: one cause, however many executions have it."""

    tone: str
    kind: str
    title: str
    says: str
    many: int = 0
    excerpt: str = ""
    since: datetime | None = None
    latest: datetime | None = None
    job_id: str = ""
    job_key: str = ""


def show(context: Context, asked: Asked) -> Page:
    """The page."""
    source, client, now = context.source, asked.client, context.now()
    source.together(
        source.who,
        lambda: source.usage(client),
        lambda: source.jobs(client),
        lambda: source.dead(client),
        lambda: source.retrying(client),
        lambda: source.upcoming(client, within(now, 1), 1),
    )
    usage, jobs, dead = source.usage(client), source.jobs(client), source.dead(client)
    retrying = source.retrying(client)
    upcoming = source.upcoming(client, within(now, 1), 1)
    known = jobs.value.items if jobs.value else ()
    busy = busiest(known)
    runs = source.runs_of(busy, _RUNS)
    until = usage.value.released_until if usage.value else None
    ran = [one for found in runs.values() for one in found]
    # Of the other jobs, the first page knows the runs that died.
    others = [one for one in (dead.value.items if dead.value else ()) if one.job_id not in runs]
    past = [(one.due_at, one.state) for one in (*ran, *others)]
    model = {
        "usage": usage,
        "jobs": jobs,
        "dead": dead,
        "retrying": retrying,
        "upcoming": upcoming,
        "needs": needs(usage.value, known, dead.value, retrying.value),
        "river": shapes.river(past, coming(upcoming.value, known, now), now, until),
        "looked": len(busy),
        "recent": newest(ran)[:_ROWS],
        "next": (upcoming.value.items if upcoming.value else ())[:_ROWS],
        "active": sum(one.state == "ACTIVE" for one in known),
        "paused": sum(one.state == "PAUSED" for one in known),
        "lateness": lateness(ran),
    }
    return Page("attention.html", "Attention", model)


def busiest(jobs: Sequence[Job]) -> list[Job]:
    """The jobs that fire most often, whose runs tell most about the last half hour."""
    found = [one for one in jobs if one.state == "ACTIVE" and one.schedule is not None]

    def order(one: Job) -> tuple[float, datetime]:
        every = one.schedule.every.seconds if one.schedule and one.schedule.every else float("inf")
        return every, one.next_fire_at or _FAR

    return sorted(found, key=order)[:_MOST_READ]


def newest(runs: Sequence[Execution]) -> list[Execution]:
    """Executions, the latest due first."""
    return sorted(runs, key=lambda one: one.due_at, reverse=True)


def lateness(runs: Sequence[Execution]) -> tuple[int, float, float] | None:
    """How many runs, and how late the median and the 99th percentile of them started (ms)."""
    found = sorted(each.lateness_ms for one in runs for each in one.attempts[:1] if each.lateness_ms is not None)
    if not found:
        return None
    return len(found), found[len(found) // 2], found[min(len(found) - 1, int(0.99 * len(found)))]


def coming(upcoming: Found[UpcomingItem] | None, jobs: Sequence[Job], now: datetime) -> list[datetime]:
    """The starts of the next half hour. The API lists the next fire of a job alone; later ones follow its interval."""
    starts = [one.at for one in upcoming.items] if upcoming else []
    end = now + timedelta(minutes=shapes.RIVER_MINUTES + 1)
    for job in jobs:
        every = job.schedule.every.seconds if job.schedule and job.schedule.every else 0
        if job.state != "ACTIVE" or every < 1 or job.next_fire_at is None:
            continue
        at = job.next_fire_at + timedelta(seconds=every)
        while at < end:
            starts.append(at)
            at += timedelta(seconds=every)
    return starts


def needs(
    usage: Usage | None,
    jobs: Sequence[Job],
    dead: Found[Execution] | None,
    retrying: Attention | None,
) -> list[Need]:
    """The causes that need somebody, the worst first. One cause is one entry."""
    found = groups(dead.items if dead else ())
    if usage is not None and usage.paused:
        found.append(Need("wait", "paused", "The client is paused", "What comes due is parked until an admin resumes."))
    for circuit in usage.open_circuits if usage is not None else ():
        says = "Its circuit is open: what is due there is parked, but for one attempt at a time."
        found.append(Need("wait", "circuit", circuit.host, says, since=circuit.opened_at, latest=circuit.tried_at))
    if usage is not None and usage.parked.count:
        more = "+" if usage.parked.more else ""
        says = "They wait in rows, behind a pause or a circuit, and start on a ramp when it ends."
        found.append(Need("wait", "parked", f"{usage.parked.count:,}{more} parked executions", says))
    found += tried_again(retrying)
    for job in jobs:
        if job.state == "PAUSED":
            says = job.reason or "Nobody said why."
            found.append(Need("wait", "paused", job.job_key or "", says, since=job.changed_at, job_id=job.job_id))
    return found


def tried_again(retrying: Attention | None) -> list[Need]:
    """The executions that have failed and are tried again, by job and last error."""
    found = []
    for one in retrying.groups[:_ROWS] if retrying is not None else ():
        more = "+" if retrying is not None and retrying.next_token else ""
        many = f"{one.count:,}{more} runs have" if one.count > 1 else "1 run has"
        says = f"{many} failed, and will be tried again: {one.cause or 'no error was kept'}"
        title = one.job_key or "One-off jobs"
        found.append(Need("wait", "retrying", title, says, one.count, since=one.first_due_at, job_id=one.job_id or ""))
    return found


def groups(dead: Sequence[Execution]) -> list[Need]:
    """Dead executions by job and reason, the largest group first. Jobs without a key are one group."""
    by: dict[tuple[str, str], list[Execution]] = {}
    for one in dead:
        by.setdefault((one.job_id if one.job_key else "", one.reason or ""), []).append(one)
    found = []
    for (job_id, reason), them in sorted(by.items(), key=lambda item: -len(item[1])):
        last = them[0].attempts[-1] if them[0].attempts else None
        found.append(
            Need(
                tone="bad",
                kind="dead",
                title=them[0].job_key or "One-off jobs",
                says=reason or "No reason was kept.",
                many=len(them),
                excerpt=(last.response_excerpt if last is not None else None) or "",
                since=min(one.due_at for one in them),
                latest=max(one.due_at for one in them),
                job_id=job_id,
                job_key=them[0].job_key or "",
            )
        )
    return found
