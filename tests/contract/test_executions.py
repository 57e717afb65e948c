"""The contract of `ports.Executions`."""

from __future__ import annotations

from collections import Counter
from functools import partial

import msgspec
import pytest

from clockwork.domain.errors import Unreadable
from clockwork.domain.executions import (
    ATTEMPTS_KEPT,
    NOTHING_KEPT,
    Awaited,
    Claimed,
    End,
    Execution,
    Kept,
    Outcome,
    Report,
    Skipped,
    State,
)
from clockwork.domain.policies import Budget
from clockwork.domain.storage.attention import DeadPage
from clockwork.domain.storage.codec import encode
from clockwork.domain.storage.rows import undecodable_execution
from clockwork.domain.waits import Held, Line, Parking, Waited, Waiting
from clockwork.ports import Executions, Saved
from clockwork.targets.message import Payload
from tests.contract.examples import DUE, JOB, attempt, execution, occurrence, row
from tests.contract.races import at_once
from tests.contract.worlds import AwsWorld, World
from tests.support.examples import like


@pytest.fixture
def executions(world: World) -> Executions:
    return world.executions


def changed(before: Execution, **changes: object) -> Execution:
    """The next revision of a record."""
    return msgspec.structs.replace(before, revision=before.revision + 1, **changes)


def dead_one(due_at: int) -> Execution:
    """The record of an execution that ended DEAD."""
    return like(execution(due_at=due_at, state=State.DEAD), occurrence=occurrence())


def save(executions: Executions, before: Execution | None, after: Execution) -> Saved:
    (saved,) = executions.save([(before, after)])
    return saved


def test_a_new_record_is_found_as_it_was_saved(executions: Executions) -> None:
    claim = execution()
    assert save(executions, None, claim).ok
    assert executions.find(claim.job_id, claim.execution_id) == claim


def test_every_field_of_a_record_survives(executions: Executions) -> None:
    full = Execution(
        job_id=JOB.job_id,
        execution_id=execution().execution_id,
        client_id="acme",
        due_at=DUE,
        state=State.DEAD,
        revision=7,
        expires_at=DUE + 1,
        attempt=2,
        attempts=(attempt(1, State.TIMED_OUT), attempt(2, State.FAILED)),
        cancel_noted_at=DUE + 5,
        reason="attempts exhausted",
        created_at=DUE - 1,
        claim=Claimed("claimant", DUE + 2, DUE + 3, Awaited(1_000, DUE + 4, accepted_at=DUE, permit=3)),
        budget=Budget(start=4, handbacks=5, lost_workers=1, unclaimed=True),
        waits=Waiting(DUE + 4, Waited(cap=1), Held("pause", DUE), paced=True, line=Line(DUE, DUE)),
        parking=Parking(2, 3),
        end=End(DUE, "p001", 4, Skipped(DUE, DUE, 1, "paused"), Report("claimant", State.FAILED, DUE)),
        kept=Kept(occurrence("größer 🕰".encode()), bytes(range(256)), "p002", 5, "record"),
    )
    assert save(executions, None, full).ok
    assert executions.find(full.job_id, full.execution_id) == full


def test_what_is_not_there_is_not_found(executions: Executions) -> None:
    save(executions, None, execution())
    assert executions.find(JOB.job_id, "another") is None
    assert executions.find("another", execution().execution_id) is None


def test_a_change_of_the_stored_revision_replaces_the_whole_record(executions: Executions) -> None:
    claim = execution()
    save(executions, None, claim)
    done = changed(claim, state=State.SUCCEEDED, attempts=(attempt(),), claim=None)
    assert save(executions, claim, done).ok
    assert executions.find(claim.job_id, claim.execution_id) == done


def test_a_new_record_does_not_replace_a_stored_one(executions: Executions) -> None:
    first = execution()
    second = like(first, claimant="another")
    save(executions, None, first)
    assert save(executions, None, second) == Saved(ok=False, actual=first)
    assert executions.find(first.job_id, first.execution_id) == first


def test_a_change_of_an_older_revision_is_refused_with_what_is_stored(executions: Executions) -> None:
    claim = execution()
    cancelled = changed(claim, cancel_noted_at=DUE)
    save(executions, None, claim)
    save(executions, claim, cancelled)
    assert save(executions, claim, changed(claim, state=State.SUCCEEDED)) == Saved(ok=False, actual=cancelled)
    assert executions.find(claim.job_id, claim.execution_id) == cancelled


def test_a_change_of_a_revision_that_was_never_stored_is_refused(executions: Executions) -> None:
    claim = execution()
    save(executions, None, claim)
    later = changed(changed(claim))
    assert save(executions, later, changed(later)) == Saved(ok=False, actual=claim)


def test_a_change_of_a_record_that_is_not_there_is_refused_and_stores_nothing(executions: Executions) -> None:
    claim = execution()
    assert save(executions, claim, changed(claim)) == Saved(ok=False, actual=None)
    assert executions.find(claim.job_id, claim.execution_id) is None


def test_a_record_that_is_stored_already_counts_as_stored(executions: Executions) -> None:
    claim = execution()
    done = changed(claim, state=State.SUCCEEDED)
    save(executions, None, claim)
    assert save(executions, None, claim).ok
    save(executions, claim, done)
    assert save(executions, claim, done).ok


def test_many_changes_are_judged_each_on_its_own_and_answered_in_order(executions: Executions) -> None:
    claims = [execution(due_at=DUE + n) for n in range(25)]
    taken = [like(claim, claimant="another") for claim in claims[::3]]
    assert all(saved.ok for saved in executions.save([(None, claim) for claim in taken]))
    saved = executions.save([(None, claim) for claim in claims])
    assert [one.ok for one in saved] == [n % 3 != 0 for n in range(25)]
    assert [one.actual for one in saved[::3]] == taken


def test_no_changes_need_no_answers(executions: Executions) -> None:
    assert list(executions.save([])) == []


def test_a_list_is_newest_first_within_its_job(executions: Executions) -> None:
    records = [execution(due_at=DUE + n) for n in (2, 0, 1)]
    executions.save(
        [(None, record) for record in [*records, execution(job_id="ab"), execution(job_id=JOB.job_id + "x")]]
    )
    listed = executions.list(JOB.job_id, 10, None)
    assert listed == sorted(records, key=lambda record: record.execution_id, reverse=True)


def test_a_list_goes_on_before_its_last_entry(executions: Executions) -> None:
    records = [execution(due_at=DUE + n) for n in range(5)]
    executions.save([(None, record) for record in records])
    first = executions.list(JOB.job_id, 2, None)
    second = executions.list(JOB.job_id, 2, first[-1].execution_id)
    third = executions.list(JOB.job_id, 2, second[-1].execution_id)
    assert [*first, *second, *third] == records[::-1]
    assert list(executions.list(JOB.job_id, 2, third[-1].execution_id)) == []


def test_a_list_is_as_long_as_asked_for_however_large_its_records_are(executions: Executions) -> None:
    records = [like(execution(due_at=DUE + n), raw=b"x" * 300_000) for n in range(5)]
    executions.save([(None, record) for record in records])
    assert executions.list(JOB.job_id, 4, None) == records[:0:-1]


def test_of_two_changes_of_one_revision_at_once_one_is_stored(executions: Executions) -> None:
    for n in range(30):
        claims = [like(execution(due_at=DUE + n), claimant=f"claimant-{i}") for i in range(3)]
        saved = at_once(*(partial(save, executions, None, claim) for claim in claims))
        stored = executions.find(claims[0].job_id, claims[0].execution_id)
        assert [one.ok for one in saved] == [claim == stored for claim in claims]
        assert [one.actual for one in saved] == [stored] * 3


def test_a_normal_record_is_one_write_unit(aws_world: AwsWorld) -> None:
    claim = execution()
    done = changed(claim, state=State.SUCCEEDED, attempts=(attempt(),), claim=None)
    save(aws_world.executions, None, claim)
    save(aws_world.executions, claim, done)
    (item,) = aws_world.raw("executions")
    assert size_of(item) < 1_024


@pytest.mark.parametrize("name", ["job_id", "execution_id", "client_id"])
def test_a_record_that_names_another_execution_than_its_item_cannot_be_read(aws_world: AwsWorld, name: str) -> None:
    record = execution()
    save(aws_world.executions, None, record)
    aws_world.aws.client("dynamodb").update_item(
        TableName=aws_world.table("executions"),
        Key={"jobId": {"S": record.job_id}, "executionId": {"S": record.execution_id}},
        UpdateExpression="SET #record = :other",
        ExpressionAttributeNames={"#record": "record"},
        ExpressionAttributeValues={":other": {"B": encode(msgspec.structs.replace(record, **{name: "other"}))}},
    )
    (found,) = aws_world.executions.get([(record.job_id, record.execution_id)])
    assert isinstance(found, Unreadable)


def test_what_is_dead_is_listed_those_that_were_due_last_first(executions: Executions) -> None:
    claims = [execution(due_at=DUE + n) for n in range(5)]
    ends = [State.DEAD, State.SUCCEEDED, State.DEAD, State.CANCELLED, State.DEAD]
    executions.save([(None, claim) for claim in claims])
    ended = [changed(claim, state=state, kept=Kept(occurrence())) for claim, state in zip(claims, ends, strict=True)]
    executions.save(list(zip(claims, ended, strict=True)))
    expected = [ended[4], ended[2], ended[0]]
    assert executions.dead("acme", 10, None) == DeadPage(expected, None)
    assert executions.dead("globex", 10, None) == DeadPage([], None)
    first = executions.dead("acme", 2, None)
    assert first == DeadPage(expected[:2], expected[1].attention_key)
    assert executions.dead("acme", 2, first.next_before) == DeadPage(expected[2:], None)


def test_what_is_redriven_is_listed_until_it_is_claimed_and_what_is_put_away_is_not(executions: Executions) -> None:
    dead = [dead_one(DUE + n) for n in range(3)]
    executions.save([(None, one) for one in dead])
    redriven = changed(dead[0], state=State.PENDING)
    claimed = changed(dead[1], state=State.RUNNING, kept=NOTHING_KEPT)
    away = changed(dead[2], kept=NOTHING_KEPT)
    executions.save([(dead[0], redriven), (dead[1], claimed), (dead[2], away)])
    assert executions.dead("acme", 10, None).executions == [redriven]


def test_a_page_of_which_nothing_is_dead_any_more_is_not_the_last(aws_world: AwsWorld) -> None:
    """The index lags behind the table: an execution that the index still lists is read from its record as it stands."""
    executions = aws_world.executions
    dead = [dead_one(DUE + n) for n in range(2)]
    executions.save([(None, one) for one in dead])
    table = aws_world.table("executions")
    key = {"jobId": {"S": dead[1].job_id}, "executionId": {"S": dead[1].execution_id}}
    ended = encode(changed(dead[1], state=State.SUCCEEDED, kept=NOTHING_KEPT))
    aws_world.aws.client("dynamodb").update_item(
        TableName=table,
        Key=key,
        UpdateExpression="SET #record = :record",
        ExpressionAttributeNames={"#record": "record"},
        ExpressionAttributeValues={":record": {"B": ended}},
    )
    assert executions.dead("acme", 1, None) == DeadPage([], dead[1].attention_key)
    assert executions.dead("acme", 1, dead[1].attention_key).executions == [dead[0]]


def size_of(item: dict[str, dict[str, str | bytes]]) -> int:
    """The size of an item in bytes as billed. A number counts with its length as text, which is more than AWS bills.

    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html
    """
    return sum(len(name) + len(value) for name, typed in item.items() for value in typed.values())


def test_a_record_that_cannot_be_read_is_not_replaced_and_fails_no_other(aws_world: AwsWorld) -> None:
    first, second = execution(), execution(due_at=DUE + 1)
    assert save(aws_world.executions, None, first).ok
    aws_world.aws.client("dynamodb").update_item(
        TableName=aws_world.table("executions"),
        Key={"jobId": {"S": first.job_id}, "executionId": {"S": first.execution_id}},
        UpdateExpression="SET #record = :record",
        ExpressionAttributeNames={"#record": "record"},
        ExpressionAttributeValues={":record": {"B": b"\x01garbage"}},
    )
    damaged, other = aws_world.executions.save([(None, changed(first)), (None, second)])
    assert (damaged.ok, other.ok) == (False, True)
    assert "cannot be read" in (damaged.unavailable or "")
    assert damaged.is_defect


def test_a_record_that_is_too_large_is_its_own_outcome_and_not_that_of_its_fellows(aws_world: AwsWorld) -> None:
    executions = aws_world.executions
    small, large = execution(), like(dead_one(DUE + 1), raw=b"x" * 420_000)
    outcomes = executions.save([(None, large), (None, small)])
    assert [saved.ok for saved in outcomes] == [False, True]
    assert outcomes[0].unavailable is not None
    assert outcomes[0].is_defect
    assert executions.find(small.job_id, small.execution_id) == small


def test_the_largest_record_that_clockwork_makes_is_saved(executions: Executions) -> None:
    error = "the bus arn:aws:events:us-east-1:123456789012:event-bus/" + "x" * 1_600
    failed = Outcome(State.FAILED, DUE, DUE, error=error)
    largest = msgspec.structs.replace(occurrence(), payload=Payload(b"z" * 262_144))
    record = like(
        dead_one(DUE),
        attempts=tuple(failed.as_attempt(number) for number in range(1, ATTEMPTS_KEPT + 1)),
        occurrence=largest,
    )
    assert save(executions, None, record).ok


def test_the_record_of_the_largest_unreadable_row_is_saved(executions: Executions) -> None:
    unreadable = undecodable_execution(row(blob=b"\x01" + b"x" * 399_000), "?", "y" * 5_000, DUE + 1)
    assert save(executions, None, unreadable).ok


def test_records_are_read_together_in_the_order_asked_for(executions: Executions) -> None:
    first, second = execution(), execution(due_at=DUE + 1)
    for one in (first, second):
        save(executions, None, one)
    refs = [(one.job_id, one.execution_id) for one in (second, first)]
    found = executions.get([refs[0], (JOB.job_id, "another"), refs[1], refs[0]])
    assert found == [second, None, first, second]
    assert executions.get([]) == []


def test_a_record_that_cannot_be_read_is_told_beside_the_others(aws_world: AwsWorld) -> None:
    whole, damaged = execution(), execution(due_at=DUE + 1)
    for one in (whole, damaged):
        save(aws_world.executions, None, one)
    key = {"jobId": {"S": damaged.job_id}, "executionId": {"S": damaged.execution_id}}
    aws_world.aws.client("dynamodb").update_item(
        TableName=aws_world.table("executions"),
        Key=key,
        UpdateExpression="SET #r = :b",
        ExpressionAttributeNames={"#r": "record"},
        ExpressionAttributeValues={":b": {"B": b"\x01garbage"}},
    )
    found = aws_world.executions.get([(one.job_id, one.execution_id) for one in (damaged, whole)])
    assert isinstance(found[0], Unreadable)
    assert found[1] == whole


def test_the_dead_are_listed_oldest_first_too(executions: Executions) -> None:
    dead = [dead_one(DUE + number) for number in range(3)]
    for one in dead:
        save(executions, None, one)
    first = executions.dead("acme", 2, None, oldest_first=True)
    assert first == DeadPage(dead[:2], dead[1].attention_key)
    assert executions.dead("acme", 2, first.next_before, oldest_first=True) == DeadPage(dead[2:], None)


def test_the_dead_of_one_client_are_spread_over_eight_partitions_of_the_index(aws_world: AwsWorld) -> None:
    """One partition takes a thousand writes a second, and refuses those of every client's records beyond."""
    aws_world.executions.save([(None, dead_one(DUE + number)) for number in range(160)])
    listed = Counter(item["attentionClientId"]["S"] for item in aws_world.raw("executions"))
    assert len(listed) == 8
    assert max(listed.values()) < 2 * 160 / 8


@pytest.mark.parametrize("oldest_first", [False, True])
def test_pages_of_the_dead_come_in_one_order_and_have_each_once(executions: Executions, *, oldest_first: bool) -> None:
    dead = [dead_one(DUE + number) for number in range(40)]
    executions.save([(None, one) for one in dead])
    executions.save([(None, like(dead_one(DUE + 99), client_id="acme-two"))])
    found, behind = list[Execution](), None
    while not found or behind is not None:
        page = executions.dead("acme", 7, behind, oldest_first=oldest_first)
        found, behind = [*found, *page.executions], page.next_before
    keys = [one.attention_key for one in dead]
    assert [one.attention_key for one in found] == sorted(keys, reverse=not oldest_first)


def retried_one(due_at: int) -> Execution:
    """A record whose first attempt has failed: another one is to come."""
    failed = msgspec.structs.replace(attempt(), state=State.FAILED)
    return like(execution(due_at=due_at), state=State.FAILED, claim=None, attempts=(failed,))


def test_what_is_tried_again_is_listed_from_its_first_failure_until_it_has_ended(executions: Executions) -> None:
    tried = [retried_one(DUE + number) for number in range(3)]
    executions.save([(None, one) for one in (*tried, execution(due_at=DUE + 9), dead_one(DUE + 10))])
    assert executions.retrying("acme", 2, None) == DeadPage([tried[2], tried[1]], tried[1].attention_key)
    assert executions.retrying("acme", 2, tried[1].attention_key) == DeadPage([tried[0]], None)
    assert executions.retrying("globex", 9, None) == DeadPage([], None)
    claimed = changed(tried[0], state=State.RUNNING, claim=execution().claim, attempt=2)
    done = changed(tried[1], state=State.SUCCEEDED, attempts=(*tried[1].attempts, attempt()))
    gave_up = changed(tried[2], state=State.DEAD, kept=Kept(occurrence()))
    executions.save(list(zip(tried, (claimed, done, gave_up), strict=True)))
    assert executions.retrying("acme", 9, None).executions == [claimed]
    assert gave_up in executions.dead("acme", 9, None).executions


def index_key(aws_world: AwsWorld) -> list[object]:
    """The key in the index of the only record."""
    (item,) = aws_world.raw("executions")
    return [item.get(name) for name in ("attentionClientId", "attentionKey")]


def test_what_succeeds_at_once_never_has_a_key_of_the_index(aws_world: AwsWorld) -> None:
    """A key would be a second write, for each execution."""
    claim = execution()
    save(aws_world.executions, None, claim)
    assert index_key(aws_world) == [None, None]
    save(aws_world.executions, claim, changed(claim, state=State.SUCCEEDED, attempts=(attempt(),), claim=None))
    assert index_key(aws_world) == [None, None]


def test_while_it_is_tried_again_its_key_stays_as_it_is_so_that_the_index_is_not_written(aws_world: AwsWorld) -> None:
    tried = retried_one(DUE)
    save(aws_world.executions, None, tried)
    before = index_key(aws_world)
    claimed = changed(tried, state=State.RUNNING, claim=execution().claim, attempt=2)
    save(aws_world.executions, tried, claimed)
    assert index_key(aws_world) == before
    save(aws_world.executions, claimed, changed(claimed, state=State.FAILED, claim=None, attempts=tried.attempts * 2))
    assert index_key(aws_world) == before != [None, None]


def test_what_is_tried_again_is_spread_over_eight_partitions_of_its_own(aws_world: AwsWorld) -> None:
    aws_world.executions.save([(None, retried_one(DUE + number)) for number in range(160)])
    aws_world.executions.save([(None, dead_one(DUE + 999))])
    listed = Counter(item["attentionClientId"]["S"] for item in aws_world.raw("executions"))
    assert sum(name.startswith("~acme") for name in listed) == 8
    assert max(listed.values()) < 2 * 160 / 8


def test_a_record_that_was_listed_before_the_index_was_spread_is_still_listed(aws_world: AwsWorld) -> None:
    dead = [dead_one(DUE + number) for number in range(20)]
    aws_world.executions.save([(None, one) for one in dead])
    for one in dead:
        aws_world.aws.client("dynamodb").update_item(
            TableName=aws_world.table("executions"),
            Key={"jobId": {"S": one.job_id}, "executionId": {"S": one.execution_id}},
            UpdateExpression="SET #a = :c",
            ExpressionAttributeNames={"#a": "attentionClientId"},
            ExpressionAttributeValues={":c": {"S": "acme"}},
        )
    assert aws_world.executions.dead("acme", 30, None).executions == dead[::-1]
    aws_world.executions.save([(one, changed(one, kept=NOTHING_KEPT)) for one in dead])
    assert aws_world.executions.dead("acme", 30, None).executions == []
