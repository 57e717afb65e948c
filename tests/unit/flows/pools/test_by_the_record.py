"""A claim goes by the record first: a used ticket sends and takes nothing, and what has ended is gone for everybody."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import msgspec
import pytest

from clockwork.domain.errors import Unavailable
from clockwork.domain.executions import Execution, State
from clockwork.domain.messages.tickets import Ticket, opened, sealed
from clockwork.domain.pools.pool import Pool
from clockwork.domain.releases import Deliver, Watch
from clockwork.domain.storage.codec import decode_message
from clockwork.flows.pools.claim import Asked, Claimed, claim_for
from clockwork.flows.pools.presence import in_progress, note_claims
from clockwork.memory.world import MemoryClockwork
from clockwork.settings import Settings
from clockwork.targets.pool import PoolTarget
from tests.support.examples import ACME, occurrence, release

KEY = "k" * 22
POOL = Pool(name="etl", revision=1, principals=("w",), handlers=("work", "toil"), lease_seconds=60)


@pytest.fixture
def clockwork() -> MemoryClockwork:
    made = MemoryClockwork(Settings.for_local().with_(pools=("etl=normal",)))
    made.clients.put(msgspec.structs.replace(ACME, allowed_pools=("etl",)))
    made.ticket_keys.make(KEY)
    return made


def sent(clockwork: MemoryClockwork, count: int = 1, **more: Any) -> list[Deliver]:
    now = clockwork.clock.at
    target = PoolTarget("etl", "work", timeout_seconds=600)
    made = [
        msgspec.structs.replace(
            release(), occurrence=occurrence(target=target, due_at=now + n, created_at=now, **more), run_at=now + n
        )
        for n in range(count)
    ]
    assert not clockwork.world.releases.send(made, now)
    return made


def received(clockwork: MemoryClockwork) -> list[Asked]:
    messages = clockwork.pool_queues.of("etl").receive(10)
    return [Asked(f"{one.message_id:c>22}"[:22], one.body, one.message_id) for one in messages]


def claim(clockwork: MemoryClockwork, asked: Sequence[Asked], handlers: Sequence[str] = ("work",)) -> list[Claimed]:
    return claim_for(clockwork.world, POOL, "w", handlers, asked, clockwork.clock.at + 29_000)


def copies(clockwork: MemoryClockwork) -> int:
    return len(clockwork.pool_queues.of("etl").messages)


def watches(clockwork: MemoryClockwork) -> int:
    found = [one for message in clockwork.queue.messages.values() for one in decode_message(message.body)]
    return sum(isinstance(one, Watch) for one in found)


def record_of(clockwork: MemoryClockwork, made: Deliver) -> Execution:
    found = clockwork.executions.find(made.job_id, made.execution_id)
    assert found is not None
    return found


class _Killed(BaseException):
    """The end of an environment of the api: no `except Exception` sees it."""


def _die(*_: Any) -> None:
    raise _Killed


def change_client(clockwork: MemoryClockwork, **changes: Any) -> None:
    stored = clockwork.clients.get(ACME.client_id)
    assert stored is not None
    clockwork.clients.put(msgspec.structs.replace(stored, revision=stored.revision + 1, **changes))


@pytest.mark.parametrize("has_ended", [False, True])
def test_a_used_ticket_that_is_shown_again_sends_no_watch(clockwork: MemoryClockwork, has_ended: bool) -> None:
    (made,) = sent(clockwork)
    asked = received(clockwork)
    assert claim(clockwork, asked)[0].start is not None
    if has_ended:
        running = record_of(clockwork, made)
        ended = running.changed(state=State.SUCCEEDED, claim=None)
        assert clockwork.executions.save([(running, ended)])[0].ok
    for number in range(5):
        (answer,) = claim(clockwork, [Asked(f"{number:l>22}", asked[0].ticket, "no receipt")])
        assert (answer.start, answer.is_left) == (None, False)
    assert watches(clockwork) == 1


def test_a_used_ticket_takes_no_slot_of_its_client(clockwork: MemoryClockwork) -> None:
    sent(clockwork)
    asked = received(clockwork)
    assert claim(clockwork, asked)[0].start is not None
    change_client(clockwork, max_rate_per_second=1.0)
    for number in range(5):
        claim(clockwork, [Asked(f"{number:l>22}", asked[0].ticket, "no receipt")])
    clockwork.clock.advance(10)
    sent(clockwork)
    assert claim(clockwork, received(clockwork))[0].start is not None


def test_a_ticket_whose_execution_has_ended_goes_although_nobody_has_its_handler(clockwork: MemoryClockwork) -> None:
    (made,) = sent(clockwork)
    assert clockwork.executions.save([(None, made.first_record(State.CANCELLED, 10**15))])[0].ok
    (answer,) = claim(clockwork, received(clockwork), ["toil"])
    assert (answer.start, answer.is_left) == (None, False)
    assert copies(clockwork) == 0


def test_a_ticket_that_is_too_late_ends_visibly_although_nobody_has_its_handler(clockwork: MemoryClockwork) -> None:
    (made,) = sent(clockwork, relevancy_window_seconds=60.0)
    clockwork.clock.advance(61_000)
    claim(clockwork, received(clockwork), ["toil"])
    assert record_of(clockwork, made).state is State.EXPIRED
    assert copies(clockwork) == 0


def test_a_ticket_without_its_handler_is_sent_on_later_and_later(clockwork: MemoryClockwork) -> None:
    sent(clockwork)
    waits = []
    for _ in range(12):
        asked = received(clockwork)
        claim(clockwork, asked, ["toil"])
        (message,) = clockwork.pool_queues.of("etl").messages.values()
        (again,) = decode_message(opened(message.body, [KEY], clockwork.clock.at).release)
        waits.append(again.run_at - clockwork.clock.at)
        clockwork.clock.advance(waits[-1])
    assert waits[:3] == [2_000, 3_000, 4_500]
    assert waits[-1] == 60_000
    assert claim(clockwork, received(clockwork))[0].start is not None


def test_a_worker_that_asks_again_starts_though_its_client_was_paused_meanwhile(clockwork: MemoryClockwork) -> None:
    (made,) = sent(clockwork)
    asked = received(clockwork)
    first = claim(clockwork, asked)[0].start
    change_client(clockwork, paused=True)
    clockwork.clock.advance(5_000)
    again = claim(clockwork, asked)[0].start
    assert first is not None
    assert again is not None
    assert again.token == first.token
    assert (record_of(clockwork, made).state, record_of(clockwork, made).attempt) == (State.RUNNING, 1)


def found_by_its_watch(clockwork: MemoryClockwork, made: Deliver) -> Execution:
    """The record once the watch has found that nobody works: until then an earlier call may have told the worker to."""
    assert record_of(clockwork, made).state is State.RUNNING
    clockwork.run_until(clockwork.clock.at + 180_000)
    claim(clockwork, received(clockwork))
    return record_of(clockwork, made)


@pytest.mark.parametrize("dies", [False, True])
def test_a_worker_that_asks_again_starts_nothing_that_its_client_may_not_send(
    clockwork: MemoryClockwork, dies: bool
) -> None:
    (made,) = sent(clockwork)
    asked = received(clockwork)
    if dies:
        change_client(clockwork, allowed_pools=())
    with suppress(_Killed), pytest.MonkeyPatch.context() as broken:
        if dies:
            broken.setattr("clockwork.flows.pools.claim.record_refused", _die)
        claim(clockwork, asked)
    assert record_of(clockwork, made).state is State.RUNNING
    change_client(clockwork, allowed_pools=())
    (answer,) = claim(clockwork, asked)
    assert (answer.start, answer.is_left) == (None, False)
    assert found_by_its_watch(clockwork, made).state is State.DEAD


def test_a_worker_that_asks_again_starts_nothing_of_a_client_that_was_deleted(clockwork: MemoryClockwork) -> None:
    (made,) = sent(clockwork)
    asked = received(clockwork)
    assert claim(clockwork, asked)[0].start is not None
    change_client(clockwork, deleting_at=clockwork.clock.at + 1)
    assert claim(clockwork, asked)[0].start is None
    assert found_by_its_watch(clockwork, made).state is State.CANCELLED


def test_a_worker_that_asks_again_waits_for_no_slot(clockwork: MemoryClockwork) -> None:
    sent(clockwork, 3)
    asked = received(clockwork)
    assert all(one.start for one in claim(clockwork, asked))
    change_client(clockwork, max_rate_per_second=0.1)
    assert all(one.start for one in claim(clockwork, asked))


@pytest.mark.parametrize(("before_ms", "starts"), [(1, True), (0, False)])
def test_a_worker_that_asks_again_at_its_deadline_starts_nothing(
    clockwork: MemoryClockwork, before_ms: int, starts: bool
) -> None:
    (made,) = sent(clockwork)
    asked = received(clockwork)
    assert claim(clockwork, asked)[0].start is not None
    awaited = record_of(clockwork, made).awaited
    assert awaited is not None
    clockwork.clock.advance(awaited.deadline_at - before_ms - clockwork.clock.at)
    assert (claim(clockwork, asked)[0].start is not None) is starts


@pytest.mark.parametrize(("after_ms", "told_ms"), [(-1, 0), (0, 0), (70, 70)])
def test_a_worker_is_shown_with_how_late_its_last_claim_was(
    clockwork: MemoryClockwork, after_ms: int, told_ms: int
) -> None:
    clockwork.clock.advance(1_000)
    (made,) = sent(clockwork)
    asked = received(clockwork)
    clockwork.clock.at = made.run_at + after_ms
    note_claims(clockwork.world, POOL, claim(clockwork, asked))
    (shown,) = in_progress(clockwork.world, POOL).workers
    assert shown.started_late_ms == told_ms


def test_a_worker_that_asks_again_too_late_is_not_to_start(clockwork: MemoryClockwork) -> None:
    (made,) = sent(clockwork, relevancy_window_seconds=30.0)
    asked = received(clockwork)
    assert claim(clockwork, asked)[0].start is not None
    clockwork.clock.advance(31_000)
    (answer,) = claim(clockwork, asked)
    assert (answer.start, answer.is_left) == (None, False)
    assert found_by_its_watch(clockwork, made).state is State.EXPIRED


def test_copies_of_one_release_in_one_call_are_claimed_once_and_all_deleted(clockwork: MemoryClockwork) -> None:
    (made,) = sent(clockwork)
    assert not clockwork.world.releases.send([made], clockwork.clock.at)
    first, second = received(clockwork)
    carried = opened(first.ticket, [KEY], clockwork.clock.at)
    other = sealed(Ticket(carried.pool, carried.priority, carried.sent_at + 1, carried.release), KEY)
    answers = claim(clockwork, [first, second, Asked("o" * 22, other, "no receipt")])
    assert [one.start is not None for one in answers] == [True, False, False]
    assert [one.is_left for one in answers] == [False, False, False]
    assert (watches(clockwork), copies(clockwork)) == (1, 0)


def test_copies_of_one_release_stay_together_where_nobody_can_tell(
    clockwork: MemoryClockwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    (made,) = sent(clockwork)
    assert not clockwork.world.releases.send([made], clockwork.clock.at)

    def silent(*_: Any) -> Any:
        raise Unavailable("no answer")

    with monkeypatch.context() as broken:
        broken.setattr(type(clockwork.executions), "get", silent)
        answers = claim(clockwork, received(clockwork))
    assert [(one.start, one.is_left) for one in answers] == [(None, True)] * 2
    assert (watches(clockwork), copies(clockwork)) == (0, 2)


def test_a_call_reads_the_records_of_its_tickets_once_and_together(
    clockwork: MemoryClockwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent(clockwork, 10)
    asked = received(clockwork)
    calls: list[int] = []
    read = type(clockwork.executions).get

    def counted(self: Any, refs: Sequence[tuple[str, str]]) -> Any:
        calls.append(len(refs))
        return read(self, refs)

    monkeypatch.setattr(type(clockwork.executions), "get", counted)
    assert all(one.start for one in claim(clockwork, asked))
    assert calls == [10]
