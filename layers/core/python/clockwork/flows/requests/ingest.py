"""Ingest messages of a queue or a topic: create and cancel jobs, in the order of each lane.

The ingester acknowledges a message once its request is done, or once it is stored with a reason among the rejected. A
message whose request cannot be done now comes back, and with it all messages behind it in its lane. A request among
them that was done already is done again under the same key, which makes it the same job.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

from clockwork.domain.errors import (
    ClockworkError,
    JobNotFound,
    KeyReused,
    PartlyUnavailable,
    RevisionConflict,
    TooManyRequests,
    Unavailable,
)
from clockwork.domain.ids import is_named
from clockwork.domain.lifecycle.cancels import Verdict
from clockwork.domain.named.changes import cancelled
from clockwork.domain.requests.create import CreateRequest, Rejected
from clockwork.domain.workflows.definition import nodes_of
from clockwork.flows.access import Caller, get_by_key, get_named
from clockwork.flows.containment import why
from clockwork.flows.named import write
from clockwork.flows.requests.cancel import cancel_job
from clockwork.flows.requests.create import create_each
from clockwork.flows.requests.quotas import Intake
from clockwork.flows.world import World
from clockwork.ports import Refused

log = logging.getLogger(__name__)

#: A message of a client over its caps waits at most this long (s). A longer wait would hold up its whole lane, so then
#: the message is rejected.
LONGEST_WAIT_SECONDS = 60


class Message(msgspec.Struct, frozen=True):
    """A message as it came. `message_id` is the same each time it comes; the messages of a `lane` keep their order."""

    message_id: str
    lane: str
    body: bytes


class Cancel(msgspec.Struct, frozen=True):
    """A request to cancel a job: by its id, or by its client and jobKey."""

    caller: Caller
    job_id: str | None = None
    client_id: str = ""
    job_key: str = ""


Command = CreateRequest | write.NamedRequest | Cancel
Read = Callable[[Message], Command]


class IngestReport(msgspec.Struct):
    """Counts of one batch. The messages in `failed` (ids) come back; all others are acknowledged."""

    failed: list[str] = []
    created: int = 0
    cancelled: int = 0
    too_late: int = 0
    rejected: int = 0


class Rejects(Protocol):
    """The store of rejected messages and their reasons."""

    def send(self, rejected: Sequence[Rejected]) -> Sequence[Refused]:
        """Store rejected messages. Reports those that were not taken, and never raises Unavailable."""


class Ingestion:
    """The messages of one invocation, and how far their requests are done."""

    def __init__(self, world: World, rejects: Rejects, intake: Intake, partitions: Sequence[str], read: Read) -> None:
        self._world = world
        self._rejects = rejects
        self._intake = intake
        self._partitions = partitions
        self._read = read
        self._report = IngestReport()
        #: Lanes in which a message failed: the messages behind it wait for it.
        self._blocked: set[str] = set()
        #: Anonymous creates that directly follow each other: they are written together.
        self._waiting: list[tuple[Message, CreateRequest]] = []
        self._rejected: list[tuple[Message, str]] = []

    def run(self, messages: Sequence[Message]) -> IngestReport:
        """Carry out the messages' requests. Never raises for a bad message, or for a store that cannot act now."""
        # 1. Take the messages in order. A cancel is done after all creates that stand before it.
        for message in messages:
            self._take(message)
        self._create_waiting()
        # 2. Store the rejected messages. Only a message that is stored there may be acknowledged.
        self._send_rejected()
        return self._report

    def _take(self, message: Message) -> None:
        if message.lane in self._blocked:
            self._report.failed.append(message.message_id)
            return
        try:
            command = self._read(message)
            if isinstance(command, CreateRequest):
                nodes = sum(nodes_of(job.target) for job in command.jobs)
                self._intake.admit(self._world, command.client, len(command.jobs), nodes)
                self._waiting.append((message, command))
                return
            self._create_waiting()
            if message.lane in self._blocked:
                self._report.failed.append(message.message_id)
            elif isinstance(command, Cancel):
                self._cancel(command)
            else:
                self._create_named(command)
        except Exception as fault:  # noqa: BLE001 - whatever one message raises, those of other lanes go on
            self._retry_or_reject(message, fault)

    def _create_waiting(self) -> None:
        waiting, self._waiting = self._waiting, []
        if waiting:
            self._create(waiting)

    def _create(self, waiting: Sequence[tuple[Message, CreateRequest]]) -> None:
        """Create together; if that raises, each alone. All are under keys, so a repeat is the same job.

        An outage is everybody's: all other faults may be of one message, or of one stored row. A job whose release is
        refused comes back by itself: those beside it were sent, and are not sent again.
        """
        try:
            outcomes = create_each(self._world, [request for _, request in waiting], self._partitions)
        except Exception as fault:  # noqa: BLE001 - whatever one message raises, those of other lanes go on
            is_outage = isinstance(fault, Unavailable) and not isinstance(fault, PartlyUnavailable)
            if is_outage or len(waiting) == 1:
                for message, _ in waiting:
                    self._retry_or_reject(message, fault)
                return
            for one in waiting:
                self._create([one])
            return
        for (message, _), outcome in zip(waiting, outcomes, strict=True):
            if isinstance(outcome, KeyReused | Unavailable):
                self._retry_or_reject(message, outcome)
            else:
                self._report.created += 1

    def _create_named(self, request: write.NamedRequest) -> None:
        self._intake.admit(self._world, request.client, 1, nodes_of(request.definition.target))
        self._report.created += write.create_named(self._world, request, self._partitions).created

    def _cancel(self, wanted: Cancel) -> None:
        job_id = wanted.job_id
        if job_id is not None and not is_named(job_id):
            in_time = cancel_job(self._world, wanted.caller, job_id).verdict is Verdict.CANCELLED
        else:
            in_time = self._cancel_named(wanted, job_id)
        self._report.cancelled += in_time
        self._report.too_late += not in_time

    def _cancel_named(self, wanted: Cancel, job_id: str | None) -> bool:
        if job_id is not None:
            job = get_named(self._world, wanted.caller, job_id)
        else:
            found = get_by_key(self._world, wanted.client_id, wanted.job_key)
            if found is None:
                raise JobNotFound(wanted.job_key)
            job = found
        if job.is_alive:
            written = write.change(self._world, job, None, cancelled(None))
        else:
            written = write.unchanged(self._world, job)
        return not written.running and not written.may_be_under_way

    def _retry_or_reject(self, message: Message, fault: Exception) -> None:
        """Let a message come back if its request can be done later, or for a defect; reject it if it never can be."""
        waits = isinstance(fault, TooManyRequests) and fault.retry_after_seconds <= LONGEST_WAIT_SECONDS
        if waits or isinstance(fault, Unavailable | RevisionConflict) or not isinstance(fault, ClockworkError):
            reason = why(self._world.environment.faults, fault, message.message_id)
            log.warning(
                "ingestion waits: %s", reason, extra={"action": "ingestion_waits", "messageId": message.message_id}
            )
            self._blocked.add(message.lane)
            self._report.failed.append(message.message_id)
        else:
            self._rejected.append((message, reason_of(fault)))

    def _send_rejected(self) -> None:
        rejects = [Rejected(message.message_id, message.lane, message.body, why) for message, why in self._rejected]
        refused = {refusal.index for refusal in self._rejects.send(rejects)} if rejects else set()
        self._report.failed += [self._rejected[index][0].message_id for index in sorted(refused)]
        self._report.rejected += len(rejects) - len(refused)


def reason_of(fault: ClockworkError) -> str:
    """The reason for which a message is rejected, in words for its sender."""
    return f"there is no such job: {fault}" if isinstance(fault, JobNotFound) else str(fault)
