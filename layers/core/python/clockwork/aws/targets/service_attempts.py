"""Attempts at targets that are AWS services: their faults as outcomes, in words that a person can act on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import msgspec
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectTimeoutError,
    EndpointConnectionError,
    ReadTimeoutError,
)

from clockwork.domain.executions import Outcome, State
from clockwork.ports import Clock

#: Error codes that say that the service denies access.
_DENIED = frozenset(
    {
        "AccessDenied",
        "AccessDeniedException",
        "AuthorizationError",
        "KMS.AccessDeniedException",
        "KMSAccessDenied",
        "KMSAccessDeniedException",
        "KmsAccessDenied",
    }
)
#: Error codes that say that the target does not exist.
_MISSING = frozenset(
    {
        "AWS.SimpleQueueService.NonExistentQueue",
        "NotFound",
        "NotFoundException",
        "QueueDoesNotExist",
        "ResourceNotFoundException",
    }
)


class Undeliverable(Exception):
    """No retry can deliver this occurrence; the message says why."""


class Refused(Exception):
    """The service answered that it did not take the message; `code` and `reason` are its own words."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(f"{code}: {reason}")
        self.code = code
        self.reason = reason


class NoRole(Exception):
    """The deliverer could not assume the role that the target names; the message says why."""


class Service(msgspec.Struct, frozen=True):
    """The words of error texts for one service, and its codes of permanent failures.

    `permanent` are the codes that say that the message itself is at fault. Every other cause (permissions, keys, a
    resource not yet made) somebody can put right.
    """

    name: str
    does: str
    takes: str
    permanent: frozenset[str]


def attempt(send: Callable[[], None], service: Service, arn: str, clock: Clock) -> Outcome:
    """Call `send`; the outcome of the attempt, also if it failed."""
    started_at = clock.now()
    try:
        send()
    except Undeliverable as fault:
        return Outcome(State.FAILED, started_at, clock.now(), permanent=True, error=str(fault))
    except NoRole as fault:
        return Outcome(State.FAILED, started_at, clock.now(), error=str(fault))
    except Refused as fault:
        return _refusal(service, arn, fault.code, fault.reason, started_at, clock.now())
    except ClientError as fault:
        told = fault.response["Error"]
        return _refusal(service, arn, told.get("Code", ""), told.get("Message", ""), started_at, clock.now())
    except (ConnectTimeoutError, ReadTimeoutError):
        return Outcome(State.TIMED_OUT, started_at, clock.now(), error=f"{service.name} did not answer in time")
    except BotoCoreError as fault:
        words = "cannot be reached" if isinstance(fault, EndpointConnectionError) else "gave no answer"
        error = f"{service.name} {words}: {type(fault).__name__}"
        return Outcome(State.FAILED, started_at, clock.now(), error=error)
    return Outcome(State.SUCCEEDED, started_at, clock.now())


def attempts(
    send_all: Callable[[], Mapping[int, Exception]], count: int, service: Service, arn: str, clock: Clock
) -> list[Outcome]:
    """Call `send_all` for `count` attempts; the outcome of each.

    `send_all` returns the faults by the numbers of the attempts. An attempt without a fault has succeeded.
    """
    began_at = clock.now()
    faults = send_all()
    outcomes = [attempt(partial(_raise, faults.get(number)), service, arn, clock) for number in range(count)]
    return [msgspec.structs.replace(outcome, started_at=began_at) for outcome in outcomes]


def check_region(arn: str, region: str, client: Any, things: str) -> None:
    """Raise Undeliverable for an ARN of another region than the client's."""
    ours = client.meta.region_name
    if region != ours:
        raise Undeliverable(f"{arn} is in {region}, Clockwork delivers to {things} in {ours} only")


def _raise(fault: Exception | None) -> None:
    if fault is not None:
        raise fault


def _refusal(service: Service, arn: str, code: str, reason: str, started_at: int, ended_at: int) -> Outcome:
    if code in _DENIED:
        words = f"denies access ({code}): its policies and key must let Clockwork's deliverer role {service.does}"
    elif code in _MISSING:
        words = "does not exist"
    else:
        words = f"did not take the {service.takes}: {code}: {reason[:300]}"
    permanent = code in service.permanent
    return Outcome(State.FAILED, started_at, ended_at, permanent=permanent, error=f"{arn} {words}")
