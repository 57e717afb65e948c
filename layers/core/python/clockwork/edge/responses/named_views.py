"""What the API shows of named jobs and of schedules that are not saved."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from clockwork.domain.cron.description import description
from clockwork.domain.cron.zones import offset_at, zone_named
from clockwork.domain.executions import Execution
from clockwork.domain.fires.chains import fire_after, ordinal_at
from clockwork.domain.instants import to_text
from clockwork.domain.named_jobs import JobState, NamedJob
from clockwork.domain.recurrence import Fire, Recurrence, next_occurrence
from clockwork.domain.releases import Release
from clockwork.edge.responses import views
from clockwork.flows.named.write import Written

#: So many next fires are shown with a job.
SHOWN_FIRES = 10
#: So many fires that a change released are listed, of what may be a day's; Lambda answers with 6 MB at the most.
SHOWN_RELEASED = 1_000
#: A fire that is due later than this cannot be written with four digits of a year.
LAST_SHOWN_AT = 253_402_300_799_999


def written(answer: Written, now: int) -> dict[str, Any]:
    """The answer to a create or a change."""
    job = answer.job
    shown = {
        "jobId": job.job_id,
        "clientId": job.client_id,
        "jobKey": job.job_key,
        "state": str(state_of(job, now)),
        "revision": job.revision,
    }
    following = next(upcoming(job, now), None)
    if job.definition.at is not None:
        shown["dueAt"] = to_text(job.definition.at)
    elif following is not None:
        shown["nextFireAt"] = to_text(following.due_at)
    return shown


def changed(answer: Written, now: int) -> dict[str, Any]:
    """The answer to a change: as the job stands, and what of its old version may still reach the target."""
    return written(answer, now) | {
        "executions": [views.execution(execution) for execution in answer.running],
        "released": [_released(release) for release in answer.released[:SHOWN_RELEASED]],
        "releasedCount": len(answer.released),
    }


def cancelled(answer: Written) -> dict[str, Any]:
    """The truth about the deletion of a named job."""
    if answer.running:
        others = "others may be" if answer.may_be_under_way else "nothing else starts"
        verdict, reason = "running", f"what is listed is under way; {others}"
    elif answer.may_be_under_way:
        unseen = "record level none leaves no trace, and of many thousand old executions not all are read"
        verdict, reason = "too_late", f"nothing more fires, but something may be under way: {unseen}"
    else:
        verdict, reason = "cancelled", "nothing of it starts any more"
        # Of the schedule the horizon tells what may be under way; what was asked for by hand leaves a row among all.
        if answer.job.definition.record == "none":
            reason += "; at record level none an attempt of a run by hand or of a backfill cannot be seen"
    executions = [views.execution(execution) for execution in answer.running]
    return {"jobId": answer.job.job_id, "result": verdict, "reason": reason, "executions": executions}


def job(kept: NamedJob, last: Execution | None, now: int) -> dict[str, Any]:
    """A named job whole: its definition, where it stands, when it fires next and what it did last."""
    fires = list(islice(upcoming(kept, now), SHOWN_FIRES))
    shown = summary(kept, now) | {
        "payload": views.payload(kept.definition.payload),
        "nextFires": shown_fires(fires, _zone_of(kept.definition.recurrence)),
    }
    if last is not None:
        shown["lastExecution"] = views.execution(last)
    return shown


def summary(kept: NamedJob, now: int) -> dict[str, Any]:
    """A named job as a list shows it: without its payload and its next fires but the first."""
    definition = kept.definition
    shown: dict[str, Any] = {
        "jobId": kept.job_id,
        "clientId": kept.client_id,
        "jobKey": kept.job_key,
        "state": str(state_of(kept, now)),
        "revision": kept.revision,
        "createdAt": to_text(kept.created_at),
        "changedAt": to_text(kept.changed_at),
        "schedule": json.loads(kept.as_sent)["schedule"],
        "target": views.target(definition.target),
        "retryPolicy": views.retry_policy(definition.retry_policy),
        "record": definition.record,
        "tags": definition.tags,
    }
    following = next(upcoming(kept, now), None)
    if definition.relevancy_window_seconds is not None:
        shown["relevancyWindowSeconds"] = definition.relevancy_window_seconds
    if definition.ordering_key is not None:
        shown |= {"orderingKey": definition.ordering_key, "sequence": definition.sequence}
    if definition.on_failure is not None:
        shown["onFailure"] = views.target(definition.on_failure)
    if kept.reason is not None:
        shown["reason"] = kept.reason
    if definition.at is not None:
        shown["dueAt"] = to_text(definition.at)
    if following is not None:
        shown["nextFireAt"] = to_text(following.due_at)
    if definition.recurrence is not None and definition.recurrence.cron is not None:
        shown["description"] = description(definition.recurrence.cron)
    return shown


def preview(recurrence: Recurrence | None, at: int, count: int, now: int) -> dict[str, Any]:
    """When a schedule that is not saved would fire: `at` if it does so once."""
    if recurrence is None:
        fires: Sequence[Fire] = [Fire(at, at, 1)]
        text = "Once."
    else:
        fires = list(islice(_fires(recurrence, now), count))
        text = description(recurrence.cron) if recurrence.cron is not None else _interval(recurrence)
    return {"nextFires": shown_fires(fires, _zone_of(recurrence)), "description": text}


def state_of(kept: NamedJob, now: int) -> JobState:
    """COMPLETED once nothing more fires."""
    if kept.state is JobState.ACTIVE and next(upcoming(kept, now), None) is None:
        return JobState.COMPLETED
    return kept.state


def upcoming(kept: NamedJob, now: int) -> Iterator[Fire]:
    """The fires after `now`; none of a job that is paused or gone."""
    after_at = max(kept.chain_after_at, now)
    fire = fire_after(kept, after_at, ordinal_at(kept, after_at)) if kept.state is JobState.ACTIVE else None
    while fire is not None and fire.due_at <= LAST_SHOWN_AT:
        yield fire
        fire = fire_after(kept, fire.base_at, fire.ordinal)


def shown_fires(fires: Sequence[Fire], zone: str) -> list[dict[str, str]]:
    """Each fire in UTC and in its zone's local time with the offset."""
    return [{"at": to_text(fire.due_at), "local": _local(fire.due_at, zone)} for fire in fires]


def _fires(recurrence: Recurrence, now: int) -> Iterator[Fire]:
    fire = next_occurrence(recurrence, now, 0, "")
    while fire is not None and fire.due_at <= LAST_SHOWN_AT:
        yield fire
        fire = next_occurrence(recurrence, fire.base_at, fire.ordinal, "")


def _local(at: int, zone: str) -> str:
    offset_at(zone, at // 1000)  # one source of zones: unknown ones are refused alike
    local = datetime.fromtimestamp(at / 1000, UTC).astimezone(zone_named(zone))
    return local.isoformat(timespec="milliseconds")


def _interval(recurrence: Recurrence) -> str:
    assert recurrence.every is not None
    return f"Every {recurrence.every.every_ms / 1000:g} seconds."


def _zone_of(recurrence: Recurrence | None) -> str:
    return "UTC" if recurrence is None else recurrence.timezone


def _released(release: Release) -> dict[str, str]:
    return {"executionId": release.execution_id, "dueAt": to_text(release.run_at)}
