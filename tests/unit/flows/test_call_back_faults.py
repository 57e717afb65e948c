"""Faults of callbacks: the row is put at least once, the callback is delivered once, and none causes another callback.

Each fault has its test below:

- the deliverer dies between the dead record and the callback's row;
- the row is put and the answer lost;
- the row is put and the queue does not take its release;
- two deliverers find the same execution dead;
- the sweeper gives up;
- a poller cannot send;
- the message is a bundle's;
- the job is ordered;
- its client is paused or has no permit;
- the callback itself fails.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress

import msgspec
import pytest

from clockwork.domain import keys
from clockwork.domain.clients import Client
from clockwork.domain.errors import Unavailable
from clockwork.domain.executions import State
from clockwork.domain.lifecycle.cancels import Verdict
from clockwork.domain.policies import RetryPolicy
from clockwork.domain.releases import Release
from clockwork.domain.storage import codec
from clockwork.domain.storage.rows import releases_of
from clockwork.domain.timeline import Row
from clockwork.flows.access import Caller
from clockwork.flows.deaths import call_back
from clockwork.flows.requests.cancel import CALLED_BACK_WITHIN_MS, cancel_job
from clockwork.flows.requests.create import create_jobs
from clockwork.flows.sweep.dead_letters import sweep_dead_letters
from clockwork.flows.timeline.shards import ensure_shards
from clockwork.ports import Refused
from clockwork.targets.message import Payload
from tests.support.examples import ALICE, NOW, failure, new_job, occurrence, packed_request, release
from tests.support.failing import BACK, DEAD, ONCE, QUEUE, Crash, Failing, breaking, facts, is_back

MINE = Caller(ALICE, client_ids=frozenset({"acme"}))


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
    # At level none no record tells the repeated message that the attempt was made already, so it is made again.
    assert failing.tries == (1 if record == "full" else 2)
    assert not failing.clockwork.queue.messages


def test_a_death_at_level_none_is_called_back_though_a_copy_of_its_message_is_tried_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    failing = Failing()
    failing.create(record="none", retry_policy=RetryPolicy(max_attempts=3, initial_seconds=3_000, jitter="none"))
    failing.clockwork.targets._answer = lambda _: failure(permanent=True)
    breaking(failing, monkeypatch, "put_new", Crash(), after=False)
    failing.crash_while_delivering()
    failing.clockwork.targets._answer = failing._answer
    failing.run()
    assert (failing.tries, len(failing.backs)) == (2, 1), "its retry comes much later"


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
        return [refused.pop()] if refused and any(map(is_back, releases)) else send(releases, now)

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
        assert call_back(failing.world, ended) == [Refused(0, permanent=False, reason="acme")]
    assert call_back(failing.world, ended) == []
    assert len(failing.clockwork.queue.messages) == 1


def test_two_deliverers_that_find_one_execution_dead_call_back_once() -> None:
    failing = Failing()
    failing.create()
    failing.run(1.5)
    (message,) = failing.clockwork.queue.messages.values()
    copy = failing.clockwork.queue.put(message.body)
    failing.run()
    # A third copy arrives days later: the callback's row is gone by then, its record is not.
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
    # The callback's lateness counts from the death, not from the due instant of the job that was given up.
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
        return send(releases, now) if any(map(is_back, releases)) else [Refused(0, True, "too large")]

    monkeypatch.setattr(failing.clockwork.queue, "send", never)
    if not answers:
        breaking(failing, monkeypatch, "put_new", Unavailable("no answer"), after=False)
        assert sum(report.set_aside for report in failing.clockwork.poll_all()) == 1
        assert failing.record(job_id).state is State.DEAD
        failing.clockwork.clock.advance(60_000)
    assert {report.outcome for report in failing.clockwork.poll_all()} == {"dry"}
    failing.run(1)
    assert ["too large" in facts(back)["reason"] for back in failing.backs] == [True]


@pytest.mark.parametrize("fault", [Unavailable("no answer"), Crash()], ids=["no answer", "crash"])
@pytest.mark.parametrize("answers", [True, False], ids=["placed", "not placed at first"])
def test_a_cancel_between_a_death_at_the_poller_and_its_callback_puts_it(
    monkeypatch: pytest.MonkeyPatch, fault: BaseException, answers: bool
) -> None:
    failing = Failing()
    job_id = failing.create(delay_ms=200_000)
    failing.clockwork.clock.advance(195_000)
    send = failing.clockwork.queue.send

    def never(releases: Sequence[Release], now: int) -> Sequence[Refused]:
        return send(releases, now) if any(map(is_back, releases)) else [Refused(0, True, "too large")]

    monkeypatch.setattr(failing.clockwork.queue, "send", never)
    breaking(failing, monkeypatch, "put_new", fault, after=False)
    with suppress(Crash):
        failing.clockwork.poll_all()
    assert failing.record(job_id).state is State.DEAD
    if not answers:
        breaking(failing, monkeypatch, "put_new", Unavailable("no answer"), after=False)
        with pytest.raises(Unavailable):
            cancel_job(failing.world, MINE, job_id)
    for _ in range(2):
        assert cancel_job(failing.world, MINE, job_id).verdict is Verdict.TOO_LATE
    failing.run()
    assert len(failing.backs) == 1
    failing.run(CALLED_BACK_WITHIN_MS / 1000)
    assert cancel_job(failing.world, MINE, job_id).verdict is Verdict.TOO_LATE
    assert not failing.clockwork.queue.messages


def test_a_cancel_of_what_died_after_an_attempt_sends_nothing() -> None:
    failing = Failing()
    job_id = failing.create()
    failing.run()
    assert (failing.record(job_id).state, len(failing.backs)) == (State.DEAD, 1)
    assert cancel_job(failing.world, MINE, job_id).verdict is Verdict.TOO_LATE
    assert not failing.clockwork.queue.messages


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
    failing.world = failing.clockwork.world = failing.world.with_(settings=few)
    for number in range(4):
        failing.create(ordering_key=f"k{number}")
    failing.run(60)
    failing.back_fails = False
    failing.run(2_400)
    assert [back.attempt for back in failing.backs] == [1] * 4 + [2] * 4
    assert {releases_of(row)[0].shard for row in _back_rows(failing)} - {"p000"}


def test_callbacks_go_their_way_though_the_row_of_another_cannot_be_read_back(monkeypatch: pytest.MonkeyPatch) -> None:
    failing = Failing()
    odd, even = (failing.create(record="full") for _ in range(2))

    def reading(row: Row) -> list[Release]:
        releases = releases_of(row)
        if any(json.loads(one.occurrence.payload.body)["jobId"] == odd for one in releases):
            raise ValueError(odd)
        return releases

    monkeypatch.setattr("clockwork.flows.deaths.releases_of", reading)
    failing.run(10)
    assert [facts(back)["jobId"] for back in failing.backs] == [even]
    assert failing.tries == 2


def _back_rows(failing: Failing) -> list[Row]:
    return [row for kept in failing.clockwork.timeline._rows.values() for row in kept.values() if is_back(row)]
