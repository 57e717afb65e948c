"""Answers of the API, one class for each kind of thing. All answers about a job are a `Job`.

Fields that only some of these answers have are None in the others. States are text, so that this version reads states
of later versions as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from clockwork_client.answers import Answer, Target
from clockwork_client.reports import AtWork, Completion, Report
from clockwork_client.waiting import Waiting
from clockwork_client.workflows.answers import NodeOfRun, RunCounts


class RetryPolicy(Answer):
    """When a failed attempt is tried again. `retry(...)` makes one for a request."""

    max_attempts: int | None
    backoff: str | None
    initial_seconds: float | None
    max_seconds: float | None
    jitter: str | None
    max_age_seconds: float | None
    retry_status_codes: tuple[int, ...] | None


class Every(Answer):
    """An interval of elapsed time."""

    seconds: float


class Schedule(Answer):
    """When a job fires, as it was sent."""

    at: datetime | None
    delay_seconds: float | None
    every: Every | None
    anchor_at: datetime | None
    cron: str | None
    timezone: str | None
    start_at: datetime | None
    end_at: datetime | None
    max_fires: int | None
    jitter_seconds: int | None
    exclude: tuple[str, ...] | None
    dst_gap: str | None
    dst_overlap: str | None
    day_match: str | None
    catch_up: str | None
    catch_up_window_seconds: float | None
    overlap: str | None


class Attempt(Answer):
    """One attempt at the target. The last one may be under way."""

    number: int
    state: str
    started_at: datetime
    ended_at: datetime | None
    lateness_ms: int | None
    status_code: int | None
    error: str | None
    response_excerpt: str | None


class SkippedStretch(Answer):
    """Fires that were not delivered, in one record: the first and the last due instant, and how many."""

    from_: datetime
    to: datetime
    count: int


class Waits(Answer):
    """For how long an execution waited before its attempts (ms), for each cause that made it wait."""

    cap: int | None
    permit: int | None
    pause: int | None
    circuit: int | None
    ordered: int | None


class Execution(Answer):
    """One due instant of a job being carried out. `result` is there after a cancel, and says if it came in time.

    `run` counts the nodes of a workflow's run, and `node` names the one that this is. `executions` is there after the
    cancel of a run: itself, and its nodes that still run.
    """

    execution_id: str
    job_id: str
    due_at: datetime
    state: str
    attempts: tuple[Attempt, ...]
    job_key: str | None
    next_attempt_at: datetime | None
    reason: str | None
    skipped: SkippedStretch | None
    waiting: Waiting | None
    waited: Waits | None
    at_work: AtWork | None
    forced: bool | None
    report: Report | None
    result: str | None
    run: RunCounts | None
    node: NodeOfRun | None
    executions: tuple[Execution, ...] | None


class Ran(Answer):
    """One of the newest executions of a job, in short: `attempts` is their number."""

    execution_id: str
    due_at: datetime
    state: str
    attempts: int
    lateness_ms: int | None
    took_ms: int | None
    reason: str | None


class NextFire(Answer):
    """A fire to come, in UTC and in the local time of the schedule's zone."""

    at: datetime
    local: str
    dst: str | None


class JobFire(NextFire):
    """A fire to come of one job. `dst` tells of a shift of the clock: gap, overlapFirst or overlapSecond."""

    jittered: bool
    ordinal: int | None


class JobFires(Answer):
    """The next fires of a job. With `more`, there may be others: ask again from the last of these."""

    job_id: str
    items: tuple[JobFire, ...]
    more: bool


class ReleasedFire(Answer):
    """A fire that is on its way already."""

    execution_id: str
    due_at: datetime


class Outcomes(Answer):
    """How the fires of a job that is over have ended, by its newest records. `more`: there are older ones."""

    succeeded: int
    dead: int
    skipped: int
    cancelled: int
    expired: int
    open: int
    more: bool


class Job(Answer):
    """A job, named or anonymous, with the fields that the answer has."""

    job_id: str
    client_id: str
    state: str
    job_key: str | None
    revision: int | None
    due_at: datetime | None
    next_fire_at: datetime | None
    created_at: datetime | None
    changed_at: datetime | None
    schedule: Schedule | None
    target: Target | None
    payload: Any
    retry_policy: RetryPolicy | None
    record: str | None
    tags: Mapping[str, str] | None
    relevancy_window_seconds: float | None
    precision: str | None
    ordering_key: str | None
    sequence: int | None
    on_failure: Target | None
    completion: Completion | None
    reason: str | None
    paused_at: datetime | None
    paused_by: str | None
    description: str | None
    next_fires: tuple[NextFire, ...] | None
    runs: tuple[Ran, ...] | None
    last_state: str | None
    last_execution: Execution | None
    not_recorded: bool | None
    outcomes: Outcomes | None
    released_until: datetime | None
    as_of: datetime | None
    changed: bool | None
    executions: tuple[Execution, ...] | None
    executions_count: int | None
    goes_on: tuple[Execution, ...] | None
    goes_on_count: int | None
    ended: tuple[Execution, ...] | None
    ended_count: int | None
    released: tuple[ReleasedFire, ...] | None
    released_count: int | None
    replaced_by: str | None
    dry_run: bool | None
    timing_changes: bool | None


class Cancellation(Answer):
    """The truth about a cancel: `cancelled`, `running` or `too_late`, and why."""

    job_id: str
    result: str
    reason: str
    executions: tuple[Execution, ...]
    executions_count: int | None
    ended: tuple[Execution, ...] | None
    ended_count: int | None
    dry_run: bool | None
    timing_changes: bool | None
    next_fires: tuple[NextFire, ...] | None


class StartedRun(Answer):
    """An execution that was asked for by hand."""

    execution_id: str


class StartedBackfill(Answer):
    """A backfill and the number of its executions; if there is none, `reason` says why."""

    backfill_id: str
    count: int
    reason: str | None


class Preview(Answer):
    """When a schedule would fire, and its cron expression in a sentence."""

    next_fires: tuple[NextFire, ...]
    description: str


class Client(Answer):
    """A client as an admin wrote it."""

    client_id: str
    revision: int
    state: str
    principals: tuple[str, ...]
    record: str
    signing_secrets: tuple[str, ...]
    allowed_queue_arns: tuple[str, ...]
    allowed_topics: tuple[str, ...]
    allowed_private_targets: tuple[str, ...]
    allowed_target_hosts: tuple[str, ...]
    allowed_target_arns: tuple[str, ...]
    allowed_pools: tuple[str, ...]
    retry_policy: RetryPolicy | None
    relevancy_window_seconds: float | None
    precision: str | None
    max_rate_per_second: float | None
    max_concurrency: int | None
    creates_per_second: float | None
    jobs_per_day: int | None
    min_interval_seconds: float
    retention_days: int | None
    dead_letter_queue_arn: str | None
    runs_index: bool
    runs_indexed_from: datetime | None
    reason: str | None


class Unparking(Answer):
    """Parked occurrences will be released at this rate."""

    client_id: str
    max_per_second: float


class Discarding(Answer):
    """Parked occurrences will end undelivered."""

    client_id: str
