"""One job: why it does what it does, its runs, its next fires, its definition and its changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from clockwork_client.console import prices, words
from clockwork_client.console.context import Asked, Broken, Context, Page
from clockwork_client.results import Job, NextFire

#: The runs that are shown at first, those that each click adds, and the most.
RUNS, MOST_RUNS = 24, 240
STRIP = 24
_CHANGES = 6
_FIRING = ("ACTIVE", "PAUSED")


#: The shifts of the clock that a page tells about.
_SHIFTS = 3
_SAYS = {
    "gap": "The clock skips {usual} that day, so it fires at {time}.",
    "overlapFirst": "{time} comes twice that night. This is the first.",
    "overlapSecond": "{time} comes twice that night. This is the second.",
}


class Fire(NamedTuple):
    """A fire to come, in the zone of its schedule. `says` tells of a shift of the clock."""

    at: datetime
    day: str
    time: str
    offset: str
    says: str = ""


def show(context: Context, asked: Asked, job_id: str) -> Page:
    """The page. Raises Broken if the job cannot be read."""
    source = context.source
    job = source.job(job_id)
    if job.value is None:
        assert job.problem is not None
        raise Broken(job.problem)
    most = asked.number("runs", RUNS, MOST_RUNS)
    runs = source.runs(job_id, most)
    shown = list(runs.value.items) if runs.value else []
    if shown and shown[0].state not in words.FINAL:
        # Only the answer about one execution tells what it waits for.
        newest = source.execution(shown[0].execution_id).value
        shown[0] = newest if newest is not None else shown[0]
    usage, trail = source.usage(job.value.client_id), source.trail(job.value.client_id)
    fires_seen = source.fires(job.value) if job.value.job_key and job.value.state in _FIRING else None
    listed = fires(fires_seen.value.items if fires_seen and fires_seen.value else job.value.next_fires or ())
    changes = [one for one in (trail.value.items if trail.value else ()) if one.job_id == job_id]
    model = {
        "job": job,
        "j": job.value,
        "runs": runs,
        "shown": shown,
        "strip": STRIP,
        "most": most,
        "more": most + RUNS if runs.value and runs.value.more and most < MOST_RUNS else 0,
        "why": words.why(job.value, shown, usage.value),
        "fires": listed,
        "upcoming": [one for one in listed if one.at >= context.now()],
        "shifts": [one for one in listed if one.says][:_SHIFTS],
        "fires_seen": fires_seen,
        "changes": changes[:_CHANGES],
        "can_act": job.value.state not in words.FINAL and not context.is_read_only,
        "key": context.new_key(),
        "price": price_of(job.value, [one.at for one in listed]).says,
    }
    return Page("job.html", job.value.job_key or "One-off job", model)


def price_of(job: Job, at: Sequence[datetime]) -> prices.Price:
    """The price of the runs of a job that fires at these instants."""
    schedule, target = job.schedule, job.target
    return prices.price(
        recurs=schedule is not None and (schedule.cron is not None or schedule.every is not None),
        overlap=(schedule.overlap if schedule is not None else None) or "allow",
        is_pooled=target is not None and target.type == "pool",
        fires=at,
    )


def fires(found: Sequence[NextFire]) -> list[Fire]:
    """Fires, as the schedule's zone has them."""
    local = [datetime.fromisoformat(one.local) for one in found]
    usual = Counter(map(_clock, local)).most_common(1)
    return [
        Fire(
            at=one.at,
            day=f"{there:%a %d %b %Y}",
            time=_clock(there),
            offset=one.local[-6:],
            says=_SAYS.get(one.dst or "", "").format(time=_clock(there), usual=usual[0][0]),
        )
        for one, there in zip(found, local, strict=True)
    ]


def _clock(local: datetime) -> str:
    return f"{local:%H:%M:%S}" if local.second else f"{local:%H:%M}"
