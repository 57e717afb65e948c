"""Attempts at targets that are AWS services: their faults as outcomes, in words that a person can act on."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Protocol

from clockwork.aws import botocore_errors
from clockwork.aws.deadlines import OutOfTime, calls_until
from clockwork.aws.repeats import batches_within
from clockwork.domain.executions import Outcome, State
from clockwork.domain.releases import Delivery
from clockwork.ports import Clock
from clockwork.targets.message import Errand
from clockwork.targets.service import LARGEST_CALL, Entry, Refused, Service, ServiceTarget, Undeliverable

Faults = Mapping[int, Exception]

#: For so long (ms) a resource is known to tell ends, and so many at once: a client may name any below its wildcards.
KNOWN_FOR_MS = 600_000
MOST_KNOWN = 1_000
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
        "StateMachineDoesNotExist",
    }
)

#: The states of outcomes by the word of a service.
_STATES = {
    "running": State.RUNNING,
    "unknown": State.WORKER_LOST,
    "succeeded": State.SUCCEEDED,
    "failed": State.FAILED,
}
#: The action in the words with which AWS denies access: `... is not authorized to perform: sqs:SendMessage on ...`.
_DENIED_ACTION = re.compile(r"not authorized to perform: ([a-z0-9-]+:[A-Za-z]+)")


class NoRole(Exception):
    """The deliverer could not assume the role that the target names; the message says why."""


def expected() -> tuple[type[Exception], ...]:
    """The faults that an attempt is expected to meet. Any other exception is a defect of ours and raised as one."""
    of_botocore = botocore_errors.ClientError, botocore_errors.BotoCoreError, botocore_errors.ResponseParserError
    return Undeliverable, NoRole, OutOfTime, Refused, *of_botocore


class ServiceClients(Protocol):
    """The source of a transport's clients of AWS services.

    A client tries each call once: the retry policy of the job decides on retries.
    """

    def client(self, service: str, role_arn: str | None, client_id: str, deadline_at: int) -> Any:
        """A client for one call now, which ends by `deadline_at` (ms); under the role if there is one.

        Raises NoRole if the role cannot be assumed, and OutOfTime if a call cannot end by then.
        """


class ServiceTransport:
    """Delivers to targets of one type, in Clockwork's own region; safe for many threads.

    Each call is one try of a client whose timeouts fit into the rest of the time. The client checks the deadline again
    before it sends. Nothing is therefore sent after the deadline, when the attempt may have been reported as over.
    """

    def __init__(self, kind: type[ServiceTarget], clients: ServiceClients, clock: Clock) -> None:
        self._kind = kind
        self._service = kind.service
        self._clients = clients
        self._clock = clock
        #: ARNs of targets that tell ends, each with the instant (ms) until which that is known.
        self._known_to_end: dict[str, int] = {}

    def fellows(self, delivery: Delivery) -> Hashable:
        """The key of attempts that may share one call: resource, role and client."""
        target = self._target_of(delivery)
        return target.arn, target.role, delivery.occurrence.client_id

    def deliver(self, delivery: Delivery) -> Outcome:
        """Make the attempt, or do its errand; a fault becomes its outcome."""
        if delivery.errand is not None:
            return self._do(delivery, delivery.errand)
        return self.deliver_all([delivery])[0]

    def _do(self, delivery: Delivery, errand: Errand) -> Outcome:
        """Ask the service of what an earlier attempt began, and stop it if it is to stop. A fault tells nothing."""
        target, message, started_at = self._target_of(delivery), delivery.message, self._clock.now()
        if (too_late := delivery.too_late(started_at)) is not None:
            return too_late
        with calls_until(self._clock, delivery.deadline_at):
            try:
                client = self._client_for(delivery)
                told = target.ask(client, message)
                if errand is Errand.STOP and told.status == "running":
                    target.stop(client, message)
            except expected() as fault:
                return _outcome_of(fault, self._service, target.arn, started_at, self._clock.now())
        state = _STATES[told.status]
        return Outcome(state, started_at, self._clock.now(), error=told.error, answer=told.result, told=True)

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
        arn = self._target_of(deliveries[0]).arn
        started_at = self._clock.now()
        with calls_until(self._clock, min(delivery.deadline_at for delivery in deliveries)):
            faults = self._faults_of(deliveries)
        ended_at = self._clock.now()
        return [_outcome_of(faults.get(n), self._service, arn, started_at, ended_at) for n in range(len(deliveries))]

    def _faults_of(self, deliveries: Sequence[Delivery]) -> Faults:
        """Send a message for each delivery, in as many calls as they need; the faults by index of the delivery."""
        faults: dict[int, Exception] = {}
        entries: list[tuple[int, Entry]] = []
        for number, delivery in enumerate(deliveries):
            try:
                if delivery.ends_there:
                    self._check_end(delivery)
                entries.append((number, self._target_of(delivery).entry(delivery.message)))
            except expected() as fault:
                faults[number] = fault
        for call in batches_within(
            entries, self._kind.most_in_call, LARGEST_CALL, lambda one: self._kind.bytes_of(one[1])
        ):
            faults |= self._call(deliveries[0], dict(call))
        return faults

    def _check_end(self, delivery: Delivery) -> None:
        """Raise Undeliverable if nobody would tell the end of what the attempt begins.

        The kind of a resource never changes, but somebody may make another one under the same name.
        """
        target, now = self._target_of(delivery), self._clock.now()
        if self._known_to_end.get(target.arn, 0) > now:
            return
        target.check_end(self._client_for(delivery))
        if len(self._known_to_end) >= MOST_KNOWN:
            self._known_to_end.clear()
        self._known_to_end[target.arn] = now + KNOWN_FOR_MS

    def _call(self, first: Delivery, entries: Mapping[int, Entry]) -> Faults:
        """Send entries in one call; the faults, by the number of the entry."""
        try:
            told = self._target_of(first).send(self._client_for(first), list(entries.values()))
        except botocore_errors.ClientError as fault:
            if len(entries) > 1 and fault.response["Error"].get("Code") in self._service.permanent:
                # The service refused the call for one of its entries and does not say which. Each is sent again alone,
                # so that the others do not fail with it.
                alone = [self._call(first, {number: entry}) for number, entry in entries.items()]
                return {number: told for faults in alone for number, told in faults.items()}
            return dict.fromkeys(entries, fault)
        except expected() as fault:
            return dict.fromkeys(entries, fault)
        silent = Refused("NoAnswer", f"{self._service.name} did not say whether it took it")
        refused = {number: told.get(index, silent) for index, number in enumerate(entries)}
        return {number: fault for number, fault in refused.items() if fault is not None}

    def _target_of(self, delivery: Delivery) -> ServiceTarget:
        """The delivery's target; raises TypeError if it is of another type."""
        target = delivery.occurrence.target
        if not isinstance(target, self._kind):
            raise TypeError(f"{self._service.name} is not the service of a {type(target).__name__}")
        return target

    def _client_for(self, delivery: Delivery) -> Any:
        """A client for one call within the deadline; raises NoRole, OutOfTime and Undeliverable."""
        target = self._target_of(delivery)
        client_id = delivery.occurrence.client_id
        client = self._clients.client(self._service.client, target.role, client_id, delivery.deadline_at)
        self._service.check(target.arn, client)
        return client


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
