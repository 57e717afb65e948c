"""Ordered jobs as pure decisions: how a head waits, where it lies, and what it tells of its wait."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from clockwork.domain import keys
from clockwork.domain.executions import State
from clockwork.domain.keys import edge_key
from clockwork.domain.ordering import (
    HANDED_OUT_MS,
    IN_TIME_MS,
    LONGEST_RETRYING_SECONDS,
    RECEIVES_PER_STEP,
    behind_others,
    dedup_of,
    group_of,
    is_for_its_poller,
    is_noted,
    paced_execution,
    partition_of,
    patience,
    policy_of,
    resumed,
    row_id_of,
)
from clockwork.domain.policies import RetryPolicy
from clockwork.domain.releases import Deliver
from clockwork.domain.waits import Held, Line, Waited
from clockwork.targets.kafka.target import KafkaTarget
from clockwork.targets.sns import SnsTarget
from clockwork.targets.sqs import SqsTarget
from tests.support.examples import NOW, execution, like, occurrence, release

QUEUE = "arn:aws:sqs:us-east-1:123456789012:orders"
TOPIC = "arn:aws:sns:us-east-1:123456789012:orders"


def ordered(due_in_ms: int = 0, created_ms: int = 60_000, **changes: Any) -> Deliver:
    due_at = NOW + due_in_ms
    due = occurrence(due_at=due_at, created_at=due_at - created_ms, ordering_key="order-17", sequence=3)
    return release(occurrence=due, **changes)


def test_rows_of_one_instant_sort_by_their_sequence() -> None:
    assert row_id_of("x", None) == "x"
    assert row_id_of("a", 10) > row_id_of("b", 9)
    assert row_id_of("a", 0) == "0000000000000000-a"


def test_a_key_keeps_its_shard_and_another_client_has_another_one() -> None:
    shards = {partition_of("acme", f"order-{number}", 8) for number in range(100)}
    assert shards == set(keys.ordered_partitions(8))
    assert partition_of("acme", "order-17", 1) == "o000"
    assert partition_of("acme", "order-17", 2**20) != partition_of("globex", "order-17", 2**20)


@pytest.mark.parametrize(
    ("asked", "kept"),
    [
        (LONGEST_RETRYING_SECONDS - 1, LONGEST_RETRYING_SECONDS - 1),
        (LONGEST_RETRYING_SECONDS, LONGEST_RETRYING_SECONDS),
        (LONGEST_RETRYING_SECONDS + 1, LONGEST_RETRYING_SECONDS),
    ],
)
def test_an_ordered_job_is_retried_for_no_longer_than_its_message_can_be_hidden(asked: float, kept: float) -> None:
    policy = RetryPolicy(max_age_seconds=asked)
    assert policy_of(policy, "order-17").max_age_seconds == kept
    assert policy_of(policy, None) is policy


@pytest.mark.parametrize(
    ("receives", "times"), [(1, 1), (RECEIVES_PER_STEP, 1), (RECEIVES_PER_STEP + 1, 2), (1_000, 40)]
)
def test_a_head_that_waits_long_comes_back_less_and_less_often(receives: int, times: int) -> None:
    assert patience(receives) == times


def test_so_many_receives_as_a_queue_allows_outlast_its_retention() -> None:
    assert sum(60 * patience(receive) for receive in range(1, 1_001)) > 14 * 86_400


def test_a_target_that_keeps_an_order_gets_the_ordering_key_unless_its_client_chose_one() -> None:
    topic = KafkaTarget("orders")
    assert topic.in_order("k") == msgspec.structs.replace(topic, key="k")
    own = msgspec.structs.replace(topic, key="own")
    assert own.in_order("k") is own
    for fifo, plain in (
        (SqsTarget(f"{QUEUE}.fifo"), SqsTarget(QUEUE)),
        (SnsTarget(f"{TOPIC}.fifo"), SnsTarget(TOPIC)),
    ):
        kept = fifo.in_order("k")
        assert isinstance(kept, SqsTarget | SnsTarget)
        assert kept.message_group_id
        chosen = msgspec.structs.replace(fifo, message_group_id="own")
        assert chosen.in_order("k") is chosen
        assert plain.in_order("k") is plain


@pytest.mark.parametrize(
    ("released", "cursor_ms", "is_its"),
    [
        (ordered(created_ms=IN_TIME_MS), -1, True),
        (ordered(created_ms=IN_TIME_MS - 1), -1, False),
        (ordered(created_ms=IN_TIME_MS), 0, False),
        (release(), -1, False),
    ],
)
def test_only_its_poller_releases_what_may_have_been_promised_its_place(
    released: Deliver, cursor_ms: int, is_its: bool
) -> None:
    assert is_for_its_poller(released, edge_key(NOW + cursor_ms)) is is_its


def test_those_of_one_key_share_a_group_and_no_others() -> None:
    one = ordered().occurrence
    assert group_of(one) == group_of(ordered(5).occurrence)
    assert group_of(one) != group_of(msgspec.structs.replace(one, ordering_key="order-18"))
    assert group_of(one) != group_of(msgspec.structs.replace(one, client_id="globex"))


def test_what_is_sent_again_on_purpose_is_no_repeat_and_a_repeat_is_one() -> None:
    first = ordered()
    assert dedup_of(first) == dedup_of(ordered(revision=1)) == dedup_of(ordered(run_at=NOW + 9, permits=3))
    others = [first, ordered(attempt=2), ordered(sweeps=1), ordered(revision=2), ordered(revision=3)]
    others += [ordered(attempt=2, sweeps=1), ordered(attempt=2, revision=2)]
    assert len({dedup_of(one) for one in others}) == len(others)


def test_the_message_of_a_head_stands_for_the_attempt_that_its_record_waits_for() -> None:
    waiting = execution(State.FAILED, attempt=2, next_attempt_at=NOW + 5_000, paced=True, line=Line(NOW, NOW))
    after = resumed(ordered(), waiting, NOW)
    assert (after.attempt, after.run_at, after.waits.paced, after.waits.line) == (3, NOW + 5_000, True, Line(NOW, NOW))
    assert resumed(ordered(), None, NOW) == ordered()
    assert resumed(ordered(), execution(State.RUNNING, attempt=2), NOW) == ordered()
    assert resumed(ordered(run_at=NOW + 9), execution(State.PENDING), NOW).run_at == NOW + 9


@pytest.mark.parametrize(
    ("stored", "run_at"),
    [
        (execution(State.PARKED, held=Held("pause", NOW)), NOW + 60_000),
        (execution(State.PARKED), NOW),
        (execution(State.PENDING, held=Held("cap", NOW), line=Line(NOW, NOW)), NOW + 60_000),
        (execution(State.PENDING, held=Held("cap", NOW)), NOW),
    ],
)
def test_what_comes_to_see_whether_it_may_start_has_waited_until_then(stored: Any, run_at: int) -> None:
    assert resumed(ordered(), stored, NOW + 60_000).run_at == run_at


@pytest.mark.parametrize(
    ("after_ms", "moved_up", "waited_ms"),
    [
        (0, True, None),
        (1, True, 1),
        (HANDED_OUT_MS - 1, False, None),
        (HANDED_OUT_MS, False, HANDED_OUT_MS),
        (HANDED_OUT_MS - 1, True, HANDED_OUT_MS - 1),
    ],
)
def test_a_message_that_is_handed_out_late_has_waited_for_those_ahead_of_it(
    after_ms: int, moved_up: bool, waited_ms: int | None
) -> None:
    waited = behind_others(ordered(), NOW + after_ms, moved_up=moved_up).waits.waited
    assert waited == (None if waited_ms is None else Waited(ordered=waited_ms))


def test_its_wait_counts_from_the_latest_of_its_instants_and_adds_to_those_before() -> None:
    late = ordered(run_at=NOW + 500, waited=Waited(cap=7))
    assert behind_others(late, NOW + 800, moved_up=True).waits.waited == Waited(cap=7, ordered=300)
    redriven = ordered(created_ms=-200)
    assert behind_others(redriven, NOW + 800, moved_up=True).waits.waited == Waited(ordered=600)


def test_a_head_is_noted_if_its_record_tells_the_same_slot_and_place() -> None:
    slot = ordered(run_at=NOW + 5, paced=True)
    noted = execution(State.PENDING, next_attempt_at=NOW + 5, paced=True)
    assert is_noted(slot, noted)
    assert not is_noted(slot, None)
    assert not is_noted(slot, like(noted, next_attempt_at=NOW + 6))
    assert not is_noted(slot, like(noted, paced=False))
    assert not is_noted(slot, like(noted, line=Line(NOW, NOW)))
    for state in (State.PARKED, State.RUNNING, State.DEAD):
        assert not is_noted(slot, like(noted, state=state))
    in_line = ordered(run_at=NOW + 5, line=Line(NOW, NOW))
    assert is_noted(in_line, execution(State.PENDING, next_attempt_at=NOW, line=Line(NOW, NOW)))
    assert not is_noted(in_line, noted)


def test_the_record_of_a_head_that_waits_under_a_rate_tells_when_it_may_start_and_what_it_waited_for() -> None:
    slot = ordered(run_at=NOW + 5, paced=True, waited=Waited(cap=3), held=Held("cap", NOW))
    first = paced_execution(slot, None, NOW + 99)
    assert (first.state, first.revision, first.waits.next_attempt_at, first.waits.paced) == (
        State.PENDING,
        1,
        NOW + 5,
        True,
    )
    assert (first.waits.waited, first.waits.held) == (Waited(cap=3), Held("cap", NOW))
    again = paced_execution(slot, execution(State.FAILED, waited=Waited(cap=4), revision=6), NOW + 99)
    assert (again.revision, again.waits.waited) == (7, Waited(cap=7))
    in_line = ordered(run_at=NOW + 5, line=Line(NOW, NOW))
    assert paced_execution(in_line, None, NOW + 99).waits.next_attempt_at == NOW
    assert (
        paced_execution(in_line, execution(State.FAILED, next_attempt_at=NOW + 3), NOW).waits.next_attempt_at == NOW + 3
    )
