"""Attempts at targets that are AWS services: their faults as outcomes, in words that a person can act on."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from clockwork.aws import botocore_errors
from clockwork.aws.deadlines import OutOfTime, calls_until
from clockwork.domain.executions import Outcome, State
from clockwork.domain.jobs import EventBridgeTarget, LambdaTarget, SnsTarget, SqsTarget
from clockwork.domain.releases import Delivery
from clockwork.ports import Clock

T = TypeVar("T", bound=EventBridgeTarget | LambdaTarget | SnsTarget | SqsTarget)
Faults = Mapping[int, Exception]

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

#: The action in the words with which AWS denies access: `... is not authorized to perform: sqs:SendMessage on ...`.
_DENIED_ACTION = re.compile(r"not authorized to perform: ([a-z0-9-]+:[A-Za-z]+)")


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


def expected() -> tuple[type[Exception], ...]:
    """The faults that an attempt is expected to meet. Any other exception is a defect of ours and raised as one."""
    of_botocore = botocore_errors.ClientError, botocore_errors.BotoCoreError, botocore_errors.ResponseParserError
    return Undeliverable, NoRole, OutOfTime, Refused, *of_botocore


class Service(msgspec.Struct, frozen=True):
    """One service: its name in botocore, the ARNs of its resources, the words of error texts, and codes.

    `arn_field` is the field of a target with its ARN. `arn` has a group `region`. `action` is the attempt's name in
    IAM, and `option` the deployment's option that allows the action to the deliverer's role. `permanent` are the codes
    for a fault of the message itself. Every other cause (permissions, keys, a missing resource) can be mended by an
    operator.
    """

    name: str
    client: str
    arn_field: str
    arn: re.Pattern[str]
    resource: str
    resources: str
    action: str
    option: str
    takes: str
    permanent: frozenset[str]


class ServiceClients(Protocol):
    """The source of a transport's clients of AWS services.

    A client tries each call once: the retry policy of the job decides on retries.
    """

    def client(self, service: str, role_arn: str | None, client_id: str, deadline_at: int) -> Any:
        """A client for one call now, which ends by `deadline_at` (ms); under the role if there is one.

        Raises NoRole if the role cannot be assumed, and OutOfTime if a call cannot end by then.
        """


class ServiceTransport(ABC, Generic[T]):
    """Delivers to targets of one service, `kind`, in Clockwork's own region; safe for many threads.

    Each call is one try of a client whose timeouts fit into the rest of the time. The client checks the deadline again
    before it sends. Nothing is therefore sent after the deadline, when the attempt may have been reported as over.
    """

    service: Service
    kind: type[T]

    def __init__(self, clients: ServiceClients, clock: Clock) -> None:
        self._clients = clients
        self._clock = clock

    @abstractmethod
    def send(self, deliveries: Sequence[Delivery], target: T) -> Faults:
        """Send a message for each delivery. Returns the faults by index of the delivery, or raises an `expected` fault.

        `target` is the first delivery's target.
        """

    def deliver(self, delivery: Delivery) -> Outcome:
        """Make the attempt; a fault becomes its outcome."""
        return self.deliver_all([delivery])[0]

    def deliver_all(self, deliveries: Sequence[Delivery]) -> Sequence[Outcome]:
        """Make attempts that may share a call; each has an outcome of its own.

        A call that gathers attempts may be made long after they joined it, if its environment stood still meanwhile.
        """
        now = self._clock.now()
        late = [delivery.too_late(now) for delivery in deliveries]
        going = [delivery for delivery, outcome in zip(deliveries, late, strict=True) if outcome is None]
        sent = iter(self._send_all(going) if going else ())
        return [outcome or next(sent) for outcome in late]

    def _send_all(self, deliveries: Sequence[Delivery]) -> Sequence[Outcome]:
        target = self.target_of(deliveries[0])
        arn = getattr(target, self.service.arn_field)
        started_at = self._clock.now()
        try:
            with calls_until(self._clock, min(delivery.deadline_at for delivery in deliveries)):
                faults = self.send(deliveries, target)
        except expected() as fault:
            faults = dict.fromkeys(range(len(deliveries)), fault)
        ended_at = self._clock.now()
        return [_outcome_of(faults.get(n), self.service, arn, started_at, ended_at) for n in range(len(deliveries))]

    def target_of(self, delivery: Delivery) -> T:
        """The delivery's target; raises TypeError if it is of another service."""
        target = delivery.occurrence.target
        if not isinstance(target, self.kind):
            raise TypeError(f"{self.service.name} is not the service of a {type(target).__name__}")
        return target

    def client_for(self, delivery: Delivery) -> Any:
        """A client for one call for the delivery's target; raises NoRole, OutOfTime and Undeliverable."""
        target = self.target_of(delivery)
        arn = getattr(target, self.service.arn_field)
        match = self.service.arn.fullmatch(arn)
        if match is None:
            raise Undeliverable(f"{arn} is not the ARN of {self.service.resource}")
        client = self.client_in_time(delivery, target.role_arn)
        check_region(arn, match["region"], client, self.service.resources)
        return client

    def client_in_time(self, delivery: Delivery, role_arn: str | None) -> Any:
        """A client for one call within the delivery's deadline; raises NoRole and OutOfTime."""
        client_id = delivery.occurrence.client_id
        return self._clients.client(self.service.client, role_arn, client_id, delivery.deadline_at)


def check_region(arn: str, region: str, client: Any, things: str) -> None:
    """Raise Undeliverable for an ARN of another region than the client's."""
    ours = client.meta.region_name
    if region != ours:
        raise Undeliverable(f"{arn} is in {region}, Clockwork delivers to {things} in {ours} only")


def _outcome_of(fault: Exception | None, service: Service, arn: str, started_at: int, ended_at: int) -> Outcome:
    permanent = False
    match fault:
        case None:
            return Outcome(State.SUCCEEDED, started_at, ended_at)
        case botocore_errors.ConnectTimeoutError() | botocore_errors.ReadTimeoutError():
            return Outcome(State.TIMED_OUT, started_at, ended_at, error=f"{service.name} did not answer in time")
        case OutOfTime():
            return Outcome(State.TIMED_OUT, started_at, ended_at, error=f"no time was left to call {service.name}")
        case Undeliverable() | NoRole():
            permanent, error = isinstance(fault, Undeliverable), str(fault)
        case Refused():
            permanent, error = _refusal(service, arn, fault.code, fault.reason)
        case botocore_errors.ClientError():
            told = fault.response["Error"]
            permanent, error = _refusal(service, arn, told.get("Code", ""), told.get("Message", ""))
        case _:
            words = (
                "cannot be reached" if isinstance(fault, botocore_errors.EndpointConnectionError) else "gave no answer"
            )
            error = f"{service.name} {words}: {type(fault).__name__}"
    return Outcome(State.FAILED, started_at, ended_at, permanent=permanent, error=error)


def _refusal(service: Service, arn: str, code: str, reason: str) -> tuple[bool, str]:
    if code in _DENIED:
        words = f"denies access ({code}): {_missing(service, code, reason)}"
    elif code in _MISSING:
        words = "does not exist"
    else:
        words = f"did not take the {service.takes}: {code}: {reason[:300]}"
    return code in service.permanent, f"{arn} {words}"


def _missing(service: Service, code: str, reason: str) -> str:
    """The denied action, and the option that allows it. Most texts of AWS name the action."""
    named = _DENIED_ACTION.search(reason)
    action = named[1] if named else service.action
    who = "Clockwork's deliverer role, or the target's roleArn, needs"
    if "kms" in f"{action} {code}".lower():
        needs = action if action.startswith("kms:") else "kms:GenerateDataKey and kms:Decrypt"
        return f"{who} {needs} on its key, by the option targetKeyArns and by the key's own policy"
    return f"{who} {action}, by the option {service.option} and, in another account, by the target's own policy"
