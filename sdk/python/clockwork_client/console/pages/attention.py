"""Attention: what needs somebody, what just ran, and what starts next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from math import ceil
from typing import NamedTuple

from clockwork_client.attention import Activity, Attention, ClientRun
from clockwork_client.console import shapes, words
from clockwork_client.console.context import Asked, Context, Page
from clockwork_client.console.reads import Found
from clockwork_client.console.source import within
from clockwork_client.overview import UpcomingItem, Usage
from clockwork_client.results import Execution, Job

_ROWS = 9
#: A count of the API -> its tone.
_TONES = {"succeeded": "ok", "dead": "bad", "expired": "bad", "skipped": "skip", "cancelled": "skip"}


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
    since = now - timedelta(minutes=shapes.RIVER_MINUTES + 1)
    source.together(
        source.who,
        lambda: source.usage(client),
        lambda: source.jobs(client),
        lambda: source.dead(client),
        lambda: source.retrying(client),
        lambda: source.upcoming(client, within(now, 1), 1),
        lambda: source.activity(client, since),
        lambda: source.latest(client, since),
    )
    usage, jobs, dead = source.usage(client), source.jobs(client), source.dead(client)
    retrying, activity = source.retrying(client), source.activity(client, since)
    upcoming, latest = source.upcoming(client, within(now, 1), 1), source.latest(client, since)
    known = jobs.value.items if jobs.value else ()
    runs = latest.value.items if latest.value else ()
    until = usage.value.released_until if usage.value else None
    past = counts(activity.value, runs, now)
    model = {
        "usage": usage,
        "jobs": jobs,
        "dead": dead,
        "retrying": retrying,
        "upcoming": upcoming,
        "activity": activity,
        "latest": latest,
        "needs": needs(usage.value, known, dead.value, retrying.value),
        "river": shapes.river(past, coming(upcoming.value, known, now), now, until, within_99(activity.value)),
        "recent": runs[:_ROWS],
        "next": (upcoming.value.items if upcoming.value else ())[:_ROWS],
        "active": sum(one.state == "ACTIVE" for one in known),
        "paused": sum(one.state == "PAUSED" for one in known),
        "lateness": lateness(runs),
    }
    return Page("attention.html", "Attention", model)


def counts(activity: Activity | None, runs: Sequence[ClientRun], now: datetime) -> list[shapes.Ended]:
    """The ends of each minute, and what is under way. Without counts, and for the last minutes, runs tell more."""
    open_ = [(one.due_at, words.tone(one.state), 1) for one in runs if one.state not in words.FINAL]
    ended = [(one.due_at, words.tone(one.state), 1) for one in runs if one.state in words.FINAL]
    if activity is None:
        return [*ended, *open_]
    counted = [(one.at, tone, getattr(one, name)) for one in activity.items for name, tone in _TONES.items()]
    begin = now.replace(second=0, microsecond=0) - timedelta(minutes=1)
    lately = [[one for one in found if one[0] >= begin] for found in (counted, ended)]
    before = [one for one in counted if one[0] < begin]
    # The environments note their counts about once a minute.
    return [*before, *max(lately, key=lambda found: sum(count for *_, count in found)), *open_]


def within_99(activity: Activity | None) -> dict[datetime, str]:
    """By minute: within which time 99 of 100 started."""
    items = activity.items if activity is not None else ()
    return {one.at: f"99 % within {words.ms(one.p99_ms)}" for one in items if one.p99_ms is not None}


def lateness(runs: Sequence[ClientRun]) -> tuple[int, float, float] | None:
    """How many runs, and how late the median and the 99th percentile of them started (ms)."""
    found = sorted(one.lateness_ms for one in runs if one.lateness_ms is not None)
    if not found:
        return None
    return len(found), found[len(found) // 2], found[min(len(found) - 1, int(0.99 * len(found)))]


def coming(upcoming: Found[UpcomingItem] | None, jobs: Sequence[Job], now: datetime) -> list[shapes.Coming]:
    """The starts of the next half hour. The API lists the next fire of a job alone; later ones follow its interval."""
    starts = [(one.at, 1) for one in upcoming.items] if upcoming else []
    end = now + timedelta(minutes=shapes.RIVER_MINUTES + 1)
    for job in jobs:
        every = job.schedule.every.seconds if job.schedule and job.schedule.every else 0
        if job.state == "ACTIVE" and every >= 1 and job.next_fire_at is not None:
            starts += by_minute(job.next_fire_at + timedelta(seconds=every), every, now, end)
    return starts


def by_minute(at: datetime, every: float, now: datetime, end: datetime) -> Iterator[shapes.Coming]:
    """The starts from an instant on, so many seconds apart, between two others: the first of a minute, and how many.

    A thousand jobs that fire every second have millions of starts in half an hour.
    """
    at += timedelta(seconds=every) * max(0, ceil((now - at).total_seconds() / every))
    while at < end:
        until = min(end, at.replace(second=0, microsecond=0) + timedelta(minutes=1))
        count = ceil((until - at).total_seconds() / every)
        yield at, count
        at += timedelta(seconds=every) * count


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
