"""Attempts that end by callback: the notes of their claim, its end, and the watch that arrives at the end.

The claim begins as the deliverer's. Once the target has accepted, the claim is the receiver's and outlives the
deliverer. The watch is the attempt's own release, sent again for the end of the claim. A watch never starts an attempt.
It ends a claim that is over, sends the next release, or is sent again for the claim's new end.

Of an attempt with the completion `end` nobody has a token. Its watch comes now and then, and asks the service of the
target. Nothing but the service's word ends it, or silence of the service for GIVE_UP_MS after it was to stop.
"""

from __future__ import annotations

import msgspec

from clockwork.domain import ids
from clockwork.domain.executions import LONGEST_ERROR, Awaited, End, Execution, Outcome, Report, State
from clockwork.domain.lifecycle.retries import backoff_seconds
from clockwork.domain.policies import Budget
from clockwork.domain.releases import Of, Release, Watch
from clockwork.targets.pool import PoolTarget

#: Clocks differ, by up to 3 s: a claim counts as ended only this long after its end (ms).
CLAIM_GRACE_MS = 4_000
#: Once a cancel was noted, the receiver of the attempt has so long (ms) to hear of it, and to stop or to finish.
CANCEL_GRACE_MS = 60_000
#: The ages (ms) at which something is looked at first that lasts; behind these it is at each multiple of the last step.
FIRST_AGES = tuple(minutes * 60_000 for minutes in (1, 2, 4, 8))
STEP_MS = 900_000
#: An attempt that is to stop is looked at again after so long (ms), then after twice as long each time.
STOPS_AGAIN_MS = 10_000
#: An attempt that was to stop ends so long (ms) later without the service's word, so that no attempt stays for ever.
GIVE_UP_MS = 900_000
#: The service may know nothing of what it began so lately (ms): what it tells is eventually consistent.
#: https://docs.aws.amazon.com/step-functions/latest/apireference/API_DescribeExecution.html
UNKNOWN_FOR_MS = 60_000
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
    lease_seconds = completion.timeout_seconds if completion.mode == "end" else completion.heartbeat_seconds
    return Awaited(
        heartbeat_ms=round(lease_seconds * 1000), deadline_at=started_at + round(completion.timeout_seconds * 1000)
    )


def late_ms(running: Execution) -> int | None:
    """How late the attempt under way began (ms), if it is a first one. A record with its occurrence has no word of it.

    A heartbeat of a worker writes the whole record, which stays within one unit of writing (1 KB) so.
    """
    occurrence = running.kept.occurrence
    if running.claim is None or not running.is_first_attempt:
        return None
    if occurrence is None:
        return running.claim.lateness_ms
    return max(0, running.claim.started_at - occurrence.late_since)


def is_asked(running: Execution) -> bool:
    """Whether the service of the target says how the running attempt goes, and no receiver."""
    occurrence = running.kept.occurrence
    completion = None if running.claim is None or occurrence is None else occurrence.completion
    return completion is not None and completion.mode == "end"


def next_age(age_ms: int) -> int:
    """The age (ms) at which something is looked at next that is looked at now and then."""
    return next((one for one in FIRST_AGES if one > age_ms), age_ms // STEP_MS * STEP_MS + STEP_MS)


def stops_since(running: Execution, now: int) -> int | None:
    """Since when (ms) an attempt is to stop, by a noted cancel or as its time is over. None: it may go on."""
    assert running.awaited is not None
    if running.cancel_noted_at is not None:
        return running.cancel_noted_at
    return running.awaited.deadline_at if now >= running.awaited.deadline_at else None


def asks_next_at(running: Execution, now: int) -> int:
    """When (ms) the service is to be asked next about an attempt."""
    assert running.claim is not None and running.awaited is not None
    since = stops_since(running, now)
    if since is not None:
        return min(now + max(STOPS_AGAIN_MS, now - since), max(now + STOPS_AGAIN_MS, since + GIVE_UP_MS))
    began_at = running.claim.started_at
    return min(began_at + next_age(now - began_at), running.awaited.deadline_at)


def budget_after(running: Execution, outcome: Outcome) -> Budget:
    """The budget once the attempt that runs has ended so."""
    budget = running.budget
    if outcome.state is State.HANDED_BACK:
        return msgspec.structs.replace(budget, handbacks=budget.handbacks + 1)
    if is_asked(running) and (running.is_accepted or running.end.report is not None):
        # Its name is used up. An attempt that may have begun nothing leaves its name to the next one.
        return msgspec.structs.replace(budget, begun=budget.begun + 1)
    return budget


def renewed_until(running: Execution, now: int) -> int:
    """The end (ms) of its claim after a sign of life at `now`: never earlier than before, nor past its deadline."""
    assert running.claim is not None and running.awaited is not None
    renewed = min(now + running.awaited.heartbeat_ms, running.awaited.deadline_at)
    return max(renewed, running.claim.until) if running.is_accepted else renewed


def ends_at(running: Execution) -> int:
    """The end (ms) of an attempt's claim. A receiver's claim also ends with the grace after a noted cancel.

    A run does not: it ends once its nodes have ended. Nor does what ends by the word of a service: it may go on until
    that is given up.
    """
    lease_until = 0 if running.claim is None else running.claim.until
    if running.is_accepted and is_asked(running):
        return lease_until + GIVE_UP_MS
    awaited = None if running.claim is None else running.claim.awaited
    if running.cancel_noted_at is None or awaited is None or awaited.accepted_at is None or awaited.is_run:
        return lease_until
    return min(lease_until, running.cancel_noted_at + CANCEL_GRACE_MS)


def is_claimed(stored: Execution, now: int) -> bool:
    """Whether a deliverer may still be making an attempt: at `now` (ms) a claim stands, or its grace."""
    return stored.state is State.RUNNING and now < ends_at(stored) + CLAIM_GRACE_MS


def is_grace_over(running: Execution, now: int) -> bool:
    """Whether a cancel was noted, and the receiver has had its time to stop."""
    return running.cancel_noted_at is not None and now >= running.cancel_noted_at + CANCEL_GRACE_MS


def watch_of(release: Release, running: Execution, at: int | None = None) -> Watch:
    """The watch of the attempt that runs, for `at` (ms). Without that: for the end of its claim, or to ask at once."""
    if at is None and running.claim is not None and is_asked(running):
        at = running.claim.started_at
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
    if is_asked(running):
        is_cancelled = running.cancel_noted_at is not None
        state = State.CANCELLED if is_cancelled else State.TIMED_OUT
        return Outcome(state, began_at, now, error="its service did not say that it has ended, though it was to stop")
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
