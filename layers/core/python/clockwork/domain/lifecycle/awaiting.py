"""Attempts that end by callback: the notes of their claim, its end, and the watch that arrives at the end.

The claim begins as the deliverer's. Once the target has accepted, the claim is the receiver's and outlives the
deliverer. The watch is the attempt's own release, sent again for the end of the claim. A watch never starts an attempt.
It ends a claim that is over, sends the next release, or is sent again for the claim's new end.
"""

from __future__ import annotations

import msgspec

from clockwork.domain import ids
from clockwork.domain.executions import LONGEST_ERROR, Awaited, End, Execution, Outcome, Report, State
from clockwork.domain.lifecycle.retries import backoff_seconds
from clockwork.domain.releases import Of, Release, Watch
from clockwork.targets.pool import PoolTarget

#: Clocks differ, by up to 3 s: a claim counts as ended only this long after its end (ms).
CLAIM_GRACE_MS = 4_000
#: Once a cancel was noted, the receiver of the attempt has so long (ms) to hear of it, and to stop or to finish.
CANCEL_GRACE_MS = 60_000
#: An execution is handed back so often. After that a handback is a failure, so that its attempts end.
MOST_HANDBACKS = 10


class Worker(msgspec.Struct, frozen=True):
    """A worker of a pool that claims, under the name that it gives itself; each sign of life holds for `lease_ms`.

    `permit`: the one that it holds for this attempt, if the client has a concurrency limit.
    """

    pool: str
    worker_id: str
    lease_ms: int
    permit: int | None = None


def awaited_by(release: Release, started_at: int, worker: Worker | None = None) -> Awaited | None:
    """The notes of a claim, for an attempt that starts at `started_at` (ms).

    None if the target's answer ends the attempt.

    A worker has the attempt as soon as it is claimed. A receiver has it once its target has accepted.
    """
    target, completion = release.occurrence.target, release.occurrence.completion
    if worker is not None and isinstance(target, PoolTarget):
        return Awaited(
            heartbeat_ms=worker.lease_ms,
            deadline_at=started_at + round(target.timeout_seconds * 1000),
            accepted_at=started_at,
            pool=worker.pool,
            worker_id=worker.worker_id,
            permit=worker.permit,
        )
    if completion is None:
        return None
    return Awaited(
        heartbeat_ms=round(completion.heartbeat_seconds * 1000),
        deadline_at=started_at + round(completion.timeout_seconds * 1000),
    )


def renewed_until(running: Execution, now: int) -> int:
    """The end (ms) of its claim after a sign of life at `now`: never earlier than before, nor past its deadline."""
    assert running.claim is not None and running.awaited is not None
    renewed = min(now + running.awaited.heartbeat_ms, running.awaited.deadline_at)
    return max(renewed, running.claim.until) if running.is_accepted else renewed


def ends_at(running: Execution) -> int:
    """The end (ms) of an attempt's claim. A receiver's claim also ends with the grace after a noted cancel.

    A run does not: it ends once its nodes have ended.
    """
    lease_until = 0 if running.claim is None else running.claim.until
    awaited = None if running.claim is None else running.claim.awaited
    if running.cancel_noted_at is None or awaited is None or awaited.accepted_at is None or awaited.is_run:
        return lease_until
    return min(lease_until, running.cancel_noted_at + CANCEL_GRACE_MS)


def is_grace_over(running: Execution, now: int) -> bool:
    """Whether a cancel was noted, and the receiver has had its time to stop."""
    return running.cancel_noted_at is not None and now >= running.cancel_noted_at + CANCEL_GRACE_MS


def watch_of(release: Release, running: Execution, at: int | None = None) -> Watch:
    """The watch of the attempt that runs: for the end of its claim, or for `at` (ms)."""
    run_at = ends_at(running) + CLAIM_GRACE_MS if at is None else at
    return Watch(release.of, release.occurrence, run_at, running.attempt)


def watched_again(running: Execution) -> Execution | None:
    """The record once a repeat of a cancel has sent the watch for the end of the grace; None if none is to be sent."""
    if not running.is_accepted or running.cancel_noted_at is None:
        return None
    if running.claim is None or running.awaited is None or running.awaited.watched_again or running.awaited.is_run:
        return None
    return running.renewed(running.claim.until, msgspec.structs.replace(running.awaited, watched_again=True))


def release_of(stored: Execution) -> Watch:
    """The release of an attempt that is awaited, or was handed back, made again from its record. It starts nothing."""
    kept, occurrence = stored.kept, stored.kept.occurrence
    assert occurrence is not None, "the record of an awaited attempt keeps its occurrence"
    run = ids.decode_execution(stored.execution_id).run
    of = Of(stored.job_id, run, kept.partition_id, kept.revision, kept.source, kept.node)
    started_at = occurrence.due_since if stored.claim is None else stored.claim.started_at
    return Watch(of, occurrence, started_at, stored.attempt)


def silence(release: Release, running: Execution, now: int) -> Outcome:
    """The outcome of an accepted attempt whose claim has ended without a report, or whose grace after a cancel has.

    The first receiver that is lost is replaced at once. After that the retry policy's longest backoff holds, since no
    deliverer of ours was at fault.
    """
    assert running.claim is not None and running.awaited is not None
    began_at = running.claim.started_at
    if is_grace_over(running, now):
        return Outcome(State.CANCELLED, began_at, now, error="its receiver went on though a cancel was noted")
    if now >= running.awaited.deadline_at:
        return Outcome(State.TIMED_OUT, began_at, now, error="nothing was reported before its deadline")
    lost_before = sum(attempt.state is State.WORKER_LOST for attempt in running.attempts)
    policy = release.occurrence.retry_policy
    wait = backoff_seconds(policy, running.spent, 1.0) if lost_before else None
    error = "its receiver was lost: no heartbeat came in time"
    return Outcome(State.WORKER_LOST, began_at, now, error=error, retry_after_seconds=wait)


def answered(running: Execution, outcome: Outcome) -> End:
    """The end of a workflow's node whose target answered, with the answer as its result, or why there is none."""
    if running.claim is None or (outcome.answer is None and outcome.error is None):
        return running.end
    report = Report(running.claim.claimant, State.SUCCEEDED, outcome.ended_at, outcome.answer, outcome.error)
    return End(report=report)


def reported(running: Execution, report: Report) -> Outcome:
    """The outcome of an attempt whose receiver has reported it.

    Of an error it has the beginning, by bytes: a hundred of them have to fit into a record.
    """
    state, error = report.state, report.error
    if state is State.HANDED_BACK and running.budget.handbacks >= MOST_HANDBACKS:
        state, error = State.FAILED, f"it was handed back {MOST_HANDBACKS} times before"
    return Outcome(
        state,
        report.at if running.claim is None else running.claim.started_at,
        report.at,
        permanent=report.state is State.FAILED and not report.retryable,
        error=None if error is None else error.encode()[:LONGEST_ERROR].decode(errors="ignore"),
        retry_after_seconds=report.retry_after_seconds,
    )
