"""Executions: the record of an occurrence being carried out, and the words for where it stands."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

import msgspec

from clockwork.domain.jobs import Occurrence


class State(StrEnum):
    """Where an execution or one of its attempts stands. Waiting states have a `next_attempt_at`."""

    PENDING = "PENDING"  # waiting for its first attempt, or again after a redrive; a deliverer's claim moves it on
    RUNNING = "RUNNING"  # claimed; its deliverer's outcome moves it on, or the next message once the claim has ended
    FAILED = "FAILED"  # the target refused or broke off; the next attempt's claim moves it on
    TIMED_OUT = "TIMED_OUT"  # the target did not answer in time; the next attempt's claim moves it on
    WORKER_LOST = "WORKER_LOST"  # the deliverer did not live to say; the next attempt's claim moves it on
    PARKED = "PARKED"  # set aside, no attempt burnt; the sweeper releases it, then a deliverer's claim moves it on
    SUCCEEDED = "SUCCEEDED"  # final
    CANCELLED = "CANCELLED"  # final
    EXPIRED = "EXPIRED"  # final: too late to be of use
    SKIPPED = "SKIPPED"  # final: not wanted, with the reason
    DEAD = "DEAD"  # final until somebody redrives it

    @classmethod
    def _missing_(cls, value: object) -> State | None:
        """Records that version 0.1.0 stored call a parked execution SIDELINED."""
        return cls.PARKED if value == "SIDELINED" else None


DAY_MS = 86_400_000
FINAL = frozenset({State.SUCCEEDED, State.CANCELLED, State.EXPIRED, State.SKIPPED, State.DEAD})
WAITING = frozenset({State.PENDING, State.PARKED, State.FAILED, State.TIMED_OUT, State.WORKER_LOST})


class Attempt(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """One attempt that has ended. Instants in ms; lateness counts from the instant at which it was to run."""

    number: int
    state: State
    started_at: int
    ended_at: int
    lateness_ms: int = 0
    status_code: int | None = None
    error: str | None = None
    response_excerpt: str | None = None


def number_of_last(attempts: Sequence[Attempt]) -> int:
    """How many attempts were made of which the last are given."""
    return attempts[-1].number if attempts else 0


class Skipped(msgspec.Struct, frozen=True, rename="camel"):
    """A stretch of fires that are not delivered: the first and last instant at which one was due (ms), and how many."""

    from_at: int
    to_at: int
    count: int
    reason: str


class Execution(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The record of one occurrence. Every change raises `revision` by one and counts only if it was made of the latest.

    `attempt` is the number of the last attempt claimed (0 before the first), and `attempts` are the last of those that
    have ended. `claimant` and `claim_until` belong to
    RUNNING. `occurrence` is kept only where somebody may need it again (DEAD, or redriven and not claimed yet). `raw`
    holds bytes nobody could read.
    """

    job_id: str
    execution_id: str
    client_id: str
    due_at: int
    state: State
    revision: int
    expires_at: int
    attempt: int = 0
    attempts: tuple[Attempt, ...] = ()
    lost_workers: int = 0
    #: So many attempts were made before the last redrive: they do not count against `maxAttempts`.
    budget_from: int = 0
    claimant: str | None = None
    claim_until: int | None = None
    started_at: int | None = None
    next_attempt_at: int | None = None
    cancel_noted_at: int | None = None
    reason: str | None = None
    occurrence: Occurrence | None = None
    raw: bytes | None = None
    skipped: Skipped | None = None
    #: When it became DEAD (ms): the instant of its callback, the same whoever places it.
    dead_at: int | None = None
    #: The shard of the release that it died of: where its callback lies, whoever places it.
    dead_shard: str | None = None
    #: Its attempts up to here left no claim (record level `none`): where a message came twice, one may yet begin.
    unclaimed: bool = False

    @property
    def is_final(self) -> bool:
        """Nothing but a redrive moves it on."""
        return self.state in FINAL

    @property
    def needs_attention(self) -> bool:
        """Somebody should look at it: it is DEAD and not put away, or was redriven and nobody has claimed it yet."""
        is_kept = self.occurrence is not None or self.raw is not None
        return is_kept and self.state in (State.DEAD, State.PENDING)

    @property
    def attention_key(self) -> str:
        """Its place among its client's executions that need attention: by due instant."""
        return f"{self.due_at:013d}#{self.execution_id}"


def kept_until(at: int, retention_days: int | None, otherwise_at: int) -> int:
    """The TTL (ms) of the record of what ended at `at` for a client with `retention_days`, or else `otherwise_at`."""
    return otherwise_at if retention_days is None else at + retention_days * DAY_MS


class Outcome(msgspec.Struct, frozen=True):
    """What came of one attempt at a target. `permanent` failures are not tried again.

    `retry_after_seconds` is what the target asked for. `error` and `excerpt` never hold a secret.
    """

    state: State
    started_at: int
    ended_at: int
    permanent: bool = False
    status_code: int | None = None
    error: str | None = None
    excerpt: str | None = None
    retry_after_seconds: float | None = None


class DeadPage(msgspec.Struct, frozen=True):
    """Executions that need attention, those that were due last first; `next_before` asks for those that follow."""

    executions: Sequence[Execution]
    next_before: str | None
