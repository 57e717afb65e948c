"""Requests: targets, a retry policy, and jobs with their options.

An option has the name of the API's field in snake case, except for those in `RENAMED`. A new field of the API is one
new line in a TypedDict here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar

from clockwork_client.answers import Answer, Target, camel, text_of
from clockwork_client.errors import UnexpectedAnswer
from clockwork_client.reports import Completion, PoolTarget
from clockwork_client.results import (
    EventBridgeTarget,
    HttpTarget,
    KafkaTarget,
    LambdaTarget,
    RetryPolicy,
    SnsTarget,
    SqsTarget,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack

#: Seconds, or a timedelta.
Duration = float | timedelta
#: A datetime with a zone, or RFC 3339.
Instant = datetime | str
#: Options whose field of the API has another name.
RENAMED = {"in_": "delaySeconds", "key": "jobKey", "retry": "retryPolicy"}


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
    on_failure: Target
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


SCHEDULE = frozenset(ScheduleOptions.__annotations__)
_DEFINITION = SCHEDULE.union(DefinitionOptions.__annotations__)
_JOB = _DEFINITION.union(JobOptions.__annotations__)
Made = TypeVar("Made", bound=Answer)


def _made(kind: type[Made], **options: Any) -> Made:
    """The request that the options make. Raises TypeError for an option of a wrong type."""
    try:
        return kind(fields(**options))
    except UnexpectedAnswer as error:
        raise TypeError(f"an option is of the wrong type: {error}") from None


def http(
    url: str,
    *,
    method: Literal["POST", "PUT", "PATCH", "DELETE", "GET"] | None = None,
    headers: Mapping[str, str] | None = None,
    timeout_seconds: Duration | None = None,
) -> HttpTarget:
    """An HTTPS endpoint with a public address, called with POST and within 15 s unless said otherwise."""
    return _made(HttpTarget, type="http", url=url, method=method, headers=headers, timeout_seconds=timeout_seconds)


def sqs(queue_arn: str, *, message_group_id: str | None = None, role_arn: str | None = None) -> SqsTarget:
    """An SQS queue that the client's allowedQueueArns list. Clockwork assumes `role_arn` for the send."""
    return _made(SqsTarget, type="sqs", queue_arn=queue_arn, message_group_id=message_group_id, role_arn=role_arn)


def sns(topic_arn: str, *, message_group_id: str | None = None, role_arn: str | None = None) -> SnsTarget:
    """An SNS topic that the client's allowedTargetArns list."""
    return _made(SnsTarget, type="sns", topic_arn=topic_arn, message_group_id=message_group_id, role_arn=role_arn)


def pool(
    name: str,
    handler: str,
    *,
    timeout_seconds: Duration | None = None,
    priority: Literal["normal", "high", "low"] | None = None,
) -> PoolTarget:
    """A handler of a pool that the client's allowedPools list. An attempt may take `timeout_seconds`, up to 7 days."""
    given = {"pool": name, "handler": handler, "timeout_seconds": timeout_seconds, "priority": priority}
    return _made(PoolTarget, type="pool", **given)


def kafka(topic: str, *, key: str | None = None) -> KafkaTarget:
    """A topic that the client's allowedTopics list, if the deployment has a Kafka cluster."""
    return _made(KafkaTarget, type="kafka", topic=topic, key=key)


def lambda_function(function_arn: str, *, role_arn: str | None = None) -> LambdaTarget:
    """A Lambda function that the client's allowedTargetArns list, invoked asynchronously."""
    return _made(LambdaTarget, type="lambda", function_arn=function_arn, role_arn=role_arn)


def eventbridge(bus_arn: str, *, source: str, detail_type: str, role_arn: str | None = None) -> EventBridgeTarget:
    """An EventBridge bus that the client's allowedTargetArns list. `source` must not begin with `aws.`."""
    given = {"bus_arn": bus_arn, "source": source, "detail_type": detail_type, "role_arn": role_arn}
    return _made(EventBridgeTarget, type="eventbridge", **given)


def retry(
    *,
    max_attempts: int | None = None,
    backoff: Literal["none", "fixed", "linear", "exponential"] | None = None,
    initial_seconds: Duration | None = None,
    max_seconds: Duration | None = None,
    jitter: Literal["none", "full"] | None = None,
    max_age_seconds: Duration | None = None,
    retry_status_codes: Iterable[int] | None = None,
) -> RetryPolicy:
    """The rule for attempts after a failed one. An option that is left out has the API's default."""
    return _made(
        RetryPolicy,
        max_attempts=max_attempts,
        backoff=backoff,
        initial_seconds=initial_seconds,
        max_seconds=max_seconds,
        jitter=jitter,
        max_age_seconds=max_age_seconds,
        retry_status_codes=retry_status_codes,
    )


def callback(*, heartbeat_seconds: Duration | None = None, timeout_seconds: Duration | None = None) -> Completion:
    """Attempts end by a callback of the receiver (`cw.executions.complete`), and not with the target's answer."""
    return _made(Completion, mode="callback", heartbeat_seconds=heartbeat_seconds, timeout_seconds=timeout_seconds)


def job(target: Target, payload: Any = None, **options: Unpack[JobOptions]) -> dict[str, Any]:
    """A job as the API takes it, for `schedule_many`; `schedule` takes the same options.

    `payload` is any JSON value; a text is delivered as it is. Raises TypeError for an unknown option, ValueError for a
    datetime without a zone. The API judges all else.
    """
    return _body(_JOB, target, payload, options)


def definition(target: Target, payload: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """The definition of a named job, for a PUT. Raises as `job` does."""
    return _body(_DEFINITION, target, payload, options)


def schedule_body(options: Mapping[str, Any]) -> dict[str, Any]:
    """The schedule that these options describe. Raises as `job` does."""
    _check(options, SCHEDULE)
    return _object(options)


def client_body(options: Mapping[str, Any]) -> dict[str, Any]:
    """The body that writes a client. Raises as `job` does."""
    _check(options, ClientOptions.__annotations__)
    return _object(options)


def renamed(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a definition in the API's names, for a merge patch. Raises as `job` does."""
    _check(options, _DEFINITION)
    return _object(options)


def dead_body(options: Mapping[str, Any], next_token: str | None) -> dict[str, Any]:
    """The body that redrives or discards dead executions. Raises as `job` does."""
    _check(options, DeadFilter.__annotations__)
    return _object({**options, "next_token": next_token})


def dead_query(**options: Any) -> dict[str, Any]:
    """The query that lists dead executions."""
    return _object(options)


def _body(known: frozenset[str], target: Target, payload: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    schedule, rest = {}, {}
    for name, value in options.items():
        if name in SCHEDULE:
            schedule[name] = value
        elif name in known:
            rest[name] = value
        else:
            _check(options, known)
    return {"schedule": _object(schedule), "target": target.raw, "payload": payload, **_object(rest)}


def _check(options: Mapping[str, Any], known: Iterable[str]) -> None:
    unknown = [name for name in options if name not in known]
    if unknown:
        raise TypeError(f"unknown option {unknown[0]!r}: known are {', '.join(sorted(known))}")


def _object(options: Mapping[str, Any], names: Mapping[str, str] = RENAMED) -> dict[str, Any]:
    """The options as a JSON object. An option that is None is left out."""
    found = {}
    for name, value in options.items():
        if value is not None:
            one = _value(value)
            found[names.get(name) or camel(name)] = {"seconds": one} if name == "every" else one
    return found


def fields(**options: Any) -> dict[str, Any]:
    """An object of the API with these fields, none of which has another name there. None is left out."""
    return _object(options, {})


def _value(value: Any) -> Any:
    if isinstance(value, (str, int, float)):
        return value
    if isinstance(value, Answer):
        return value.raw
    if isinstance(value, timedelta):
        seconds = value.total_seconds()
        return int(seconds) if seconds.is_integer() else seconds
    if isinstance(value, datetime):
        return text_of(value)
    return dict(value) if isinstance(value, Mapping) else list(value)
