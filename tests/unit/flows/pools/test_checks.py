"""A ticket that its queue has lost is found by its check, and sent again if its attempt is waited for still."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from clockwork.domain.clients import Client
from clockwork.domain.errors import Undecodable, Unreadable, readable
from clockwork.domain.executions import Claimed, Execution, State
from clockwork.domain.keys import BEGINNING, END
from clockwork.domain.lifecycle.awaited import BEHIND_MS
from clockwork.domain.lifecycle.parking import parking_of
from clockwork.domain.messages.tickets import opened
from clockwork.domain.pools.pool import Pool
from clockwork.domain.releases import Check, Deliver
from clockwork.domain.storage.checks import MOST_BYTES_IN_ROW, MOST_IN_ROW, check_of, check_rows
from clockwork.domain.storage.codec import decode_row, decode_ticket
from clockwork.domain.waits import Waiting
from clockwork.flows.pools.claim import Asked, claim_for
from clockwork.flows.requests.upcoming import Position, list_upcoming
from clockwork.memory.world import MemoryClockwork
from clockwork.ports import Refused
from clockwork.settings import Settings
from clockwork.targets.message import Payload
from clockwork.targets.pool import PoolTarget
from tests.support.examples import ACME, occurrence, release

DAY_MS = 86_400_000
CHECK_MS = 3 * DAY_MS
#: The grain of their instants: a check is due up to two of them before that.
HOUR_MS = 3_600_000
SHARD = "p000"
POOL = Pool(name="etl", revision=1, principals=("w",), handlers=("work",), lease_seconds=60)


@pytest.fixture
def clockwork() -> MemoryClockwork:
    made = MemoryClockwork(Settings.for_local().with_(pools=("etl=normal",)))
    made.clients.put(msgspec.structs.replace(ACME, allowed_pools=("etl",)))
    made.ticket_keys.make("k" * 22)
    return made


def sent(clockwork: MemoryClockwork, **more: Any) -> Deliver:
    due_at = clockwork.clock.at
    target = PoolTarget("etl", "work", timeout_seconds=600)
    whole = occurrence(target=target, due_at=due_at, created_at=due_at, **more)
    made = msgspec.structs.replace(release(), occurrence=whole, run_at=due_at)
    assert not clockwork.world.releases.send([made], due_at)
    return made


def tickets(clockwork: MemoryClockwork) -> list[tuple[str, Deliver]]:
    """The tickets that a worker receives now, which are gone with that."""
    queue = clockwork.pool_queues.of("etl")
    found = []
    while received := queue.receive():
        for one in received:
            queue.delete(one.message_id)
            carried = decode_ticket(opened(one.body, ["k" * 22], clockwork.clock.at).release)
            found.append((one.body, carried))
    return found


def claimed(clockwork: MemoryClockwork, body: str, claim_id: str = "c" * 22) -> Any:
    deadline_at = clockwork.clock.at + 300_000
    (answer,) = claim_for(clockwork.world, POOL, "w", ["work"], [Asked(claim_id, body, "r")], deadline_at)
    return answer


def checked(clockwork: MemoryClockwork) -> None:
    """The next check comes to its deliverer."""
    clockwork.clock.advance(CHECK_MS)
    clockwork.poll(SHARD)
    clockwork.deliver_visible()


def rows_of(clockwork: MemoryClockwork) -> list[Check]:
    rows = clockwork.timeline.read(SHARD, BEGINNING, END, 100).rows
    return [one for row in rows for one in decode_row(row.blob).values() if isinstance(one, Check)]


def record_of(clockwork: MemoryClockwork, made: Deliver) -> Execution | None:
    return clockwork.executions.find(made.job_id, made.execution_id)


def save(clockwork: MemoryClockwork, record: Execution) -> None:
    (saved,) = clockwork.executions.save([(None, record)])
    assert saved.ok


def test_a_lost_ticket_is_sent_again_each_time_that_it_is_lost(clockwork: MemoryClockwork) -> None:
    made = sent(clockwork)
    for number in range(1, 4):
        ((_, lost),) = tickets(clockwork)
        assert isinstance(lost, Deliver)
        assert (lost.execution_id, lost.attempt) == (made.execution_id, 1)
        checked(clockwork)
        assert len(rows_of(clockwork)) == number + 1
    ((body, _),) = tickets(clockwork)
    assert claimed(clockwork, body).start is not None
    assert not clockwork.queue.dead


def test_a_ticket_that_waits_still_makes_one_more_which_counts_for_nothing(clockwork: MemoryClockwork) -> None:
    sent(clockwork)
    checked(clockwork)
    (first, _), (again, _) = tickets(clockwork)
    assert claimed(clockwork, first).start is not None
    second = claimed(clockwork, again, "d" * 22)
    assert (second.start, second.is_left) == (None, False)


@pytest.mark.parametrize("state", [State.SUCCEEDED, State.CANCELLED, State.DEAD, State.EXPIRED])
def test_what_has_ended_is_let_be(clockwork: MemoryClockwork, state: State) -> None:
    made = sent(clockwork)
    tickets(clockwork)
    save(clockwork, made.first_record(state, clockwork.clock.at + 40 * DAY_MS, attempt=1))
    checked(clockwork)
    assert tickets(clockwork) == []
    assert len(rows_of(clockwork)) == 1
    assert not clockwork.queue.messages


def test_a_claim_that_stands_and_another_attempt_that_waits_are_let_be(clockwork: MemoryClockwork) -> None:
    sent(clockwork)
    ((body, _),) = tickets(clockwork)
    (check,) = rows_of(clockwork)
    clockwork.clock.advance(check.run_at - 10_000 - clockwork.clock.at)
    assert claimed(clockwork, body).start is not None
    clockwork.clock.advance(10_000)
    clockwork.poll(SHARD)
    clockwork.deliver_visible()
    assert tickets(clockwork) == []


def test_the_checks_of_attempts_that_have_ended_become_one_which_makes_one_ticket(clockwork: MemoryClockwork) -> None:
    made = sent(clockwork)
    tickets(clockwork)
    clockwork.timeline.forget(SHARD, [row.key for row in clockwork.timeline.read(SHARD, BEGINNING, END, 9).rows])
    at, expires_at = clockwork.clock.at + 5_000, clockwork.clock.at + 40 * DAY_MS
    save(clockwork, made.first_record(State.FAILED, expires_at, attempt=3, waits=Waiting(at)))
    for attempt in (1, 2, 3):
        check = check_of(made, attempt, made.run_at)
        clockwork.world.releases.send([check], clockwork.clock.at)
        clockwork.deliver_visible()
    # Whoever recorded the end of the third attempt may have died before the fourth one was sent. If not, its ticket has
    # a check of its own, which comes before this one.
    assert tickets(clockwork) == []
    (later,) = rows_of(clockwork)
    assert (later.attempt, later.run_at) == (4, at + CHECK_MS + BEHIND_MS)
    clockwork.clock.advance(later.run_at - clockwork.clock.at)
    clockwork.poll(SHARD)
    clockwork.deliver_visible()
    assert [one.attempt for _, one in tickets(clockwork)] == [4]


def test_the_check_of_an_attempt_that_has_ended_for_long_sends_the_next(clockwork: MemoryClockwork) -> None:
    made = sent(clockwork)
    tickets(clockwork)
    at, expires_at = clockwork.clock.at - CHECK_MS - BEHIND_MS, clockwork.clock.at + 40 * DAY_MS
    save(clockwork, made.first_record(State.FAILED, expires_at, attempt=1, waits=Waiting(at)))
    clockwork.world.releases.send([check_of(made, made.attempt, made.run_at)], clockwork.clock.at)
    clockwork.deliver_visible()
    assert [one.attempt for _, one in tickets(clockwork)] == [2]


@pytest.mark.parametrize(("attempt", "sent_again"), [(1, [1]), (0, [])])
def test_a_claim_of_a_deliverer_has_nothing_but_the_ticket(
    clockwork: MemoryClockwork, attempt: int, sent_again: list[int]
) -> None:
    made = sent(clockwork)
    tickets(clockwork)
    over_at = clockwork.clock.at - 60_000
    # Its job went to a webhook before, and the deliverer died at work.
    claim = Claimed("lost", over_at, over_at)
    save(clockwork, made.first_record(State.RUNNING, clockwork.clock.at + 40 * DAY_MS, attempt=attempt, claim=claim))
    checked(clockwork)
    assert [one.attempt for _, one in tickets(clockwork)] == sent_again


def test_the_attempt_behind_a_failed_one_has_a_check_of_its_own(clockwork: MemoryClockwork) -> None:
    made = sent(clockwork)
    ((body, _),) = tickets(clockwork)
    assert claimed(clockwork, body).start is not None
    clockwork.clock.advance(70_000)
    clockwork.deliver_visible()
    record = record_of(clockwork, made)
    assert record is not None
    assert (record.attempt, record.attempts[0].state) == (1, State.WORKER_LOST)
    assert [one.attempt for one in rows_of(clockwork)] == [1, 2]
    tickets(clockwork)
    checked(clockwork)
    assert [one.attempt for _, one in tickets(clockwork)] == [2]


def test_what_is_too_late_ends_at_its_check(clockwork: MemoryClockwork) -> None:
    made = sent(clockwork, relevancy_window_seconds=60.0)
    tickets(clockwork)
    checked(clockwork)
    record = record_of(clockwork, made)
    assert record is not None
    assert record.state is State.EXPIRED
    assert tickets(clockwork) == []


def paused(clockwork: MemoryClockwork, *, is_paused: bool) -> None:
    stored: Client | None = clockwork.clients.get(ACME.client_id)
    assert stored is not None
    clockwork.clients.put(msgspec.structs.replace(stored, paused=is_paused, revision=stored.revision + 1))


def test_what_is_parked_is_left_to_its_row_while_the_pause_lasts_and_checked_on(clockwork: MemoryClockwork) -> None:
    made = sent(clockwork)
    paused(clockwork, is_paused=True)
    ((body, _),) = tickets(clockwork)
    assert claimed(clockwork, body).start is None
    record = record_of(clockwork, made)
    assert record is not None
    assert record.state is State.PARKED
    checked(clockwork)
    assert tickets(clockwork) == []
    # It was unparked and lost: its record says PARKED still.
    paused(clockwork, is_paused=False)
    parked = clockwork.timeline.read(parking_of("acme"), BEGINNING, END, 100).rows
    clockwork.timeline.forget(parking_of("acme"), [row.key for row in parked])
    checked(clockwork)
    ((body, _),) = tickets(clockwork)
    assert claimed(clockwork, body).start is not None


def test_a_check_whose_record_cannot_be_read_fails_alone(clockwork: MemoryClockwork) -> None:
    first = sent(clockwork)
    moved = msgspec.structs.replace(first.occurrence, due_at=first.occurrence.due_at + 1)
    second = msgspec.structs.replace(first, occurrence=moved)
    assert not clockwork.world.releases.send([second], clockwork.clock.at)
    tickets(clockwork)
    clockwork.clock.advance(CHECK_MS)
    clockwork.poll(SHARD)
    inner = clockwork.world.executions

    class Damaged:
        def get(self, refs: Sequence[tuple[str, str]]) -> Sequence[Execution | Unreadable | None]:
            damaged = Undecodable("damaged")
            return [damaged if one == first.execution_id else inner.find(job_id, one) for job_id, one in refs]

        def find(self, job_id: str, execution_id: str) -> Execution | None:
            return readable(self.get([(job_id, execution_id)])[0])

        def __getattr__(self, name: str) -> Any:
            return getattr(inner, name)

    msgspec.structs.force_setattr(clockwork.world, "executions", Damaged())
    report = clockwork.deliver_visible()
    assert [one.execution_id for _, one in tickets(clockwork)] == [second.execution_id]
    assert len(report.failed_messages) == 1


def test_checks_are_no_jobs_to_come(clockwork: MemoryClockwork) -> None:
    sent(clockwork)
    assert len(rows_of(clockwork)) == 1
    page = list_upcoming(clockwork.world, ACME.client_id, Position(BEGINNING, 0), clockwork.clock.at + 2 * CHECK_MS, 10)
    assert list(page.items) == []


def test_rows_of_checks_are_bounded_and_small() -> None:
    def some(count: int, size: int) -> Sequence[Deliver]:
        target = PoolTarget("etl", "work", timeout_seconds=600)
        made = [
            occurrence(target=target, due_at=1_777_975_200_000 + n, payload=Payload(b"x" * size)) for n in range(count)
        ]
        return [msgspec.structs.replace(release(), occurrence=one, run_at=one.due_at) for one in made]

    rows = check_rows(some(2 * MOST_IN_ROW + 1, 200), 10**12, HOUR_MS, 10**13)
    assert [len(decode_row(row.blob)) for row in rows] == [MOST_IN_ROW, MOST_IN_ROW, 1]
    assert len(rows[0].blob) < 40 * MOST_IN_ROW
    assert len({row.key for row in rows}) == 3
    assert check_rows(some(3, 9), 10**12, HOUR_MS, 10**13) == check_rows(some(3, 9), 10**12, HOUR_MS, 10**13)
    large = check_rows(some(5, MOST_BYTES_IN_ROW // 2), 10**12, HOUR_MS, 10**13)
    assert [len(decode_row(row.blob)) for row in large] == [2, 2, 1]


def test_a_claim_that_is_given_back_is_checked_for_again(clockwork: MemoryClockwork) -> None:
    """A check that met the claim has ended: so what waits again after it needs one of its own."""
    ticket = msgspec.structs.replace(release(), checked=True)
    assert ticket.for_attempt(1).checked
    assert not ticket.for_attempt(2).checked
    sent(clockwork)
    ((_, sealed),) = tickets(clockwork)
    assert not clockwork.world.releases.send([sealed], clockwork.clock.at)
    assert len(rows_of(clockwork)) == 1
    later = clockwork.clock.at + HOUR_MS
    assert not clockwork.world.releases.send([msgspec.structs.replace(sealed, checked=False)], later)
    assert len(rows_of(clockwork)) == 2


def test_whoever_sends_a_ticket_again_within_the_hour_puts_no_other_check(clockwork: MemoryClockwork) -> None:
    made = sent(clockwork)
    began_at = clockwork.clock.at - clockwork.clock.at % HOUR_MS + HOUR_MS
    for minute in range(60):
        assert not clockwork.world.releases.send([made], began_at + minute * 60_000)
    assert len(rows_of(clockwork)) <= 2, "one of this hour, and one of the hour before"
    assert not clockwork.world.releases.send([made], began_at + HOUR_MS)
    assert len(rows_of(clockwork)) == 3


def test_the_queue_of_a_pool_may_refuse_as_often_as_it_likes_for_one_check(
    clockwork: MemoryClockwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refusing(_: Any, messages: Sequence[Any], _now: int) -> Sequence[Refused]:
        return [Refused(index, False, "no answer") for index, _ in enumerate(messages)]

    clockwork.clock.advance(HOUR_MS - clockwork.clock.at % HOUR_MS)
    due_at = clockwork.clock.at
    target = PoolTarget("etl", "work", timeout_seconds=600)
    many = [occurrence(target=target, due_at=due_at + n, created_at=due_at) for n in range(20)]
    releases = [msgspec.structs.replace(release(), occurrence=one, run_at=due_at) for one in many]
    monkeypatch.setattr(type(clockwork.pool_queues), "send", refusing)
    for _ in range(10):
        assert len(clockwork.world.releases.send(releases, clockwork.clock.at)) == 20
        clockwork.clock.advance(30_000)
    assert len(clockwork.timeline.read(SHARD, BEGINNING, END, 100).rows) == 1


def test_checks_are_spread_and_come_about_when_they_should(clockwork: MemoryClockwork) -> None:
    now = clockwork.clock.at
    target = PoolTarget("etl", "work", timeout_seconds=600)
    for number in range(50):
        one = occurrence(target=target, due_at=now + number, created_at=now)
        assert not clockwork.world.releases.send([msgspec.structs.replace(release(), occurrence=one, run_at=now)], now)
    instants = [one.run_at for one in rows_of(clockwork)]
    assert len(set(instants)) == 50
    assert all(now + CHECK_MS - 2 * HOUR_MS < one <= now + CHECK_MS for one in instants)
    assert max(instants) - min(instants) > HOUR_MS // 2
