"""Occurrences: due instants of jobs, each with all that its delivery needs."""

from __future__ import annotations

import msgspec

from clockwork.domain.policies import Completion, Precision, RecordLevel, RetryPolicy
from clockwork.domain.workflows.definition import WorkflowTarget, targets_in
from clockwork.targets.message import Payload
from clockwork.targets.registry import Target

#: The target of a job: one of its own, or the nodes of a workflow, each with a target of its own.
JobTarget = Target | WorkflowTarget

#: A job of the precision of a second is late by that precision for so long at the most (ms).
SECOND_LATE_MS = 1_000
#: A job with a shorter relevancy window than this is never a second late by its precision.
LEAST_WINDOW_SECONDS = 3


def is_signed(target: JobTarget, on_failure: Target | None) -> bool:
    """Whether a job's deliveries or its callback are signed."""
    if target.is_signed or (on_failure is not None and on_failure.is_signed):
        return True
    return isinstance(target, WorkflowTarget) and any(one.is_signed for one in targets_in(target))


class NodeOf(msgspec.Struct, frozen=True, array_like=True):
    """The node of a workflow's run that an execution is: the executionId of the run, and the node's name."""

    run: str
    name: str


class Occurrence(msgspec.Struct, frozen=True, tag="once", rename="camel", omit_defaults=True, gc=False):
    """One due instant of a job, with all that its delivery needs. `due_at` and `created_at` are in ms."""

    client_id: str
    due_at: int
    created_at: int
    target: JobTarget
    payload: Payload
    record: RecordLevel = "full"
    retry_policy: RetryPolicy = RetryPolicy()
    signing_secrets: tuple[str, ...] = ()
    tags: dict[str, str] = {}
    #: The relevancy window: later than this after `due_since` it is of no use, and ends EXPIRED instead of delivered.
    relevancy_window_seconds: float | None = None
    #: How exactly it starts. `second`: up to a second late, since its message may come that late and is not held.
    precision: Precision = "millisecond"
    #: For how many days after its end its record is kept. None: as the deployment's setting says.
    retention_days: int | None = None
    #: Occurrences of one client with the same key are delivered one after the other, by due instant, then `sequence`.
    ordering_key: str | None = None
    sequence: int = 0
    #: The target of the callback, if its execution ends DEAD.
    on_failure: Target | None = None
    #: Its attempts end by callback; None: with the target's answer.
    completion: Completion | None = None
    #: Since when (ms) a pause of its job held it back, which ended at `created_at`. It was late from then on.
    held_from: int | None = None
    #: It has no payload, and of an HTTP target the host alone: the row of its named job has the rest.
    is_hint: bool = False

    @property
    def may_come_later(self) -> bool:
        """Whether its messages may come up to a second late. A message that would be useless by then may not."""
        window = self.relevancy_window_seconds
        return self.precision == "second" and (window is None or window >= LEAST_WINDOW_SECONDS)

    @property
    def due_since(self) -> int:
        """The earliest instant (ms) at which it could be delivered: a client may ask for an instant in the past."""
        return max(self.due_at, self.created_at)

    @property
    def late_since(self) -> int:
        """From when on (ms) it is late: its due instant, or when it was asked for if that came later."""
        return self.due_since if self.held_from is None else self.held_from

    @property
    def is_reported(self) -> bool:
        """Whether its attempts end by a report of a receiver, or of a worker of a pool, under their token."""
        return self.completion is not None or self.target.is_reported
