"""Print a job."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from clockwork_client import results
from clockwork_client.cli import show
from clockwork_client.states import FINAL

if TYPE_CHECKING:
    from clockwork_client.answers import Target
    from clockwork_client.cli.state import State


_TIMING = {True: "it would fire at other instants", False: "it would fire as before"}
#: Fields of the API that have a line of their own, or that say the same as one of these lines.
_TOLD = frozenset({
    "dryRun", "timingChanges", "jobId", "jobKey", "clientId", "state", "revision", "reason", "pausedAt", "pausedBy",
    "dueAt", "schedule", "description", "nextFireAt", "nextFires", "target", "payload", "retryPolicy", "record", "tags",
    "relevancyWindowSeconds", "precision", "orderingKey", "sequence", "onFailure", "completion", "createdAt",
    "changedAt", "lastExecution", "outcomes", "executions", "executionsCount", "goesOn", "goesOnCount", "ended",
    "endedCount", "released", "releasedCount", "replacedBy", "runs", "releasedUntil", "asOf", "changed",
    "lastState", "notRecorded",
})  # fmt: skip
_TIMES = ("cron", "timezone", "every", "at", "delaySeconds")


def show_job(state: State, found: results.Job) -> None:
    """Print a job whole: each field that the answer has, also those of later versions of the API."""
    if state.is_json:
        show.give(state, found.raw)
        return
    now = state.now
    is_over = found.state in FINAL
    show.facts(
        state,
        [
            ("dry run", "nothing was changed" if found.dry_run else None),
            ("timing", _TIMING.get(found.timing_changes) if found.timing_changes is not None else None),
            ("job", found.job_id),
            ("key", found.job_key),
            ("client", found.client_id),
            ("state", found.state),
            ("paused", _paused(found, show.when(found.paused_at, now))),
            ("reason", found.reason),
            ("revision", found.revision),
            ("due", show.when(found.due_at, now)),
            ("schedule", show.schedule(found.schedule, now)),
            ("its options", found.schedule and _without(found.schedule.raw, _TIMES)),
            ("in words", found.description),
            ("next fire", "" if is_over else show.when(found.next_fire_at, now)),
            ("then", ", ".join(show.local(state, one.local) for one in (found.next_fires or ())[1:3])),
            ("target", show.target(found.target)),
            ("its options", found.target and _of_target(found.target)),
            ("payload", found.payload),
            ("tags", found.tags),
            ("retries", found.retry_policy and retries(found.retry_policy)),
            ("ends by", found.completion and found.completion.raw),
            ("not later than", _seconds(found.relevancy_window_seconds, "after it is due")),
            ("precision", found.precision),
            ("ordering key", found.ordering_key),
            ("sequence", found.sequence),
            ("on failure", show.target(found.on_failure)),
            ("record", found.record),
            ("created", show.when(found.created_at, now)),
            ("changed", show.when(found.changed_at, now)),
            ("last execution", _last(found, state)),
            ("outcomes", found.outcomes and _outcomes(found.outcomes)),
            ("ended as", found.last_state if found.last_execution is None else None),
            ("not recorded", "until an attempt fails" if found.not_recorded else None),
            ("executions running", found.executions_count or None),
            ("before the change", found.goes_on_count or None),
            ("ended", found.ended_count or None),
            ("released", found.released_count or None),
            ("key used by", found.replaced_by),
            *((name, value) for name, value in found.raw.items() if name not in _TOLD),
        ],
    )


def retries(found: results.RetryPolicy) -> str:
    """A retry policy in a sentence: `5 attempts, exponential backoff from 5 s to 1 h, full jitter, within 1 d`."""
    parts = [
        f"{found.max_attempts} attempts" if found.max_attempts else "",
        f"{found.backoff} backoff" if found.backoff else "",
    ]
    waits = [_seconds(found.initial_seconds, "", "from"), _seconds(found.max_seconds, "", "to")]
    parts[-1] = " ".join(filter(None, [parts[-1], *waits]))
    parts += [f"{found.jitter} jitter" if found.jitter else "", _seconds(found.max_age_seconds, "", "within")]
    parts += [f"also after {', '.join(map(str, found.retry_status_codes))}"] if found.retry_status_codes else []
    return ", ".join(filter(None, parts)).replace("none ", "no ")


def _paused(found: results.Job, since: str) -> str:
    by = f", by {found.paused_by}" if found.paused_by else ""
    return f"since {since}{by}" if since else ""


def _seconds(value: float | None, behind: str, before: str = "") -> str:
    return "" if value is None else f"{before} {show.duration(value)} {behind}".strip()


def _without(raw: Mapping[str, Any], names: tuple[str, ...]) -> str:
    return ", ".join(f"{name} {show.compact(value)}" for name, value in raw.items() if name not in names)


def _of_target(found: Target) -> str:
    """Its options. Its address stands in the line before."""
    address = show.target(found)
    told = tuple(name for name, value in found.raw.items() if isinstance(value, str) and value in address)
    return _without(found.raw, ("type", "nodes", *told))


def _last(found: results.Job, state: State) -> str:
    last = found.last_execution
    if last is None:
        return ""
    reason = f": {last.reason}" if last.reason else ""
    return f"{last.state}, due {show.when(last.due_at, state.now)}{reason}"


def _outcomes(found: results.Outcomes) -> str:
    counted = [f"{count} {name}" for name, count in found.raw.items() if name != "more" and count]
    return ", ".join(counted) + (", of the newest records" if found.more else "")
