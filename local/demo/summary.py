"""Counts the results of the demonstration: pure functions of the API's answers and of the arrivals."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from clockwork.domain.ids import only_execution
from local.demo.arrivals import Arrival
from local.demo.plan import Kind, PlannedJob

ArrivalsOf = Callable[[str], Sequence[Arrival]]
#: Further ahead of the last create than any horizon was (ms). A job that is due later and arrives was found by a poller
#: that a tick started.
BEYOND_HORIZON_MS = 80_000
#: The number that is shown only where there is a Kafka broker.
OF_KAFKA = "kafkaMessage"
#: The numbers shown of a pool, of work that ends later, of a workflow, and of resources of AWS.
POOL_SHOWN = (
    "jobs",
    "resumedFromCheckpoint",
    "cancelledRunning",
    "completedByCallback",
    "undoneWorkflow",
    "redrivenWorkflow",
    "stateMachineOutput",
    "stoppedTask",
    "kinesisRecord",
    OF_KAFKA,
)


@dataclass(frozen=True)
class CreatedJob:
    """A job that the API accepted: `state` is from the 201, `cancel_result` from the DELETE, if there was one."""

    planned: PlannedJob
    job_id: str
    state: str
    due_at: int
    created_at: int
    cancel_result: str = ""

    @property
    def execution_id(self) -> str:
        """The id of the execution under which the job arrives."""
        return only_execution(self.job_id, self.due_at)

    @property
    def is_cancelled(self) -> bool:
        """Whether the API promised that no attempt will start."""
        return self.cancel_result == "cancelled"


@dataclass(frozen=True)
class Lateness:
    """How late first attempts arrived, in ms; zeros if nothing arrived."""

    p50: int = 0
    p99: int = 0
    max: int = 0

    @staticmethod
    def of(values: Sequence[int]) -> Lateness:
        """Percentiles by nearest rank: each is a value that was measured."""
        ordered = sorted(values)
        if not ordered:
            return Lateness()
        return Lateness(_nearest_rank(ordered, 0.5), _nearest_rank(ordered, 0.99), ordered[-1])


def _nearest_rank(ordered: Sequence[int], share: float) -> int:
    return ordered[math.ceil(share * len(ordered)) - 1]


@dataclass(frozen=True)
class Followed:
    """A job with its arrivals."""

    job: CreatedJob
    arrivals: Sequence[Arrival]

    @property
    def accepted(self) -> int:
        """How many attempts the target accepted: one, if all is well."""
        return sum(arrival.accepted for arrival in self.arrivals)

    @property
    def is_early(self) -> bool:
        """Whether an attempt arrived before the job was due."""
        return any(arrival.at < self.job.due_at for arrival in self.arrivals)

    @property
    def lateness_ms(self) -> int | None:
        """How late the first attempt arrived (ms); None while none has arrived."""
        return min(arrival.at for arrival in self.arrivals) - self.job.due_at if self.arrivals else None

    @property
    def is_settled(self) -> bool:
        """Whether no further arrival is expected: the job was cancelled or has been accepted."""
        return self.job.is_cancelled or self.accepted > 0

    @property
    def fault(self) -> str | None:
        """The job's fault at the end, as a phrase; None if it has none."""
        if self.job.is_cancelled:
            return "arrived although it was cancelled" if self.arrivals else None
        if self.accepted > 1:
            return f"was accepted {self.accepted} times"
        if self.accepted == 0:
            return f"was not accepted ({_tried(self.arrivals)})"
        return "arrived before it was due" if self.is_early else None


def _tried(arrivals: Sequence[Arrival]) -> str:
    notes = sorted({arrival.note for arrival in arrivals if arrival.note})
    return "; ".join([f"attempts: {len(arrivals)}", *notes])


@dataclass(frozen=True)
class Summary:
    """The result. The `paths` overlap: a job that was retried had been released by its create."""

    jobs: int
    delivered: int
    duplicates: int
    early: int
    lateness: Lateness
    paths: dict[str, int]
    faults: tuple[tuple[CreatedJob, str], ...]
    #: Faults of the other things that were shown.
    further_faults: tuple[str, ...] = ()
    #: How often each of POOL_SHOWN was seen.
    pool: Mapping[str, int] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether each job arrived once and not early, or not at all if cancelled, and every path was taken."""
        is_shown = all(self.paths.values()) and all(self.pool.values())
        return not self.faults and not self.further_faults and is_shown

    def as_json(self) -> dict[str, Any]:
        """The object that the demonstration prints last."""
        lateness = {"p50": self.lateness.p50, "p99": self.lateness.p99, "max": self.lateness.max}
        return {
            "jobs": self.jobs,
            "delivered": self.delivered,
            "duplicates": self.duplicates,
            "early": self.early,
            "latenessMs": lateness,
            "byPath": self.paths,
            "pool": dict(self.pool),
        }


def follow(jobs: Sequence[CreatedJob], arrivals_of: ArrivalsOf) -> list[Followed]:
    """Join the jobs that the API accepted with their arrivals."""
    return [Followed(job, arrivals_of(job.execution_id)) for job in jobs]


def summarize(followed: Sequence[Followed]) -> Summary:
    """Count deliveries, duplicates, early arrivals, lateness, paths and faults."""
    late = [one.lateness_ms for one in followed]
    return Summary(
        jobs=len(followed),
        delivered=sum(one.accepted > 0 for one in followed),
        duplicates=sum(one.accepted > 1 for one in followed),
        early=sum(one.is_early for one in followed),
        lateness=Lateness.of([value for value in late if value is not None]),
        paths=_paths(followed),
        faults=tuple((one.job, one.fault) for one in followed if one.fault),
    )


def _paths(followed: Sequence[Followed]) -> dict[str, int]:
    beyond = max((one.job.created_at for one in followed), default=0) + BEYOND_HORIZON_MS
    delivered = [one for one in followed if one.accepted]
    return {
        "created_released": sum(one.job.state == "RELEASED" for one in delivered),
        "tick_released": sum(one.job.state == "SCHEDULED" and one.job.due_at >= beyond for one in delivered),
        "retried": sum(len(one.arrivals) > one.accepted for one in delivered),
        "cancelled": sum(one.job.is_cancelled and not one.arrivals for one in followed),
    }


@dataclass(frozen=True)
class Row:
    """One line of the table: the jobs of a kind so far."""

    label: str
    created: int
    due: int
    delivered: int
    attempts: int
    lateness: Lateness | None


def rows(followed: Sequence[Followed], now: int) -> list[Row]:
    """One row per kind, and a last one of all jobs."""
    kinds = {str(kind): [one for one in followed if one.job.planned.kind is kind] for kind in Kind}
    return [_row(label, some, now) for label, some in {**kinds, "all": list(followed)}.items()]


def _row(label: str, followed: Sequence[Followed], now: int) -> Row:
    late = [one.lateness_ms for one in followed if one.lateness_ms is not None]
    return Row(
        label=label,
        created=len(followed),
        due=sum(one.job.due_at <= now and not one.job.is_cancelled for one in followed),
        delivered=sum(one.accepted > 0 for one in followed),
        attempts=sum(len(one.arrivals) for one in followed),
        lateness=Lateness.of(late) if late else None,
    )


def next_due_in_ms(followed: Sequence[Followed], now: int) -> int | None:
    """Milliseconds until the next job is due that is not settled; None if there is none."""
    ahead = [one.job.due_at - now for one in followed if one.job.due_at > now and not one.is_settled]
    return min(ahead, default=None)
