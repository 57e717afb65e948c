"""The bodies of answers to the workers of a pool."""

from __future__ import annotations

from typing import Annotated, Any, Self

import msgspec
from msgspec import Meta

from clockwork.domain.pools.checkpoint import Checkpoint
from clockwork.edge.http.answer import AnswerBody, one_of
from clockwork.edge.responses.targets import shown_payload
from clockwork.flows.pools.claim import Claimed, Start
from clockwork.flows.pools.reports import Taken

START, GONE, UNAVAILABLE = "start", "gone", "unavailable"
OK, STALE = "ok", "stale"


class KeptCheckpoint(AnswerBody):
    """The last checkpoint of the execution's attempts."""

    attempt: int
    sequence: int
    value: Any


class ClaimAnswer(AnswerBody, kw_only=True):
    """The result of a ticket. `gone`: there is nothing to do. `unavailable`: ask again; the message is still there."""

    claim_id: str
    outcome: Annotated[str, one_of([START, GONE, UNAVAILABLE])]
    execution_id: str | None = None
    job_id: str | None = None
    job_key: str | None = None
    client_id: str | None = None
    attempt: int | None = None
    token: Annotated[str | None, Meta(description="of the attempt: under it the worker tells of it")] = None
    handler: str | None = None
    payload: Any = None
    start_in_ms: Annotated[int | None, Meta(description="from the answer on: not to be started before")] = None
    lease_in_ms: Annotated[int | None, Meta(description="from when the request was sent: the claim ends then")] = None
    deadline_in_ms: Annotated[int | None, Meta(description="from when the request was sent: the attempt ends")] = None

    checkpoint: Annotated[KeptCheckpoint | None, Meta(description="of an attempt before")] = None
    run: Annotated[str | None, Meta(description="of a workflow's node: the executionId of its run")] = None
    node: Annotated[str | None, Meta(description="of a workflow's node: its name")] = None

    @classmethod
    def of(cls, claimed: Claimed) -> Self:
        """The answer about one ticket."""
        if claimed.start is None:
            return cls(claim_id=claimed.claim_id, outcome=UNAVAILABLE if claimed.is_left else GONE)
        return cls(claim_id=claimed.claim_id, outcome=START, **_of_start(claimed.start))


def _of_start(start: Start) -> dict[str, Any]:
    release, record = start.release, start.claimed
    awaited = None if record.claim is None else record.claim.awaited
    assert awaited is not None, "it runs under its worker's claim"
    node = release.of.node
    return {
        "execution_id": release.execution_id,
        "job_id": release.job_id,
        "job_key": start.job_key,
        "client_id": release.occurrence.client_id,
        "attempt": release.attempt,
        "token": start.token,
        "handler": start.target.handler,
        "payload": shown_payload(release.occurrence.payload),
        "start_in_ms": start.start_in_ms,
        "lease_in_ms": start.lease_in_ms,
        "deadline_in_ms": max(0, awaited.deadline_at - start.now),
        "checkpoint": start.checkpoint and _kept(start.checkpoint),
        "run": node and node.run,
        "node": node and node.name,
    }


def _kept(checkpoint: Checkpoint) -> KeptCheckpoint:
    return KeptCheckpoint(checkpoint.attempt, checkpoint.sequence, msgspec.json.decode(checkpoint.value))


class ClaimAnswers(AnswerBody):
    """One for each claim, in the same order."""

    claims: list[ClaimAnswer]


class BeatAnswer(AnswerBody, kw_only=True):
    """The result of a heartbeat. `stale`: the claim is over, and the work may be another worker's."""

    execution_id: str | None = None
    outcome: Annotated[str, one_of([OK, STALE, UNAVAILABLE])]
    lease_in_ms: Annotated[int | None, Meta(description="from when the request was sent: the claim ends then")] = None
    cancel_requested: Annotated[bool | None, Meta(description="a cancel was noted: stop, and say `cancelled`")] = None

    @classmethod
    def of(cls, taken: Taken, now: int) -> Self:
        """The answer about one heartbeat, at `now` (ms)."""
        outcome = _outcome_of(taken)
        record = taken.record
        if outcome != OK or record is None or record.claim is None:
            return cls(execution_id=taken.execution_id, outcome=outcome)
        return cls(
            execution_id=taken.execution_id,
            outcome=OK,
            lease_in_ms=max(0, record.claim.until - now),
            cancel_requested=record.cancel_noted_at is not None,
        )


class BeatAnswers(AnswerBody):
    """One for each heartbeat, in the same order."""

    heartbeats: list[BeatAnswer]


class OutcomeAnswer(AnswerBody, kw_only=True):
    """The result of a report. `stale`: the claim is over, and nothing was changed."""

    execution_id: str | None = None
    outcome: Annotated[str, one_of([OK, STALE, UNAVAILABLE])]

    @classmethod
    def of(cls, taken: Taken) -> Self:
        """The answer about one report."""
        return cls(execution_id=taken.execution_id, outcome=_outcome_of(taken))


class OutcomeAnswers(AnswerBody):
    """One for each report, in the same order."""

    outcomes: list[OutcomeAnswer]


def _outcome_of(taken: Taken) -> str:
    if taken.is_unavailable:
        return UNAVAILABLE
    return STALE if taken.is_stale else OK
