"""Requests: a retry policy, and jobs with their options.

An option has the name of the API's field in snake case, except for those in `RENAMED`. A new field of the API is one
new line in a TypedDict here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from clockwork_client import unsent
from clockwork_client.answers import Target
from clockwork_client.objects import Duration, Instant, made, object_of
from clockwork_client.places import target_at
from clockwork_client.reports import Completion
from clockwork_client.results import RetryPolicy

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from clockwork_client.workflows.workflow import Workflow


class ScheduleOptions(TypedDict, total=False):
    """The time: exactly one of `in_`, `at`, `every` and `cron`. The last two recur, and need a `key`."""

    in_: Duration
    at: Instant
    every: Duration
    cron: str
    timezone: str
    anchor_at: Instant
    start_at: Instant
    end_at: Instant
    max_fires: int
    jitter_seconds: Duration
    exclude: Iterable[str]
    dst_gap: Literal["run_at_gap_end", "skip"]
    dst_overlap: Literal["first", "second", "both"]
    day_match: Literal["cron", "and", "or"]
    catch_up: Literal["all", "latest", "none"]
    catch_up_window_seconds: Duration
    overlap: Literal["allow", "skip"]


class DefinitionOptions(ScheduleOptions, total=False):
    """The options of a job, beside its target and payload."""

    retry: RetryPolicy
    relevancy_window_seconds: Duration
    precision: Literal["millisecond", "second"]
    record: Literal["none", "full"]
    tags: Mapping[str, str]
    ordering_key: str
    sequence: int
    on_failure: Target | str
    completion: Completion


class JobOptions(DefinitionOptions, total=False):
    """All options of a job. A `key` names it among its client's jobs."""

    key: str


class ClientOptions(TypedDict, total=False):
    """A whole client: an option that is left out gets its default."""

    principals: Iterable[str]
    record: Literal["none", "full"]
    signing_secrets: Iterable[str]
    allowed_queue_arns: Iterable[str]
    allowed_topics: Iterable[str]
    allowed_private_targets: Iterable[str]
    allowed_target_hosts: Iterable[str]
    allowed_target_arns: Iterable[str]
    allowed_pools: Iterable[str]
    retry: RetryPolicy
    relevancy_window_seconds: Duration
    precision: Literal["millisecond", "second"]
    max_rate_per_second: float
    max_concurrency: int
    creates_per_second: float
    jobs_per_day: int
    min_interval_seconds: float
    retention_days: int
    dead_letter_queue_arn: str
    runs_index: bool


class DeadFilter(TypedDict, total=False):
    """A choice of dead executions, by `prefix` of the jobKey and by due instant. `limit` is for each call."""

    prefix: str
    from_: Instant
    to: Instant
    limit: int


class JobFilter(TypedDict, total=False):
    """A choice of named jobs, by `prefix` of the key and by `tag`; `limit` for each call. And the `reason`."""

    prefix: str
    tag: str
    limit: int
    reason: str | None


class RetryOptions(TypedDict, total=False):
    """The options of a retry policy. `max_age_seconds` counts from the instant at which the job is due."""

    max_attempts: int | None
    backoff: Literal["none", "fixed", "linear", "exponential"] | None
    initial_seconds: Duration | None
    max_seconds: Duration | None
    jitter: Literal["none", "full"] | None
    max_age_seconds: Duration | None
    retry_status_codes: Iterable[int] | None


class EndOptions(TypedDict, total=False):
    """The options of attempts that AWS ends."""

    timeout_seconds: Duration | None


class CallbackOptions(EndOptions, total=False):
    """The options of attempts that a callback ends."""

    heartbeat_seconds: Duration | None


SCHEDULE = frozenset(ScheduleOptions.__annotations__)
_DEFINITION = SCHEDULE.union(DefinitionOptions.__annotations__)
_JOB = _DEFINITION.union(JobOptions.__annotations__)


def retry(**options: Unpack[RetryOptions]) -> RetryPolicy:
    """The rule for attempts after a failed one: `retry(max_attempts=3, initial_seconds="5s")`.

    An option that is left out has the API's default. Raises as `job` does.
    """
    _refuse(options, RetryOptions.__annotations__)
    return made(RetryPolicy, **options)


def callback(**options: Unpack[CallbackOptions]) -> Completion:
    """Attempts end by a callback of the receiver (`cw.executions.complete`), and not with the target's answer."""
    _refuse(options, CallbackOptions.__annotations__)
    return made(Completion, mode="callback", **options)


def end(**options: Unpack[EndOptions]) -> Completion:
    """Attempts end when AWS says that what they began has ended, as the execution of a state machine."""
    _refuse(options, EndOptions.__annotations__)
    return made(Completion, mode="end", **options)


def job(target: Target | Workflow | str, payload: Any = None, **options: Unpack[JobOptions]) -> dict[str, Any]:
    """A job as the API takes it, for `schedule_many`; `schedule` takes the same options.

    `target` may be its place alone: `https://...`, an ARN, `kafka:topic`, `pool:name/handler`. `payload` is any JSON
    value; a text is delivered as it is. Raises TypeError for an unknown option or a value of a wrong type. Raises
    ValueError for a duration, instant or place that is none, and for a job without a time or with several. The message
    names all of them. The API judges all else.
    """
    return _body(_JOB, target, payload, options)


def definition(target: Target | Workflow | str, payload: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """The definition of a named job, for a PUT. Raises as `job` does."""
    return _body(_DEFINITION, target, payload, options)


def schedule_body(options: Mapping[str, Any]) -> dict[str, Any]:
    """The schedule that these options describe. Raises as `job` does."""
    _refuse(options, SCHEDULE)
    return object_of(options)


def client_body(options: Mapping[str, Any]) -> dict[str, Any]:
    """The body that writes a client. Raises as `job` does."""
    _refuse(options, ClientOptions.__annotations__)
    return object_of(options)


def renamed(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a definition in the API's names, for a merge patch. Raises as `job` does."""
    _refuse(options, _DEFINITION)
    return _definition_of(options)


def dead_body(options: Mapping[str, Any], next_token: str | None) -> dict[str, Any]:
    """The body that redrives or discards dead executions. Raises as `job` does."""
    _refuse(options, DeadFilter.__annotations__)
    return object_of({**options, "next_token": next_token})


def dead_query(**options: Any) -> dict[str, Any]:
    """The query that lists dead executions."""
    return object_of(options)


def _body(
    known: frozenset[str], target: Target | Workflow | str, payload: Any, options: Mapping[str, Any]
) -> dict[str, Any]:
    times = unsent.of_times(options)
    _refuse(options, known, unsent.of_target("target", target), unsent.of_payload(payload), times)
    schedule = {name: value for name, value in options.items() if name in SCHEDULE}
    rest = {name: value for name, value in options.items() if name not in SCHEDULE}
    to = target_at(target) if isinstance(target, str) else target
    return {"schedule": object_of(schedule), "target": to.raw, "payload": payload, **_definition_of(rest)}


def _definition_of(options: Mapping[str, Any]) -> dict[str, Any]:
    notified = options.get("on_failure")
    return object_of({**options, "on_failure": target_at(notified)} if isinstance(notified, str) else options)


def _refuse(options: Mapping[str, Any], known: Iterable[str], *others: unsent.Fault | None) -> None:
    """Raise all faults of a call as one: a line for each, and a TypeError if one of them is."""
    found = [unsent.of_option(name, options[name]) if name in known else _unknown(name, known) for name in options]
    faults = [one for one in (*others, *found) if one is not None]
    if faults:
        kind = TypeError if any(isinstance(one, TypeError) for one in faults) else ValueError
        raise kind("\n".join(map(str, faults)))


def _unknown(name: str, known: Iterable[str]) -> TypeError:
    from difflib import get_close_matches

    alike = get_close_matches(name, list(known), n=1)
    meant = f" Did you mean {alike[0]!r}?" if alike else ""
    return TypeError(f"unknown option {name!r}: known are {', '.join(sorted(known))}.{meant}")
