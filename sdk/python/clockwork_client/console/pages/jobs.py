"""The list of named jobs, with a search over names and targets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timezone
from functools import partial

from clockwork_client.console import words
from clockwork_client.console.context import Asked, Context, Page
from clockwork_client.console.source import MOST_JOBS
from clockwork_client.results import Job

PAGE = 50
#: The runs of a job that a strip shows.
STRIP = 16
_FAR = datetime.max.replace(tzinfo=timezone.utc)
STATES = {"": "All", "ACTIVE": "Active", "DEAD": "With dead runs", "PAUSED": "Paused", "COMPLETED": "Over"}


def show(context: Context, asked: Asked) -> Page:
    """The page."""
    source, client = context.source, asked.client
    text, state, tag, order = (asked.text(name) for name in ("q", "state", "tag", "sort"))
    state, page = state if state in STATES else "", asked.number("page", 1, MOST_JOBS // PAGE)
    behind = asked.behind
    search = partial(source.search, client, text, behind, asked.goes_on)
    listed = search if text and behind else partial(source.jobs, client, behind)
    source.together(listed, partial(source.dead, client), source.who)
    jobs, dead = listed(), source.dead(client)
    if text and jobs.value is not None and jobs.value.more:
        jobs = search()
    known = jobs.value.items if jobs.value else ()
    failing = {one.job_id for one in dead.value.items} if dead.value else set()
    found = sorted_by(order, [one for one in known if is_meant(one, text, state, tag, failing)])
    shown = found[(page - 1) * PAGE : page * PAGE]
    strips = source.strips(client, shown, STRIP, asked.goes_on, contains=text or None, tag=tag or None)
    runs = strips.value or {}
    model = {
        "jobs": jobs,
        "found": found,
        "shown": shown,
        "runs": {one.job_id: runs.get(one.job_id) for one in shown},
        "strips": strips,
        "strip": STRIP,
        "failing": failing,
        "of": len(known),
        "is_first": behind is None,
        "behind": behind,
        "counts": counts(known, failing),
        "states": STATES,
        "tags": Counter(f"{name}={value}" for one in known for name, value in (one.tags or {}).items()).most_common(50),
        "q": text,
        "state": state,
        "tag": tag,
        "sort": "name" if order == "name" else "next",
        "page": page,
        "more": len(found) - page * PAGE,
    }
    return Page("jobs.html", "Jobs", model)


def is_meant(job: Job, text: str, state: str, tag: str, failing: set[str]) -> bool:
    """Whether a job is one that these filters mean."""
    haystack = f"{job.job_key or ''} {words.target(job.target)}".casefold()
    if text.casefold() not in haystack:
        return False
    if state and (job.job_id not in failing if state == "DEAD" else job.state != state):
        return False
    return not tag or tag in {f"{name}={value}" for name, value in (job.tags or {}).items()}


def sorted_by(order: str, jobs: Sequence[Job]) -> list[Job]:
    """Jobs by name, or those that fire next first; those that do not fire stand last."""
    if order == "name":
        return sorted(jobs, key=lambda one: one.job_key or "")
    return sorted(jobs, key=lambda one: (one.state != "ACTIVE", one.next_fire_at or _FAR, one.job_key or ""))


def counts(jobs: Sequence[Job], failing: set[str]) -> dict[str, int]:
    """The number of jobs behind each chip."""
    by = Counter(one.state for one in jobs)
    failed = sum(one.job_id in failing for one in jobs)
    return {name: {"": len(jobs), "DEAD": failed}.get(name, by[name]) for name in STATES}
