"""Operators who take targets away from a client and put them back, and the judge of what it may still call.

A client that may not send to a target any more is refused at its next attempt, permanently. An attempt under way goes
on.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

import msgspec

from clockwork.domain.clients import Client
from clockwork.domain.executions import Execution, State
from clockwork.domain.jobs import JobTarget
from clockwork.domain.releases import Delivery
from clockwork.targets.ecs import EcsTarget
from clockwork.targets.http import HttpTarget
from clockwork.targets.kafka.target import KafkaTarget
from clockwork.targets.pool import PoolTarget
from clockwork.targets.sqs import SqsTarget
from clockwork.targets.step_functions import StepFunctionsTarget

#: How the reason of a refused execution ends.
REFUSED = "allowed"


def is_granted(target: JobTarget, client: Client) -> bool:
    """Whether the client lists the target. No host in the simulation has a port, a wildcard or an alias."""
    match target:
        case HttpTarget():
            hosts = client.allowed_target_hosts
            return not hosts or target.url.split("/")[2] in hosts
        case SqsTarget():
            return target.queue_arn in client.allowed_queue_arns
        case KafkaTarget():
            return target.topic in client.allowed_topics
        case PoolTarget():
            return target.pool in client.allowed_pools
    if isinstance(target, StepFunctionsTarget):
        return target.state_machine_arn in client.allowed_target_arns
    if isinstance(target, EcsTarget):
        return {target.task_definition_arn, target.cluster_arn} <= {*client.allowed_target_arns}
    raise TypeError(f"no client of the simulation names {target}")


class Grants:
    """The targets that each client may send to, now and earlier."""

    def __init__(self, invocation_ms: int, skew_ms: int) -> None:
        #: An invocation that began before a change may go by the client as it was, for so long (ms).
        self._invocation_ms = invocation_ms
        #: A clock of an invocation differs from true time by so much at the most (ms).
        self._skew_ms = skew_ms
        self._known: defaultdict[str, list[tuple[int, Client]]] = defaultdict(list)
        #: False where clients are written past this judge: then it objects to nothing.
        self.knows_clients = True

    def changed(self, client: Client, now: int) -> None:
        """Note a client as it is stored from `now` (ms) on."""
        self._known[client.client_id].append((now, client))

    def objection(self, delivery: Delivery, now: int) -> str | None:
        """Why an attempt must not begin now, or None."""
        target = delivery.occurrence.target
        if not self.knows_clients or self._was_ever(
            delivery.occurrence.client_id, now, lambda client: is_granted(target, client)
        ):
            return None
        return f"an attempt goes to {target}, which was taken away from its client"

    def refusal_objection(self, record: Execution) -> str | None:
        """Why an execution must not end like this, or None: refused though nothing was taken away, or without reason.

        The judge goes by when it was refused, as its attempt says, and not by when that was saved. An environment may
        sleep or be frozen between the two, in the call that saves. A deliverer that refuses has asked for the client
        within its own invocation. A reason is therefore only how the client was within the longest invocation before
        that instant.

        At level `none` a duplicate of its message may have been started.
        """
        refused = record.attempts[-1] if record.attempts else None
        if refused is None or refused.error is None or REFUSED not in refused.error:
            return None
        if record.state is not State.DEAD or refused.error not in (record.reason or ""):
            return f"it was refused, and is {record.state}: {record.reason}"
        _, first = self._known[record.client_id][0]
        if all(_has_all(one, first) for one in self._lately(record.client_id, refused.started_at)):
            return f"it is refused, and nothing was taken away: {refused.error}"
        return None

    def _was_ever(self, client_id: str, now: int, holds: Callable[[Client], bool]) -> bool:
        return any(map(holds, self._lately(client_id, now)))

    def _lately(self, client_id: str, now: int) -> list[Client]:
        """The client as it was at the beginning of the longest invocation that knows `now`, and at each change since.

        `now` is of any clock.
        """
        known = [(at, client) for at, client in self._known[client_id] if at <= now + self._skew_ms]
        since = now - self._invocation_ms
        first = max((index for index, (at, _) in enumerate(known) if at <= since), default=0)
        return [client for _, client in known[first:]]


def _has_all(client: Client, first: Client) -> bool:
    names = ("allowed_target_hosts", "allowed_queue_arns", "allowed_topics", "allowed_pools")
    return all(getattr(client, name) == getattr(first, name) for name in names)


def without_some(client: Client, kept: float, draw: Callable[[], float]) -> Client:
    """The client with a drawn part of its queues, topics and hosts; the first host is for its callbacks, and stays."""
    first, *hosts = client.allowed_target_hosts
    return msgspec.structs.replace(
        client,
        allowed_target_hosts=(first, *(host for host in hosts if draw() < kept)),
        allowed_queue_arns=tuple(arn for arn in client.allowed_queue_arns if draw() < kept),
        allowed_topics=tuple(topic for topic in client.allowed_topics if draw() < kept),
        allowed_pools=tuple(pool for pool in client.allowed_pools if draw() < kept),
    )
