"""Schedules of EventBridge Scheduler as jobs: the answer of its GetSchedule in, a job as the API takes it out.

Its users send an input as it is, so the payload travels alone (`envelope: false`). A thing that has no counterpart
here is never left out in silence: the schedule is refused, with what to do.
https://docs.aws.amazon.com/scheduler/latest/APIReference/API_GetSchedule.html
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

from clockwork_client import requests, targets
from clockwork_client.answers import Target

#: The policy of a schedule that names none: 185 attempts within a day.
_DEFAULT_RETRIES, _DEFAULT_AGE = 185, 86_400
_MOST_ATTEMPTS = 100
_UNITS = {"second": 1, "minute": 60, "hour": 3_600, "day": 86_400}
_START_EXECUTION = "arn:aws:scheduler:::aws-sdk:sfn:startExecution"
#: The services that take any text. The others take JSON alone, there as here.
_TAKE_TEXT = {"kinesis", "sns", "sqs"}
#: The fields of a task, and of its one container, that a target has, too.
_OF_TASKS = {"TaskDefinitionArn", "TaskCount", "LaunchType", "NetworkConfiguration"}
_OF_CONTAINERS = {"name", "command", "environment"}


class Unmapped(ValueError):
    """A schedule that has no job of the same meaning; the message says why, and what to do."""


def from_scheduler(schedule: Mapping[str, Any]) -> dict[str, Any]:
    """The job of a schedule, for `schedule_many`: its key is the schedule's group and name.

    `schedule` is the answer of GetSchedule, of boto3 or as JSON of the command line of AWS. The role of its target is
    left out: Clockwork's own calls targets of its account. Raises Unmapped.
    """
    if schedule.get("State", "ENABLED") != "ENABLED":
        raise Unmapped("it is disabled: enable it, or leave it out")
    given = schedule["Target"]
    target, payload = _sent(given)
    group = schedule.get("GroupName", "default")
    key = schedule["Name"] if group == "default" else f"{group}/{schedule['Name']}"
    return requests.job(target, payload, key=key, **_times(schedule, key), **_tries(given))


def _times(schedule: Mapping[str, Any], key: str) -> dict[str, Any]:
    """The options of when it fires."""
    kind, _, inner = schedule["ScheduleExpression"].rstrip(")").partition("(")
    zone = schedule.get("ScheduleExpressionTimezone") or "UTC"
    window = schedule.get("FlexibleTimeWindow") or {}
    window_seconds = 60 * window["MaximumWindowInMinutes"] if window.get("Mode") == "FLEXIBLE" else 0
    if kind == "at":
        # Only jobs that recur have a jitter. A job's own share of the window is the same whenever it is asked for.
        return {"at": _once(inner, zone) + timedelta(seconds=zlib.crc32(key.encode()) % (window_seconds or 1))}
    bounds = {"start_at": schedule.get("StartDate"), "end_at": schedule.get("EndDate")}
    found: dict[str, Any] = {name: _instant(at) for name, at in bounds.items() if at is not None}
    if window_seconds:
        found["jitter_seconds"] = window_seconds
    if kind == "cron":
        # It skips what the clock skips, and fires once at what the clock repeats.
        return {**found, "cron": cron_of(inner), "timezone": zone, "dst_gap": "skip"}
    if kind != "rate":
        raise Unmapped(f"{schedule['ScheduleExpression']!r} is none of at(), rate() and cron()")
    number, unit = inner.split()
    begins = schedule.get("StartDate") or schedule.get("CreationDate")
    anchor = {} if begins is None else {"anchor_at": _instant(begins)}
    return {**found, **anchor, "every": int(number) * _UNITS[unit.rstrip("s")]}


def _once(inner: str, zone: str) -> datetime:
    """The instant of a schedule that fires once. Raises Unmapped if it has come: the schedule is still enabled then."""
    at = datetime.fromisoformat(inner).replace(tzinfo=ZoneInfo(zone))
    instant = at.astimezone(timezone.utc)
    if instant.astimezone(at.tzinfo).replace(tzinfo=None) != at.replace(tzinfo=None):
        raise Unmapped(f"the clock skips {inner} in {zone}: choose another time")
    if instant <= datetime.now(timezone.utc):
        raise Unmapped(f"its time {inner} in {zone} has come, and it would fire again here: leave it out")
    return instant


def cron_of(inner: str) -> str:
    """The five fields of an expression of EventBridge, whose weekdays count from 1 for Sunday. Raises Unmapped."""
    *fields, week, year = inner.split()
    if year != "*":
        raise Unmapped(f"it names the year {year}: give the job startAt and endAt in its place")
    return " ".join([*fields, ",".join(map(_weekday, week.split(",")))])


def _weekday(item: str) -> str:
    if item == "L":
        return "6"  # the last day of the week, a Saturday
    numbers, step = item.partition("/")[::2]
    numbers = re.sub(r"(?<![#\d])[1-7]", lambda one: str(int(one[0]) - 1), numbers)
    if step and re.fullmatch(r"\d", numbers):
        numbers += "-6"  # from this day to the end of the week
    return f"{numbers}/{step}" if step else numbers


def _instant(at: datetime | str | float) -> datetime:
    if isinstance(at, str):
        at = datetime.fromisoformat(at.replace("Z", "+00:00"))
    found = at if isinstance(at, datetime) else datetime.fromtimestamp(at, timezone.utc)
    return found if found.tzinfo else found.replace(tzinfo=timezone.utc)


def _tries(given: Mapping[str, Any]) -> dict[str, Any]:
    """The options of what follows a failure. The policy of a schedule that chose none is that of the client."""
    found: dict[str, Any] = {}
    policy = given.get("RetryPolicy") or {}
    retries = policy.get("MaximumRetryAttempts", _DEFAULT_RETRIES)
    age = policy.get("MaximumEventAgeInSeconds", _DEFAULT_AGE)
    if (retries, age) != (_DEFAULT_RETRIES, _DEFAULT_AGE):
        found["retry"] = requests.retry(max_attempts=min(retries + 1, _MOST_ATTEMPTS), max_age_seconds=age)
    if letters := (given.get("DeadLetterConfig") or {}).get("Arn"):
        found["on_failure"] = targets.sqs(letters)
    return found


def _sent(given: Mapping[str, Any]) -> tuple[Target, Any]:
    """The target, and its payload."""
    arn, text = given["Arn"], given.get("Input")
    if text is not None and "<aws.scheduler." in text:
        raise Unmapped("its Input has <aws.scheduler...>: a payload stays as it is, and the ids travel beside it")
    service = arn.split(":")[2]
    if service == "scheduler":
        return _start(arn, _payload(text, service))
    if service == "ecs":
        return _task(given, _payload(text, service)), None
    if service not in _MAKERS:
        raise Unmapped(f"{arn} is no target here: have a Lambda function call it")
    return _MAKERS[service](arn, given), _payload(text, service)


def _start(arn: str, parameters: Any) -> tuple[Target, Any]:
    """A state machine that a call of StartExecution starts, with `{}` unless the call has an Input."""
    if arn != _START_EXECUTION:
        raise Unmapped(f"{arn} is no target here: have a Lambda function call it")
    asked = parameters if isinstance(parameters, dict) else {}
    if set(asked) - {"StateMachineArn", "Input"} or "StateMachineArn" not in asked:
        raise Unmapped("its StartExecution needs a StateMachineArn, and may have an Input: names are derived here")
    payload = asked.get("Input", {})
    if isinstance(payload, str):
        payload = _payload(payload, "states")
    return targets.step_functions(asked["StateMachineArn"], envelope=False), payload


def _payload(text: str | None, service: str) -> Any:
    """The payload that travels as an Input does. Raises Unmapped for what is no JSON where the service takes no other.

    A text is delivered as it is, also one that is JSON: as a value, `"due"` would lose its quotes on a queue.
    """
    if text is None:
        return None
    try:
        value = json.loads(text)
        # Python also reads what no request may have: NaN, and half a pair of surrogates.
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):
        if service in _TAKE_TEXT:
            return text
        raise Unmapped("its Input is not valid JSON: correct it") from None
    return text if service in _TAKE_TEXT and not isinstance(value, (dict, list)) else value


def _task(given: Mapping[str, Any], overrides: Any) -> Target:
    """A task, whose target has the container that its Input overrides."""
    asked, overrides = given["EcsParameters"], overrides if isinstance(overrides, dict) else {}
    # LATEST is the platform of a task that names none.
    chosen = {name for name, value in asked.items() if value and (name, value) != ("PlatformVersion", "LATEST")}
    more = chosen - _OF_TASKS | overrides.keys()
    containers = overrides.get("containerOverrides") or [{}]
    more |= {name for container in containers for name in container if name not in _OF_CONTAINERS}
    if strange := sorted(more - {"containerOverrides"}):
        raise Unmapped(f"its task has {', '.join(strange)}: leave that out, or have the task definition or ECS set it")
    if asked.get("TaskCount", 1) != 1 or len(containers) != 1 or "name" not in containers[0]:
        raise Unmapped("it has to start one task, and its Input to name one container: the target of a job does both")
    (container,) = containers
    network = (asked.get("NetworkConfiguration") or {}).get("awsvpcConfiguration") or {}
    return targets.ecs(
        asked["TaskDefinitionArn"],
        cluster_arn=given["Arn"],
        container=container["name"],
        command=container.get("command"),
        environment={one["name"]: one["value"] for one in container.get("environment") or ()} or None,
        launch_type=asked.get("LaunchType"),
        subnets=network.get("Subnets"),
        security_groups=network.get("SecurityGroups"),
        assign_public_ip=network["AssignPublicIp"] == "ENABLED" if "AssignPublicIp" in network else None,
    )


def _event(arn: str, given: Mapping[str, Any]) -> Target:
    asked = given["EventBridgeParameters"]
    return targets.eventbridge(arn, source=asked["Source"], detail_type=asked["DetailType"], envelope=False)


def _message(arn: str, given: Mapping[str, Any]) -> Target:
    return targets.sqs(arn, message_group_id=(given.get("SqsParameters") or {}).get("MessageGroupId"))


def _record(arn: str, given: Mapping[str, Any]) -> Target:
    asked = given.get("KinesisParameters") or {}
    return targets.kinesis(arn, partition_key=asked.get("PartitionKey"), envelope=False)


#: The makers of targets, by the service of their ARN.
_MAKERS: Mapping[str, Callable[[str, Mapping[str, Any]], Target]] = {
    "events": _event,
    "kinesis": _record,
    "lambda": lambda arn, _: targets.lambda_function(arn, envelope=False),
    "sns": lambda arn, _: targets.sns(arn),
    "sqs": _message,
    "states": lambda arn, _: targets.step_functions(arn, envelope=False),
}
