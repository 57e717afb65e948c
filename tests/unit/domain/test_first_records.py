"""First records: every field of the first record of an execution, for any release."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from clockwork.domain.executions import Execution, State, kept_until
from clockwork.domain.lifecycle.attempts import Claim, plan_claim, plan_death
from clockwork.domain.lifecycle.expiry import ended_execution
from clockwork.domain.lifecycle.parking import parked_record
from clockwork.domain.ordering import is_noted, paced_execution
from clockwork.domain.policies import Budget
from clockwork.domain.releases import Deliver
from clockwork.domain.waits import Line
from tests.support.examples import NOW, like, occurrence, release

EXPIRES_AT = NOW + 30 * 86_400_000
INSTANTS = st.integers(NOW - 100_000, NOW + 100_000)
OCCURRENCES = st.builds(
    occurrence,
    client_id=st.sampled_from(["acme", "other"]),
    due_at=INSTANTS,
    record=st.sampled_from(["full", "none"]),
    retention_days=st.none() | st.integers(1, 400),
    ordering_key=st.none() | st.just("account-7"),
)
RELEASES = st.builds(
    release,
    occurrence=OCCURRENCES,
    run_at=INSTANTS,
    attempt=st.integers(1, 100),
    run=st.sampled_from(["0", "r1"]),
    partition_id=st.none() | st.just("p007"),
    parkings=st.integers(0, 3),
    revision=st.none() | st.integers(1, 9),
    permits=st.integers(0, 3),
)


def spelled_out(of: Deliver, **fields: Any) -> Execution:
    """The oracle: an `Execution` with every field written out, as five places of the core once did."""
    values = {"expires_at": EXPIRES_AT, "attempt": of.attempt - 1, **fields}
    plain = Execution(
        job_id=of.job_id,
        execution_id=of.execution_id,
        client_id=of.occurrence.client_id,
        due_at=of.occurrence.due_at,
        state=State.PENDING,
        revision=1,
        expires_at=EXPIRES_AT,
        created_at=of.occurrence.created_at,
        budget=Budget(unclaimed=of.occurrence.record == "none"),
    )
    return like(plain, **values)


@given(of=RELEASES)
def test_what_is_claimed_first_is_running(of: Deliver) -> None:
    started_at = max(NOW, of.run_at)
    expected = spelled_out(
        of,
        state=State.RUNNING,
        revision=1,
        attempt=of.attempt,
        claimant="me",
        claim_until=NOW + 60_000,
        started_at=started_at,
        claim_lateness_ms=max(0, of.lateness_ms(started_at)) if of.attempt == 1 else None,
    )
    assert plan_claim(of, None, Claim("me", NOW + 60_000, NOW, EXPIRES_AT)).execution == expected


@given(of=RELEASES)
def test_what_dies_without_a_record_is_kept_whole(of: Deliver) -> None:
    expected = spelled_out(
        of,
        state=State.DEAD,
        revision=1,
        reason="why",
        occurrence=of.occurrence,
        dead_at=NOW,
        dead_shard=of.shard,
        parkings=of.travels.parkings,
        expires_at=kept_until(NOW, of.occurrence.retention_days, EXPIRES_AT),
    )
    assert plan_death(of, None, "why", NOW, EXPIRES_AT) == expected


@given(of=RELEASES, state=st.sampled_from([State.EXPIRED, State.CANCELLED, State.SKIPPED]))
def test_what_ends_otherwise_is_kept_as_long_as_its_client_wants(of: Deliver, state: State) -> None:
    expected = spelled_out(
        of,
        state=state,
        revision=1,
        expires_at=kept_until(NOW, of.occurrence.retention_days, EXPIRES_AT),
        reason="why",
    )
    assert ended_execution(of, state, "why", NOW, EXPIRES_AT) == expected


@given(of=RELEASES)
def test_what_is_parked_first_has_burnt_no_attempt(of: Deliver) -> None:
    expected = spelled_out(
        of,
        state=State.PARKED,
        revision=1,
        reason="why",
        parkings=of.travels.parkings,
        parked_as=of.revision,
        parked_at=None if of.occurrence.ordering_key else of.occurrence.due_since,
    )
    assert parked_record(of, None, "why", EXPIRES_AT) == expected


@given(of=RELEASES)
def test_what_waits_for_its_slot_names_its_instant(of: Deliver) -> None:
    paced = of.waiting(paced=True)
    expected = spelled_out(of, state=State.PENDING, revision=1, next_attempt_at=of.run_at, paced=True)
    assert paced_execution(paced, None, EXPIRES_AT) == expected


@given(of=RELEASES)
def test_what_waits_in_line_names_its_place_and_the_instant_that_it_may_start_from(of: Deliver) -> None:
    line = Line(NOW + 300_000, NOW)
    may_start_at = of.occurrence.due_since
    expected = spelled_out(of, state=State.PENDING, revision=1, next_attempt_at=may_start_at, line=line)
    waiting = of.waiting(line=line)
    record = paced_execution(waiting, None, EXPIRES_AT)
    assert record == expected
    assert is_noted(waiting, record)
    assert not is_noted(waiting.waiting(paced=True), record)
    assert not is_noted(waiting, None)
