"""Callbacks of executions that end DEAD: their content, their instant, their delivery and their cost."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from clockwork.domain.executions import DAY_MS, Execution, State
from clockwork.domain.ids import NamedJobId
from clockwork.domain.instants import to_text
from clockwork.domain.lifecycle.attempts import plan_death
from clockwork.domain.lifecycle.callbacks import callback_row
from clockwork.domain.named.changes import replaced
from clockwork.domain.named_jobs import Definition
from clockwork.domain.policies import RetryPolicy
from clockwork.domain.recurrence import Every, Recurrence
from clockwork.domain.storage import codec
from clockwork.domain.storage.rows import releases_of
from clockwork.flows.deaths import call_back
from clockwork.flows.deliver.deliver import deliver_batch
from clockwork.flows.deliver.inbox import Message
from clockwork.flows.named.trigger import run_now
from clockwork.flows.named.write import NamedRequest, change, create_named
from clockwork.flows.requests.redrive import redrive
from clockwork.flows.sweep.unpark import unpark
from clockwork.flows.timeline.shards import ensure_shards
from clockwork.targets.http import HttpTarget
from clockwork.targets.message import Payload
from clockwork.targets.registry import Target
from tests.support.examples import ACME, NOW, TARGET, execution, failure, like, occurrence, release, release_in, success
from tests.support.failing import BACK, DEAD, ONCE, QUEUE, Failing, facts


@pytest.mark.parametrize("record", ["full", "none"])
def test_an_execution_that_dies_is_called_back_once_at_once_and_with_what_became_of_it(record: str) -> None:
    failing = Failing()
    job_id = failing.create(record=record, tags={"team": "billing"})
    failing.run()
    dead = failing.record(job_id)
    (back,) = failing.backs
    assert facts(back) == {
        "executionId": dead.execution_id,
        "jobId": job_id,
        "jobKey": None,
        "clientId": "acme",
        "dueAt": to_text(dead.due_at),
        "state": "DEAD",
        "reason": dead.reason,
        "attempts": 1,
        "lastError": "HTTP 500",
        "lastStatusCode": None,
        "tags": {"team": "billing"},
    }
    assert back.occurrence.due_at == dead.end.dead_at
    assert failing.record(back.job_id).attempts[0].lateness_ms == 0


def test_a_permanent_failure_and_lost_deliverers_are_called_back() -> None:
    failing = Failing()
    failing.clockwork.targets._answer = lambda d: (
        success(failing.clockwork.clock.now()) if d.occurrence.target == BACK else failure(permanent=True)
    )
    failing.create(retry_policy=RetryPolicy())
    failing.run()
    assert len(failing.backs) == 1


def test_a_success_is_not_called_back_and_costs_no_row() -> None:
    failing = Failing()
    failing.clockwork.targets._answer = lambda d: success(failing.clockwork.clock.now())
    failing.create()
    failing.run()
    assert (failing.tries, failing.backs) == (1, [])
    assert sum(map(len, failing.clockwork.timeline._rows.values())) == 1


@pytest.mark.parametrize("state", [state for state in State if state is not State.DEAD])
def test_nothing_but_death_is_called_back(state: State) -> None:
    failing = Failing()
    stored = execution(state)
    assert call_back(failing.world, [(release(occurrence=occurrence(on_failure=BACK)), stored)]) == []
    assert not failing.clockwork.queue.messages


@pytest.mark.parametrize(("days", "calls"), [(14, 1), (15, 0)])
def test_a_message_that_comes_weeks_after_a_death_calls_nobody_back(days: int, calls: int) -> None:
    """No message of the death itself is as old as that, and the record of the callback may have gone by then."""
    failing = Failing()
    now = failing.clockwork.clock.at
    dead = execution(State.DEAD, dead_at=now - days * DAY_MS)
    assert call_back(failing.world, [(release(occurrence=occurrence(on_failure=BACK)), dead)]) == []
    assert len(failing.clockwork.queue.messages) == calls


def test_what_comes_too_late_is_expired_and_not_called_back() -> None:
    failing = Failing()
    failing.create(relevancy_window_seconds=1, retry_policy=RetryPolicy(jitter="none"))
    failing.run()
    assert [one.state for one in failing.clockwork.executions.all()] == [State.EXPIRED]
    assert failing.backs == []


def test_a_callback_that_fails_dies_by_the_clients_policy_and_is_not_called_back() -> None:
    failing = Failing(back_fails=True, retry_policy=RetryPolicy(max_attempts=2, initial_seconds=5))
    failing.create()
    failing.run()
    assert [one.attempt for one in failing.backs] == [1, 2]
    assert [one.state for one in failing.clockwork.executions.all()] == [State.DEAD] * 2


def test_a_callback_is_an_ordinary_job_that_is_signed_kept_and_recorded_like_one() -> None:
    cause = occurrence(on_failure=BACK, record="none", signing_secrets=("clockwork/acme",), retention_days=3)
    row = callback_row(release(occurrence=cause), DEAD, ONCE, NOW)
    (released,) = releases_of(row)
    made = released.occurrence
    assert (made.target, made.on_failure, made.record, made.retry_policy) == (BACK, None, "full", ONCE)
    assert (made.signing_secrets, made.retention_days) == (("clockwork/acme",), 3)
    assert (made.due_at, released.run_at, row.partition_id) == (NOW + 7, NOW + 7, "p000")
    queued = release(occurrence=msgspec.structs.replace(cause, on_failure=QUEUE))
    assert releases_of(callback_row(queued, DEAD, ONCE, NOW))[0].occurrence.signing_secrets == ()


def test_the_row_of_a_callback_derives_from_the_execution_alone() -> None:
    def key_of(dead: Execution, policy: RetryPolicy = ONCE) -> str:
        return callback_row(release(occurrence=occurrence(on_failure=BACK)), dead, policy, NOW).key

    assert key_of(DEAD) == key_of(msgspec.structs.replace(DEAD, reason="discarded", revision=9), RetryPolicy())
    assert key_of(DEAD) != key_of(msgspec.structs.replace(DEAD, execution_id=f"{DEAD.execution_id}x"))
    # An execution that is redriven and dies again is called back again.
    assert key_of(DEAD) != key_of(like(DEAD, dead_at=NOW + 8))


def test_whichever_message_finds_it_dead_a_callback_lies_in_the_shard_of_the_death() -> None:
    job_id = NamedJobId("acme", "daily", 1).job_id
    here, there = (
        release(occurrence=occurrence(on_failure=BACK), job_id=job_id, partition_id=shard) for shard in ("o001", "p003")
    )
    dead = plan_death(here, None, "given up", NOW, NOW + 1)
    assert callback_row(there, dead, ONCE, NOW) == callback_row(here, dead, ONCE, NOW)
    assert callback_row(there, dead, ONCE, NOW).partition_id == "p001"
    # The record of a row that could not be read does not say where it died.
    unread = like(dead, dead_shard=None)
    assert callback_row(there, unread, ONCE, NOW).partition_id == "p003"


def test_a_run_by_hand_that_is_repeated_after_a_change_of_shards_is_called_back_once() -> None:
    failing = Failing()
    every = Recurrence(every=Every(86_400_000, NOW))
    steady: dict[str, Any] = {"target": TARGET, "payload": Payload(b"1"), "recurrence": every}
    steady |= {"retry_policy": ONCE, "on_failure": BACK}
    ordered = Definition(**steady, ordering_key="order-8")
    wish = NamedRequest(client=ACME, job_key="daily", as_sent=b"x", definition=ordered)
    job = create_named(failing.world, wish, ensure_shards(failing.world)).job
    run_now(failing.world, job, "key")
    failing.run()
    plain = change(failing.world, job, None, replaced(Definition(**steady), b"y")).job
    assert (job.partition_id, plain.partition_id) == ("o001", "p000")
    run_now(failing.world, plain, "key")
    failing.run()
    assert (failing.tries, len(failing.backs)) == (1, 1)


def test_a_named_jobs_callback_names_its_key() -> None:
    job_id = NamedJobId("acme", "daily", 1).job_id
    named = release(occurrence=occurrence(on_failure=BACK), job_id=job_id, partition_id="p003")
    row = callback_row(named, msgspec.structs.replace(DEAD, job_id=job_id), ONCE, NOW)
    assert row.partition_id == "p003"
    assert json.loads(releases_of(row)[0].occurrence.payload.body)["jobKey"] == "daily"


def test_a_callback_waits_like_any_job_while_its_client_is_paused() -> None:
    failing = Failing()
    failing.create()
    failing.run(1.5)
    (message,) = failing.clockwork.queue.messages.values()
    failing.run(0.4)
    failing.clockwork.clock.advance(600)
    deliver_batch(failing.world, [Message("m", message.body)], failing.clockwork.clock.at + 20_000)
    failing.clockwork.clients.put(msgspec.structs.replace(ACME, paused=True))
    failing.run(20)
    assert failing.backs == []
    assert State.PARKED in {one.state for one in failing.clockwork.executions.all()}
    failing.clockwork.clients.put(ACME)
    unpark(failing.world, failing.clockwork.clock.at + 60_000)
    failing.run()
    assert len(failing.backs) == 1


def test_callbacks_keep_to_their_clients_caps() -> None:
    failing = Failing(max_rate_per_second=1.0, max_concurrency=1)
    for _ in range(3):
        failing.create()
    failing.run()
    started = sorted(failing.record(back.job_id).attempts[0].started_at for back in failing.backs)
    assert len(started) == 3
    assert started[-1] - started[0] >= 1_000


def test_what_is_redriven_and_dies_again_is_called_back_again() -> None:
    failing = Failing()
    job_id = failing.create()
    failing.run()
    redrive(failing.world, failing.record(job_id))
    failing.run()
    assert [facts(back)["attempts"] for back in failing.backs] == [1, 2]


@pytest.mark.parametrize("on_failure", [None, BACK, QUEUE])
def test_rows_messages_and_records_keep_the_callback_and_those_without_are_what_they_were(
    on_failure: Target | None,
) -> None:
    cause = occurrence(on_failure=on_failure)
    assert codec.decode_row(codec.encode_packed({0: cause, 1: cause})) == {0: cause, 1: cause}
    sent = release(occurrence=cause)
    assert release_in(codec.encode_release(sent)) == sent
    assert (b"onFailure" in codec.encode_row([cause])) == (on_failure is not None)
    dead = like(DEAD, occurrence=cause)
    assert codec.decode(codec.encode(dead), Execution) == dead
    assert b"deadAt" not in codec.encode(execution(State.SUCCEEDED))


def test_sixteen_of_the_largest_with_callbacks_fit_into_a_message() -> None:
    tags = {f"{number:064d}": "\U0001f600" * 256 for number in range(20)}
    headers = {f"x-{number}": "v" * 200 for number in range(20)}
    back = HttpTarget(f"https://example.com/{'x' * 2_028}", headers=headers)
    cause = occurrence(
        target=QUEUE, tags=tags, payload=Payload(b"x" * 4_096), on_failure=back, signing_secrets=("s" * 210,) * 2
    )
    assert len(codec.encode_message([release(occurrence=cause)] * 16)) < 1_048_576


def test_what_a_callback_says_is_small_whatever_its_job_was() -> None:
    tags = {f"{number:064d}": "\U0001f600" * 256 for number in range(20)}
    long = msgspec.structs.replace(DEAD, reason="r" * 5_000)
    made = callback_row(release(occurrence=occurrence(on_failure=BACK, tags=tags)), long, ONCE, NOW)
    assert len(releases_of(made)[0].occurrence.payload.body) < 128 * 1024
