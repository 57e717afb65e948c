"""Retries: whether and when a failed attempt is tried again."""

from __future__ import annotations

import msgspec

from clockwork.domain.executions import Outcome, State
from clockwork.domain.jobs import Occurrence
from clockwork.domain.lifecycle.expiry import is_expired, reason_of
from clockwork.domain.policies import RetryPolicy

#: The first so many lost deliverers of an execution are Clockwork's own fault, and do not count against `maxAttempts`.
#: Later ones count, so that the attempts end.
FORGIVEN_LOST_WORKERS = 3
#: A duplicate that meets the live claim of another message comes back after this wait (ms). Each further wait grows by
#: the factor, and ends with the claim.
MEETS_AGAIN_MS = 2_000
MEETS_AGAIN_GROWTH = 1.5
#: This many growths give a wait far longer than any claim. A float cannot hold every power.
MOST_GROWTHS = 20
#: 2 to the power of this (s) is beyond any `maxSeconds`. It keeps the power from growing without bound.
MOST_DOUBLINGS = 40


class RetryPlan(msgspec.Struct, frozen=True):
    """The plan after a failed attempt: retry at `retry_at` (ms), or, if that is None, the execution `ends` in a state.

    `reason` says why either way.
    """

    retry_at: int | None
    reason: str
    ends: State = State.DEAD


def plan_retry(
    occurrence: Occurrence, attempt: int, lost_workers: int, outcome: Outcome, now: int, jitter: float
) -> RetryPlan:
    """The plan after attempt number `attempt`, which failed with `outcome`. `jitter` is drawn from 0 <= jitter < 1.

    `maxAgeSeconds` and the relevancy window count from the earliest instant at which the first attempt could run.
    `lost_workers` counts the lost deliverers among all attempts up to this one. After a lost deliverer the next attempt
    follows at once, and after a handback, which does not count.
    """
    if outcome.state is State.HANDED_BACK:
        return RetryPlan(now, "handed back by its worker")
    policy = occurrence.retry_policy
    counted = attempt - min(lost_workers, FORGIVEN_LOST_WORKERS)
    if outcome.permanent:
        return RetryPlan(None, f"permanent failure: {outcome.error}")
    if counted >= policy.max_attempts:
        return RetryPlan(None, f"attempt {counted} of {policy.max_attempts} failed: {outcome.error}")
    wait = 0.0 if outcome.state is State.WORKER_LOST else backoff_seconds(policy, counted, jitter)
    retry_at = now + int(max(wait, outcome.retry_after_seconds or 0.0) * 1000)
    if is_expired(occurrence, retry_at):
        return RetryPlan(None, f"{reason_of(occurrence)}: {outcome.error}", State.EXPIRED)
    if retry_at > occurrence.due_since + policy.max_age_seconds * 1000:
        age = f"older than maxAgeSeconds {policy.max_age_seconds:g} before the next attempt"
        return RetryPlan(None, f"{age}: {outcome.error}")
    return RetryPlan(retry_at, f"{outcome.state}: {outcome.error}")


def backoff_seconds(policy: RetryPolicy, failures: int, jitter: float) -> float:
    """The wait (s) after so many failures (1 after the first).

    Full jitter draws it evenly between 0 and the backoff:
    https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/
    """
    if policy.backoff == "none":
        return 0.0
    exponential = 2.0 ** min(failures - 1, MOST_DOUBLINGS)
    growth: float = {"fixed": 1, "linear": failures, "exponential": exponential}[policy.backoff]
    longest = min(policy.max_seconds, policy.initial_seconds * growth)
    return longest * jitter if policy.jitter == "full" else longest


def meets_again_ms(meets: int) -> int:
    """How long (ms) a duplicate waits that meets the live claim of another message, for the `meets` + 1st time.

    The claim may be for an attempt that ends, or is not even started, in a moment: then the duplicate has to go on.
    """
    return int(MEETS_AGAIN_MS * MEETS_AGAIN_GROWTH ** min(meets, MOST_GROWTHS))
