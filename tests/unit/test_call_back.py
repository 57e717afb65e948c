"""Callbacks of executions that end DEAD: placed at least once, delivered once, and never the cause of another.

How it can go wrong, each with its test below: the deliverer dies between the dead record and the callback's row; the
row is put and the answer lost; the row is put and its release is not taken; two deliverers find the same execution
dead; the sweeper gives up; a poller cannot send; the message is a bundle's; the job is ordered; its client is paused or
has no permit; the callback itself fails.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from clockwork.domain import codec, keys
from clockwork.domain.attempts import plan_death
from clockwork.domain.callbacks import callback_row
from clockwork.domain.clients import Client
from clockwork.domain.errors import Unavailable
from clockwork.domain.executions import Execution, Outcome, State
from clockwork.domain.ids import NamedJobId
from clockwork.domain.instants import to_text
from clockwork.domain.jobs import HttpTarget, Payload, RetryPolicy, SqsTarget, Target
from clockwork.domain.named import Definition
from clockwork.domain.recurrence import Every, Recurrence
from clockwork.domain.releases import Delivery, Release
from clockwork.domain.rows import releases_of
from clockwork.domain.timeline import Row
from clockwork.flows.call_back import call_back
from clockwork.flows.control import run_now
from clockwork.flows.create import create_jobs
from clockwork.flows.dead import redrive
from clockwork.flows.deliver import deliver_batch
from clockwork.flows.let_go import let_go
from clockwork.flows.named import NamedRequest, change, create_named, replaced
from clockwork.flows.registry import ensure_shards
from clockwork.flows.sweep import sweep_dead_letters
from clockwork.flows.unbundle import Message
from clockwork.memory.world import MemoryClockwork
from clockwork.ports import Refused
from tests.examples import (
    ACME,
    NOW,
    TARGET,
    execution,
    failure,
    new_job,
    occurrence,
    packed_request,
    release,
    request,
    success,
)

QUEUE = SqsTarget("arn:aws:sqs:us-east-1:123456789012:orders")
BACK = HttpTarget("https://example.com/failed")
ONCE = RetryPolicy(max_attempts=1)
DEAD = execution(State.DEAD, attempt=1, dead_at=NOW + 7, reason="given up")


class Crash(BaseException):
    """The deliverer's process ends."""


class Failing:
    """A Clockwork of which everything fails but callbacks, or these too."""

    def __init__(self, *, back_fails: bool = False, **client: Any) -> None:
        self.back_fails = back_fails
        self.clockwork = MemoryClockwork(answer=self._answer)
        self.world = self.clockwork.world
        self.clockwork.clients.put(msgspec.structs.replace(ACME, **client))

    def _answer(self, delivery: Delivery) -> Outcome:
        now = self.clockwork.clock.now()
        is_back = delivery.occurrence.target == BACK
        return success(now) if is_back and not self.back_fails else failure(started_at=now, ended_at=now)

    def create(self, **job: Any) -> str:
        asked = new_job(**{"target": QUEUE, "retry_policy": ONCE, "on_failure": BACK, "delay_ms": 2_000, **job})
        return create_jobs(self.world, request(asked), ensure_shards(self.world))[0].job_id

    def run(self, seconds: float = 400) -> None:
        self.clockwork.run_until(self.clockwork.clock.at + int(seconds * 1000))

    def crash_while_delivering(self) -> None:
        """Run until the deliverer dies."""
        with pytest.raises(Crash):
            self.run()

    @property
    def backs(self) -> list[Delivery]:
        return [one for one in self.clockwork.targets.delivered if one.occurrence.target == BACK]

    @property
    def tries(self) -> int:
        return len(self.clockwork.targets.delivered) - len(self.backs)

    def record(self, job_id: str) -> Execution:
        return next(one for one in self.clockwork.executions.all() if one.job_id == job_id)


def facts(delivery: Delivery) -> dict[str, Any]:
    return dict(json.loads(delivery.occurrence.payload.body))


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
    assert back.occurrence.due_at == dead.dead_at
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
    assert call_back(failing.world, [(release(occurrence=occurrence(on_failure=BACK)), stored)]) == [None]
    assert not failing.clockwork.queue.messages


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
    # One that is redriven and dies again is called back again.
    assert key_of(DEAD) != key_of(msgspec.structs.replace(DEAD, dead_at=NOW + 8))


def test_whichever_message_finds_it_dead_a_callback_lies_in_the_shard_of_the_death() -> None:
    job_id = NamedJobId("acme", "daily", 1).job_id
    here, there = (
        release(occurrence=occurrence(on_failure=BACK), job_id=job_id, partition_id=shard) for shard in ("o001", "p003")
    )
    dead = plan_death(here, None, "given up", NOW, NOW + 1)
    assert callback_row(there, dead, ONCE, NOW) == callback_row(here, dead, ONCE, NOW)
    assert callback_row(there, dead, ONCE, NOW).partition_id == "p001"
    # A record of an older version does not say where it died.
    older = msgspec.structs.replace(dead, dead_shard=None)
    assert callback_row(there, older, ONCE, NOW).partition_id == "p003"


def test_a_run_by_hand_that_is_repeated_after_a_change_of_shards_is_called_back_once() -> None:
    failing = Failing()
    every = Recurrence(every=Every(86_400_000, NOW))
    steady = {"target": TARGET, "payload": Payload(b"1"), "recurrence": every, "record": "full"}
    steady |= {"retry_policy": ONCE, "on_failure": BACK}
    ordered = Definition(**steady, ordering_key="order-17")
    wish = NamedRequest(client=ACME, job_key="daily", as_sent=b"x", definition=ordered)
    job = create_named(failing.world, wish, ensure_shards(failing.world)).job
    run_now(failing.world, job, "key")
    failing.run()
    plain = change(failing.world, job, None, replaced(Definition(**steady), b"y", same_schedule=True)).job
    assert keys.is_ordered(job.partition_id)
    assert not keys.is_ordered(plain.partition_id)
    run_now(failing.world, plain, "key")
    failing.run()
    assert (failing.tries, len(failing.backs)) == (1, 1)


def test_a_named_jobs_callback_names_its_key() -> None:
    job_id = NamedJobId("acme", "daily", 1).job_id
    named = release(occurrence=occurrence(on_failure=BACK), job_id=job_id, partition_id="p003")
    row = callback_row(named, msgspec.structs.replace(DEAD, job_id=job_id), ONCE, NOW)
    assert row.partition_id == "p003"
    assert json.loads(releases_of(row)[0].occurrence.payload.body)["jobKey"] == "daily"


def breaking(
    failing: Failing, monkeypatch: pytest.MonkeyPatch, port: str, fault: BaseException, *, after: bool
) -> None:
    """The first call of a port that is about a callback ends with a fault: `after` it has acted, or before."""
    owner, name = {
        "put_new": (failing.clockwork.timeline, "put_new"),
        "send": (failing.clockwork.queue, "send"),
    }[port]
    call: Callable[..., Any] = getattr(owner, name)
    broken = [fault]

    def faulty(values: Sequence[Any], *rest: Any) -> Any:
        is_back = any(_is_back(value) for value in values)
        if not (is_back and broken):
            return call(values, *rest)
        if after:
            call(values, *rest)
        raise broken.pop()

    monkeypatch.setattr(owner, name, faulty)


def _is_back(value: Row | Release) -> bool:
    released = releases_of(value) if isinstance(value, Row) else [value]
    return any(one.occurrence.target == BACK for one in released)


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("port", ["put_new", "send"])
@pytest.mark.parametrize("record", ["full", "none"])
def test_a_deliverer_that_dies_before_its_callback_is_certain_leaves_it_to_the_message(
    monkeypatch: pytest.MonkeyPatch, port: str, after: bool, record: str
) -> None:
    failing = Failing()
    job_id = failing.create(record=record)
    breaking(failing, monkeypatch, port, Crash(), after=after)
    failing.crash_while_delivering()
    assert failing.record(job_id).state is State.DEAD
    failing.run()
    assert len(failing.backs) == 1
    # At level none nothing tells a repeat that its attempt was made already.
    assert failing.tries == (1 if record == "full" else 2)
    assert not failing.clockwork.queue.messages


@pytest.mark.parametrize("after", [False, True], ids=["refused", "answer lost"])
def test_a_callback_whose_row_is_not_certain_is_placed_when_the_message_comes_back(
    monkeypatch: pytest.MonkeyPatch, after: bool
) -> None:
    failing = Failing()
    failing.create()
    breaking(failing, monkeypatch, "put_new", Unavailable("no answer"), after=after)
    failing.run(10)
    assert (failing.tries, failing.backs) == (1, [])
    failing.run()
    assert (failing.tries, len(failing.backs)) == (1, 1)
    assert not failing.clockwork.queue.messages


def test_a_callback_whose_release_is_not_taken_is_released_when_the_message_comes_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    failing = Failing()
    failing.create()
    send, refused = failing.clockwork.queue.send, [Refused(0, False, "throttled")]

    def refusing(releases: Sequence[Release], now: int) -> Sequence[Refused]:
        return [refused.pop()] if refused and any(map(_is_back, releases)) else send(releases, now)

    monkeypatch.setattr(failing.clockwork.queue, "send", refusing)
    failing.run()
    assert (refused, failing.tries, len(failing.backs)) == ([], 1, 1)


def test_a_client_that_cannot_be_read_delays_its_callback(monkeypatch: pytest.MonkeyPatch) -> None:
    failing = Failing()

    def unread(client_id: str) -> Client:
        raise Unavailable(client_id)

    ended = [(release(occurrence=occurrence(on_failure=BACK)), DEAD), (release(), DEAD)]
    with monkeypatch.context() as broken:
        broken.setattr(failing.clockwork.clients, "get", unread)
        assert call_back(failing.world, ended) == ["acme", None]
    assert call_back(failing.world, ended) == [None, None]
    assert len(failing.clockwork.queue.messages) == 1


def test_two_deliverers_that_find_one_execution_dead_call_back_once() -> None:
    failing = Failing()
    failing.create()
    failing.run(1.5)
    (message,) = failing.clockwork.queue.messages.values()
    copy = failing.clockwork.queue.put(message.body)
    failing.run()
    # Days later a third copy turns up: its callback's row is gone by then, its record is not.
    failing.clockwork.timeline._rows.clear()
    failing.clockwork.timeline._keys.clear()
    failing.clockwork.queue.put(message.body)
    failing.run()
    assert copy not in failing.clockwork.queue.messages
    assert (failing.tries, len(failing.backs)) == (1, 1)


def test_a_callback_that_its_client_cancelled_is_not_brought_back_by_a_repeat() -> None:
    failing = Failing(paused=False)
    failing.create()
    failing.run(1.5)
    (message,) = failing.clockwork.queue.messages.values()
    failing.run()
    (back,) = failing.backs
    final = failing.record(back.job_id)
    cancelled = msgspec.structs.replace(final, state=State.CANCELLED, revision=final.revision + 1)
    failing.clockwork.executions.save([(final, cancelled)])
    failing.clockwork.queue.put(message.body)
    failing.run()
    assert len(failing.backs) == 1


@pytest.mark.parametrize("answers", [True, False], ids=["placed", "not placed at first"])
def test_what_the_sweeper_gives_up_is_called_back_before_its_letter_is_forgotten(
    monkeypatch: pytest.MonkeyPatch, answers: bool
) -> None:
    failing = Failing()
    poisoned = release(occurrence=occurrence(on_failure=BACK, due_at=NOW - 9_000_000), sweeps=3)
    letter = failing.clockwork.queue.put(codec.encode_release(poisoned))
    failing.clockwork.queue.dead[letter] = failing.clockwork.queue.messages.pop(letter)
    if not answers:
        breaking(failing, monkeypatch, "put_new", Unavailable("no answer"), after=False)
        report = sweep_dead_letters(failing.world, failing.clockwork.clock.at + 20_000)
        assert (report.dead, report.left, len(failing.clockwork.queue.dead)) == (1, 1, 1)
        failing.clockwork.clock.advance(failing.clockwork.settings.visibility_seconds * 1000)
    report = sweep_dead_letters(failing.world, failing.clockwork.clock.at + 20_000)
    assert (report.dead, report.absorbed, report.left) == ((1, 0, 0) if answers else (0, 1, 0))
    assert failing.clockwork.queue.dead == {}
    failing.run()
    (back,) = failing.backs
    assert "dead-letter queue" in facts(back)["reason"]
    # Not as late as what was given up.
    waited_ms = 0 if answers else failing.clockwork.settings.visibility_seconds * 1000
    assert failing.record(back.job_id).attempts[0].lateness_ms == waited_ms


@pytest.mark.parametrize("answers", [True, False], ids=["placed", "not placed at first"])
def test_what_a_poller_can_never_send_is_called_back_before_its_shard_goes_on(
    monkeypatch: pytest.MonkeyPatch, answers: bool
) -> None:
    failing = Failing()
    job_id = failing.create(delay_ms=200_000)
    failing.clockwork.clock.advance(195_000)
    send = failing.clockwork.queue.send

    def never(releases: Sequence[Release], now: int) -> Sequence[Refused]:
        return send(releases, now) if any(map(_is_back, releases)) else [Refused(0, True, "too large")]

    monkeypatch.setattr(failing.clockwork.queue, "send", never)
    if not answers:
        breaking(failing, monkeypatch, "put_new", Unavailable("no answer"), after=False)
        assert "stuck" in {report.outcome for report in failing.clockwork.poll_all()}
        assert failing.record(job_id).state is State.DEAD
    assert {report.outcome for report in failing.clockwork.poll_all()} == {"dry"}
    failing.run(1)
    assert ["too large" in facts(back)["reason"] for back in failing.backs] == [True]


@pytest.mark.parametrize("answers", [True, False], ids=["placed", "not placed at first"])
def test_of_a_bundle_each_that_dies_is_called_back_by_itself(monkeypatch: pytest.MonkeyPatch, answers: bool) -> None:
    failing = Failing()
    jobs = [new_job(target=QUEUE, retry_policy=ONCE, on_failure=BACK, payload=Payload(b"%d" % n)) for n in range(5)]
    created = create_jobs(failing.world, packed_request(*jobs), ensure_shards(failing.world))
    if not answers:
        breaking(failing, monkeypatch, "put_new", Unavailable("no answer"), after=False)
    failing.run()
    assert sorted(facts(back)["jobId"] for back in failing.backs) == sorted(job.job_id for job in created)
    assert failing.tries == 5
    assert not failing.clockwork.queue.messages


@pytest.mark.parametrize("answers", [True, False], ids=["placed", "not placed at first"])
def test_an_ordered_jobs_callback_goes_its_own_way_and_its_followers_go_on(
    monkeypatch: pytest.MonkeyPatch, answers: bool
) -> None:
    failing = Failing()
    if not answers:
        breaking(failing, monkeypatch, "put_new", Unavailable("no answer"), after=False)
    first, second = (failing.create(ordering_key="k", record="full", delay_ms=ms) for ms in (2_000, 3_000))
    failing.run()
    assert [facts(back)["jobId"] for back in failing.backs] == [first, second]
    assert [keys.is_ordered(releases_of(row)[0].shard) for row in _back_rows(failing)] == [False, False]
    assert failing.tries == 2
    assert not failing.clockwork.ordered_queue.messages


def test_the_far_retry_of_an_ordered_jobs_callback_comes_though_there_are_fewer_plain_shards() -> None:
    failing = Failing(back_fails=True, retry_policy=RetryPolicy(max_attempts=3, initial_seconds=2_000, jitter="none"))
    few = failing.world.settings.with_(shards=1, ordered_shards=4)
    failing.world = failing.clockwork.world = replace(failing.world, settings=few)
    for number in range(4):
        failing.create(ordering_key=f"k{number}")
    failing.run(60)
    failing.back_fails = False
    failing.run(2_400)
    assert [back.attempt for back in failing.backs] == [1] * 4 + [2] * 4
    assert {releases_of(row)[0].shard for row in _back_rows(failing)} - {"p000"}


def _back_rows(failing: Failing) -> list[Row]:
    return [row for kept in failing.clockwork.timeline._rows.values() for row in kept.values() if _is_back(row)]


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
    assert State.SIDELINED in {one.state for one in failing.clockwork.executions.all()}
    failing.clockwork.clients.put(ACME)
    let_go(failing.world, failing.clockwork.clock.at + 60_000)
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
    assert codec.decode_release(codec.encode_release(sent)) == sent
    assert (b"onFailure" in codec.encode_row([cause])) == (on_failure is not None)
    dead = msgspec.structs.replace(DEAD, occurrence=cause)
    assert codec.decode_execution(codec.encode_execution(dead)) == dead
    assert b"deadAt" not in codec.encode_execution(execution(State.SUCCEEDED))


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
