"""The words of pages: pure functions of the client's answers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple
from urllib.parse import urlsplit

from clockwork_client.answers import Target, place_of
from clockwork_client.overview import Counted, Usage
from clockwork_client.reports import Completion
from clockwork_client.results import Cancellation, Execution, Job, Ran, Schedule
from clockwork_client.states import FINAL as FINAL
from clockwork_client.states import tone as tone

_STATES = {
    "PENDING": "waiting",
    "FAILED": "will be retried",
    "TIMED_OUT": "timed out, will be retried",
    "HANDED_BACK": "handed back, will go on",
    "WORKER_LOST": "lost, will be retried",
    "COMPLETED": "over",
    "UNREACHED": "not reached",
}
#: Of an attempt that has ended. After a lost worker nobody knows how far the attempt came.
_ATTEMPTS = {
    "TIMED_OUT": "timed out",
    "HANDED_BACK": "handed back",
    "WORKER_LOST": "lost: it may have arrived, so this one may arrive twice",
}
#: A wait's cause, in the client's field -> in words.
_CAUSES = {
    "cap": "rate cap",
    "permit": "concurrency",
    "pause": "pause",
    "circuit": "open circuit",
    "ordered": "order",
}
_WAITS_FOR = {
    "cap": "waits for the client's rate",
    "permit": "waits for a permit of its concurrency",
    "pause": "waits for a resume",
    "circuit": "waits for the circuit of its target",
    "ordered": "waits for those ahead of it",
}
_UNITS = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))


class Why(NamedTuple):
    """One true sentence about what a job is doing or waits for, and its tone."""

    tone: str
    says: str


def state(name: str) -> str:
    """A state of a job or of an execution in words."""
    return _STATES.get(name, name.lower().replace("_", " "))


def attempt_state(name: str) -> str:
    """A state of an attempt in words. A failed attempt has failed, whatever follows it."""
    return _ATTEMPTS.get(name, name.lower().replace("_", " "))


def plural(count: int, one: str, many: str = "") -> str:
    """`1 run`, `2 runs`, `1,200 runs`."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def counted(found: Counted) -> str:
    """A number, as far as the API counted it: `200+`."""
    return f"{found.count:,}+" if found.more else f"{found.count:,}"


def ms(value: float | None) -> str:
    """A duration in milliseconds: `8 ms`, `1.2 s`, `3 min`, `2.5 h`, `4 days`. A dash if nobody knows."""
    if value is None:
        return "–"
    seconds = value / 1000
    if seconds < 1:
        return f"{value:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    if seconds < 3_600:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 2 * 86_400 else f"{seconds / 86_400:.0f} days"


def every(seconds: float) -> str:
    """`Every 90 seconds`, `Every 2 hours`, `Every day`."""
    says = duration(seconds)
    return f"Every {says.removeprefix('1 ')}" if says.startswith("1 ") else f"Every {says}"


def duration(seconds: float) -> str:
    """A duration that somebody chose, in its largest whole unit: `1 day`, `90 minutes`, `0.5 seconds`."""
    for size, unit in _UNITS:
        if seconds >= size and seconds % size == 0:
            return plural(int(seconds // size), unit)
    return f"{seconds:g} seconds"


def schedule(found: Schedule | None, description: str | None = None) -> str:
    """When a job fires, in words. The API describes cron expressions."""
    if found is None:
        return ""
    if description:
        return description.rstrip(".")
    if found.every is not None:
        return every(found.every.seconds)
    if found.cron is not None:
        return f"cron {found.cron}"
    return f"Once, at {instant(found.at)}" if found.at is not None else "Once"


def zone(found: Schedule | None) -> str:
    """The zone of a schedule, or what its instants count from."""
    if found is None:
        return ""
    if found.cron is not None:
        return found.timezone or "UTC"
    return "from its start" if found.every is not None else ""


def instant(at: datetime) -> str:
    """`24 Nov 2026 19:53:40 UTC`, of an instant in UTC."""
    return f"{at:%d %b %Y %H:%M:%S} UTC"


def target(found: Target | None) -> str:
    """A target in one text: its address, its topic, its pool and handler, or the number of its steps."""
    if found is None:
        return ""
    kind = {"workflow": "workflow ", "kafka": "topic "}.get(found.type, "")
    return f"{kind}{place_of(found)}" if place_of(found) else found.type


def completion(found: Completion | None) -> str:
    """By which news an attempt ends, where the target's answer alone does not end it."""
    if found is None:
        return ""
    news = "when AWS says so" if found.mode == "end" else "by a report of its receiver"
    return news if found.timeout_seconds is None else f"{news}, within {duration(found.timeout_seconds)}"


def took(one: Execution | Ran) -> float | None:
    """For how long the last attempt ran (ms); None while it runs, or if there was none."""
    if isinstance(one, Ran):
        return one.took_ms
    last = one.attempts[-1] if one.attempts else None
    if last is None or last.ended_at is None:
        return None
    return (last.ended_at - last.started_at).total_seconds() * 1000


def late(one: Execution | Ran) -> float | None:
    """How late the first attempt started (ms); None if the API does not tell it yet."""
    if isinstance(one, Ran):
        return one.lateness_ms
    return next((each.lateness_ms for each in one.attempts if each.lateness_ms is not None), None)


def causes(one: Execution) -> list[tuple[str, float]]:
    """How late it started, by cause, in ms. The rest is Clockwork's own."""
    total = late(one)
    if total is None:
        return []
    waited = one.waited.raw if one.waited else {}
    found = [(words, float(waited[name])) for name, words in _CAUSES.items() if waited.get(name)]
    return [*found, ("Clockwork", max(0.0, total - sum(value for _, value in found)))]


def waits_for(cause: str | None, attempt: int | None, recurs: bool | None) -> str:
    """The kind of an upcoming start, or the cause that it waits for."""
    if cause is not None:
        return _WAITS_FOR.get(cause, f"waits for {cause}")
    if attempt is not None and attempt > 1:
        return f"attempt {attempt}"
    return "repeats" if recurs else "once"


def why(job: Job, runs: Sequence[Execution], usage: Usage | None = None) -> Why:
    """The present doing of a job, or the cause of its wait. `runs` are its newest executions, newest first.

    `usage` is that of its client. The first that holds is told.
    """
    last = runs[0] if runs else None
    held = _held(job, last, usage)
    if held is not None:
        return held
    if last is not None and last.state == "RUNNING":
        number = last.attempts[-1].number if last.attempts else 1
        so_late = f", and started {ms(late(last))} late" if late(last) is not None else ""
        return Why("run", f"Attempt {number} is at the target now{so_late}.")
    return _ended(job, runs)


def _held(job: Job, last: Execution | None, usage: Usage | None) -> Why | None:
    if usage is not None and usage.paused:
        return Why("wait", "The client is paused: what comes due is parked until an admin resumes it.")
    if job.state == "PAUSED":
        by = f" by {person(job.paused_by)}" if job.paused_by else ""
        since = f" since {instant(job.paused_at)}" if job.paused_at is not None else ""
        return Why("wait", f"Paused{since}{by}: {job.reason or 'nobody said why'}")
    for circuit in usage.open_circuits if usage is not None else ():
        if circuit.host in _hosts(job.target):
            return Why("wait", f"The circuit of {circuit.host} is open since {instant(circuit.opened_at)}: "
                       "one attempt at a time is let through.")  # fmt: skip
    return _waiting(last) if last is not None and last.waiting is not None else None


def _waiting(one: Execution) -> Why:
    assert one.waiting is not None
    until = one.waiting.until
    if one.waiting.cause == "retry" and until is not None:
        last = one.attempts[-1] if one.attempts else None
        failed = f"Attempt {last.number} ended: {last.error or attempt_state(last.state)}. " if last is not None else ""
        return Why("wait", f"{failed}The next attempt is at {instant(until)}.")
    end = f" Until {instant(until)}." if until is not None else ""
    return Why("wait", f"It waits: {one.waiting.says.rstrip('.')}.{end}")


def _hosts(found: Target | None) -> tuple[str, ...]:
    """The names by which a circuit may name the host of a target: with its port, and without."""
    parts = urlsplit(target(found))
    return (parts.netloc, parts.hostname or "")


def _ended(job: Job, runs: Sequence[Execution]) -> Why:
    if job.state == "CANCELLED":
        return Why("skip", "It was cancelled: nothing of it fires any more.")
    bad = 0
    for one in runs:
        if one.state not in ("DEAD", "EXPIRED"):
            break
        bad += 1
    if bad:
        which = "last run" if bad == 1 else f"last {bad} runs"
        return Why("bad", f"The {which} failed and will not be retried: {runs[0].reason or 'no reason was kept'}")
    if job.state == "COMPLETED":
        return Why("skip", "It is over: nothing is left to fire.")
    last = runs[0] if runs else None
    if last is None:
        return Why("ok", "It has not fired yet. Its next fire is on the timeline.")
    if last.state == "SKIPPED":
        return Why("skip", f"The last fire was skipped: {last.reason or 'it was not wanted'}")
    if last.state == "CANCELLED":
        return Why("skip", f"The last run was cancelled: {last.reason or 'as somebody asked'}")
    if last.state == "SUCCEEDED":
        return Why("ok", f"On time: the last run started {ms(late(last))} after it was due and took {ms(took(last))}.")
    at = f" The next attempt is at {instant(last.next_attempt_at)}." if last.next_attempt_at is not None else ""
    return Why("wait", f"The last run is not over: {state(last.state)}.{at}")


def cancelled(found: Cancellation) -> Why:
    """The truth about a cancel."""
    if found.result == "cancelled":
        return Why("ok", "Cancelled. No attempt starts after this moment.")
    one = found.executions[0] if found.executions else None
    last = one.attempts[-1] if one is not None and one.attempts else None
    if found.result == "running":
        which = (
            f"Attempt {last.number} started {instant(last.started_at)}" if last is not None else "An attempt started"
        )
        return Why("run", f"{which} and may still arrive. None follows.")
    ended = f"{state(one.state)} at {instant(last.ended_at)}" if one and last and last.ended_at else found.reason
    return Why("skip", f"It had ended: {ended}.")


def person(principal: str) -> str:
    """The name in a principal's ARN: `role/Billing`, `user/demo`."""
    return principal.rpartition(":")[2] or principal


def action(name: str) -> str:
    """An action of the trail in words: `pauseJob` -> `pause job`."""
    return "".join(f" {one.lower()}" if one.isupper() else one for one in name)
