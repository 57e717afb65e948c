"""A flood in a pool: a ticket beyond its client's share goes to the overflow queue, once, for workers that ask it."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from clockwork.domain.errors import Unavailable
from clockwork.domain.ids import AnonymousJob
from clockwork.domain.keys import row_key
from clockwork.domain.pools.floods import FLOODS_FOR_MS, NOTED_FOR_MS, Flood, Overflow, renewed
from clockwork.domain.pools.pool import Pool
from clockwork.domain.pools.shares import (
    BEYOND_WITHIN_MS,
    MANY_BEYOND,
    MOST_FIRST,
    NOTES_APART_MS,
    SHUT_FOR_MS,
)
from clockwork.domain.releases import Deliver, Of, Refused
from clockwork.domain.storage.codec import decode_ticket
from clockwork.flows.pools.claim import Asked, Claimed, claim_for
from clockwork.flows.pools.sharing import Sharing
from clockwork.memory.queue import Message
from clockwork.memory.world import MemoryClockwork
from clockwork.ports import PoolMessage
from clockwork.settings import Settings
from clockwork.targets.pool import PoolTarget
from tests.simulation.stores import carried
from tests.support.examples import ACME, occurrence, release

POOL = Pool(name="etl", revision=1, principals=("w",), handlers=("work",), lease_seconds=60)
FLOOD, QUIET = "flood", "quiet"
LATE = 1_000
NUMBERS = itertools.count()
FULL = Sharing("one", 10, {FLOOD: 10, QUIET: 0})


@pytest.fixture
def clockwork() -> MemoryClockwork:
    made = MemoryClockwork(Settings.for_local().with_(pools=("etl=high,normal",)))
    for client_id in (FLOOD, QUIET):
        made.clients.put(msgspec.structs.replace(ACME, client_id=client_id, allowed_pools=("etl",)))
    made.ticket_keys.make("k" * 22)
    return made


def send(clockwork: MemoryClockwork, client_id: str, count: int, *, due_in: int = 0, apart: int = 1_000) -> None:
    """Send tickets, each in a second of its own unless told otherwise."""
    now = clockwork.clock.at
    target = PoolTarget("etl", "work", timeout_seconds=600, priority="high")
    for number in range(count):
        due_at = now + due_in - apart * number
        one = occurrence(client_id=client_id, target=target, due_at=due_at, created_at=now - 100_000)
        job_id = AnonymousJob("p000", row_key(due_at, f"{next(NUMBERS):022d}"), 0).job_id
        sent = Deliver(Of(job_id), one, due_at)
        assert not clockwork.world.releases.send([sent], due_at if apart else now)


def visible(clockwork: MemoryClockwork, queue: str = "high") -> list[str]:
    """Whose tickets lie in a queue."""
    return [release_in(one).occurrence.client_id for one in clockwork.pool_queues.of("etl", queue).messages.values()]


def release_in(message: Message) -> Deliver:
    return decode_ticket(carried(message.body))


def received(clockwork: MemoryClockwork, queue: str = "high") -> list[Asked]:
    messages = clockwork.pool_queues.of("etl", queue).receive(10)
    return [Asked(f"{one.message_id:c>22}"[:22], one.body, one.message_id) for one in messages]


def claim(clockwork: MemoryClockwork, asked: Sequence[Asked], sharing: Sharing | None = FULL) -> list[Claimed]:
    return claim_for(clockwork.world, POOL, "one", ["work"], asked, clockwork.clock.at + 29_000, sharing)


def started(claimed: Sequence[Claimed]) -> int:
    return sum(one.start is not None for one in claimed)


def test_a_late_ticket_beyond_its_clients_share_goes_to_the_overflow_queue_and_starts_from_there(
    clockwork: MemoryClockwork,
) -> None:
    send(clockwork, FLOOD, 5)
    clockwork.clock.advance(LATE)
    assert started(claim(clockwork, received(clockwork))) == 0
    assert (visible(clockwork), visible(clockwork, "high-overflow")) == ([], [FLOOD] * 5)
    claimed = claim(clockwork, received(clockwork, "high-overflow"))
    assert started(claimed) == 5
    assert visible(clockwork, "high-overflow") == []


@pytest.mark.parametrize("used", [False, True])
def test_a_ticket_that_is_made_up_or_used_tells_nothing_of_overflow_queues(
    clockwork: MemoryClockwork, *, used: bool
) -> None:
    asked = [Asked("c" * 22, "made up", "r")]
    if used:
        send(clockwork, QUIET, 1)
        asked = received(clockwork)
        assert started(claim(clockwork, asked, None)) == 1
    assert started(claim(clockwork, [msgspec.structs.replace(asked[0], claim_id="d" * 22)], FULL)) == 0
    assert clockwork.world.environment.shares.held("etl", clockwork.clock.at).slots == 0
    clockwork.clock.advance(NOTED_FOR_MS - 1_000)
    send(clockwork, QUIET, MOST_FIRST * 3, apart=0)
    assert (len(visible(clockwork)), visible(clockwork, "high-overflow")) == (MOST_FIRST * 3, [])


def test_a_ticket_that_was_moved_is_never_moved_again(clockwork: MemoryClockwork) -> None:
    send(clockwork, FLOOD, 1)
    clockwork.clock.advance(LATE)
    claim(clockwork, received(clockwork))
    clockwork.clock.advance(LATE)
    assert started(claim(clockwork, received(clockwork, "high-overflow"))) == 1


def test_a_ticket_that_was_moved_and_is_put_off_goes_back_to_the_overflow_queue(clockwork: MemoryClockwork) -> None:
    send(clockwork, FLOOD, 1)
    clockwork.clock.advance(LATE)
    claim(clockwork, received(clockwork))
    (asked,) = received(clockwork, "high-overflow")
    claim_for(clockwork.world, POOL, "one", ["toil"], [asked], clockwork.clock.at + 29_000, FULL)
    assert (visible(clockwork), visible(clockwork, "high-overflow")) == ([], [FLOOD])


def test_the_next_attempt_is_no_part_of_the_flood() -> None:
    spilled = msgspec.structs.replace(release(), spilled=True)
    assert spilled.for_attempt(1).spilled
    assert not spilled.for_attempt(2).spilled


def test_a_quiet_clients_ticket_stays_beside_a_flood(clockwork: MemoryClockwork) -> None:
    send(clockwork, FLOOD, 3)
    send(clockwork, QUIET, 2)
    clockwork.clock.advance(LATE)
    claimed = claim(clockwork, received(clockwork))
    assert [one.start.release.occurrence.client_id for one in claimed if one.start] == [QUIET] * 2
    assert visible(clockwork, "high-overflow") == [FLOOD] * 3


@pytest.mark.parametrize(
    ("sharing", "why"),
    [
        (None, "the worker does not receive from overflow queues"),
        (Sharing("one", 10, {FLOOD: 10}), "nobody else was met"),
        (Sharing("one", 100, {FLOOD: 10, QUIET: 0}), "there are slots enough"),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_nothing_is_moved_without_need(clockwork: MemoryClockwork, sharing: Sharing | None, why: str) -> None:
    send(clockwork, FLOOD, 4)
    clockwork.clock.advance(LATE)
    assert started(claim(clockwork, received(clockwork), sharing)) == 4, why


def test_nothing_is_moved_for_a_worker_without_overflow_queues_although_the_client_floods_others(
    clockwork: MemoryClockwork,
) -> None:
    send(clockwork, QUIET, 1)
    claim(clockwork, received(clockwork), Sharing("two", 10, {FLOOD: 10}))
    send(clockwork, FLOOD, 3)
    clockwork.clock.advance(LATE)
    assert started(claim(clockwork, received(clockwork), None)) == 3


def test_nothing_is_moved_while_tickets_are_in_time(clockwork: MemoryClockwork) -> None:
    send(clockwork, FLOOD, 4, apart=0)
    assert started(claim(clockwork, received(clockwork))) == 4


def test_a_late_send_is_no_late_ticket(clockwork: MemoryClockwork) -> None:
    send(clockwork, FLOOD, 2, due_in=-60_000, apart=0)
    assert started(claim(clockwork, received(clockwork))) == 2


def test_who_asks_again_for_a_claim_gets_it_however_much_its_client_has(clockwork: MemoryClockwork) -> None:
    send(clockwork, FLOOD, 1)
    clockwork.clock.advance(LATE)
    asked = received(clockwork)
    assert started(claim(clockwork, asked, None)) == 1
    assert started(claim(clockwork, asked)) == 1


def test_a_repeated_call_moves_no_second_copy(clockwork: MemoryClockwork) -> None:
    send(clockwork, FLOOD, 1)
    clockwork.clock.advance(LATE)
    asked = received(clockwork)
    for _ in range(3):
        claim(clockwork, asked)
    assert visible(clockwork, "high-overflow") == [FLOOD]


def test_an_environment_that_was_told_by_one_worker_moves_for_another(clockwork: MemoryClockwork) -> None:
    send(clockwork, QUIET, 1)
    claim(clockwork, received(clockwork), Sharing("two", 10, {FLOOD: 10}))
    send(clockwork, FLOOD, 3)
    clockwork.clock.advance(LATE)
    assert started(claim(clockwork, received(clockwork), Sharing("one", 1, {}))) == 0


def test_a_queue_that_takes_nothing_leaves_the_ticket_where_it_is(
    clockwork: MemoryClockwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    send(clockwork, FLOOD, 1)
    clockwork.clock.advance(LATE)
    asked = received(clockwork)
    with monkeypatch.context() as broken:
        broken.setattr(type(clockwork.pool_queues), "hold", raising)
        (answer,) = claim(clockwork, asked)
    assert answer.is_left
    assert (visible(clockwork), visible(clockwork, "high-overflow")) == ([FLOOD], [])


@pytest.fixture
def refusing(clockwork: MemoryClockwork, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The overflow queues refuse each ticket, and the others take theirs; the queues that were asked."""
    send_all, asked = clockwork.pool_queues.send, list[str]()

    def send(messages: Sequence[PoolMessage], now: int) -> Sequence[Refused]:
        asked.extend(one.queue for one in messages)
        refused = [Refused(i, False, "AccessDenied") for i, one in enumerate(messages) if one.queue != "high"]
        assert not send_all([one for one in messages if one.queue == "high"], now)
        return refused

    monkeypatch.setattr(clockwork.pool_queues, "send", send)
    return asked


def test_what_the_overflow_queue_refuses_goes_to_the_first_and_starts_from_there(
    clockwork: MemoryClockwork, refusing: list[str]
) -> None:
    """Fairness is lost while it refuses, and no work."""
    send(clockwork, FLOOD, 10)
    assert started(claim(clockwork, received(clockwork))) < 10
    assert "high-overflow" in refusing
    refusing.clear()
    clockwork.clock.at += LATE
    claimed = claim(clockwork, received(clockwork))
    assert {one.is_left for one in claimed} == {False}
    # For a minute nothing is moved, so that all of them start.
    assert started(claimed) == len(claimed) > 0
    assert "high-overflow" not in refusing
    assert visible(clockwork) == visible(clockwork, "high-overflow") == []


def test_a_sender_asks_an_overflow_queue_again_a_minute_after_it_refused(
    clockwork: MemoryClockwork, refusing: list[str]
) -> None:
    clockwork.world.pools.note_overflow("etl", Overflow(clockwork.clock.at))
    for asked in (1, 0):
        send(clockwork, FLOOD, MOST_FIRST + 1, apart=0)
        assert refusing.count("high-overflow") == asked
        refusing.clear()
    assert visible(clockwork) == [FLOOD] * 2 * (MOST_FIRST + 1)
    clockwork.clock.at += SHUT_FOR_MS
    send(clockwork, FLOOD, MOST_FIRST + 1, apart=0)
    assert refusing.count("high-overflow") == 1


def raising(*_: Any) -> Any:
    raise Unavailable("no answer")


class TestSenders:
    """A sender puts the most of a flood where it belongs, which costs no move."""

    def note(self, clockwork: MemoryClockwork) -> None:
        """A worker claims that receives from overflow queues."""
        send(clockwork, QUIET, 1)
        claim(clockwork, received(clockwork))

    def test_of_many_that_come_due_at_once_some_go_to_the_first_queue(self, clockwork: MemoryClockwork) -> None:
        self.note(clockwork)
        send(clockwork, FLOOD, 30, apart=0)
        send(clockwork, QUIET, 2, apart=0)
        assert visible(clockwork) == [FLOOD] * MOST_FIRST + [QUIET] * 2
        assert visible(clockwork, "high-overflow") == [FLOOD] * (30 - MOST_FIRST)

    def test_where_no_worker_receives_from_overflow_queues_all_go_to_the_first(
        self, clockwork: MemoryClockwork
    ) -> None:
        send(clockwork, QUIET, 1)
        claim(clockwork, received(clockwork), None)
        send(clockwork, FLOOD, 30, apart=0)
        assert visible(clockwork) == [FLOOD] * 30

    def test_such_workers_that_are_gone_count_no_more(self, clockwork: MemoryClockwork) -> None:
        self.note(clockwork)
        clockwork.clock.advance(NOTED_FOR_MS)
        send(clockwork, FLOOD, 30, apart=0)
        assert visible(clockwork) == [FLOOD] * 30

    def test_a_store_that_gives_no_answer_costs_fairness_alone(
        self, clockwork: MemoryClockwork, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.note(clockwork)
        monkeypatch.setattr(type(clockwork.pools), "overflow", raising)
        send(clockwork, FLOOD, 30, apart=0)
        assert visible(clockwork) == [FLOOD] * 30
        assert started(claim(clockwork, received(clockwork))) == 10

    def test_a_note_that_is_not_taken_costs_no_claim_and_is_made_some_seconds_later(
        self, clockwork: MemoryClockwork, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        send(clockwork, QUIET, 3)
        first, *later = received(clockwork)
        with monkeypatch.context() as broken:
            broken.setattr(type(clockwork.pools), "note_overflow", raising)
            assert started(claim(clockwork, [first])) == 1
        for one, apart_ms, noted in zip(later, (0, NOTES_APART_MS), (False, True), strict=True):
            clockwork.clock.advance(apart_ms)
            claim(clockwork, [one])
            assert (clockwork.pools.overflow("etl") is not None) == noted


class TestFloods:
    """A client whose tickets are beyond its share again and again is noted, and all of its tickets are spilled."""

    @pytest.fixture
    def notes(self, clockwork: MemoryClockwork, monkeypatch: pytest.MonkeyPatch) -> list[Overflow]:
        """The notes that are written."""
        written, keep = list[Overflow](), clockwork.pools.note_overflow

        def note(name: str, one: Overflow) -> None:
            written.append(one)
            keep(name, one)

        monkeypatch.setattr(clockwork.pools, "note_overflow", note)
        return written

    def flood(self, clockwork: MemoryClockwork, count: int = MANY_BEYOND, sharing: Sharing = FULL) -> None:
        """Late tickets are claimed where the client has more than its share."""
        send(clockwork, FLOOD, count)
        clockwork.clock.advance(LATE)
        claim(clockwork, received(clockwork), sharing)

    def flooding(self, clockwork: MemoryClockwork) -> set[str]:
        note = clockwork.pools.overflow("etl")
        return set() if note is None else set(note.flooding("high", clockwork.clock.at))

    def test_a_trickle_of_a_client_that_floods_goes_to_the_overflow_queue_as_a_whole(
        self, clockwork: MemoryClockwork
    ) -> None:
        self.flood(clockwork)
        assert self.flooding(clockwork) == {FLOOD}
        send(clockwork, FLOOD, 5)
        send(clockwork, QUIET, 2)
        assert visible(clockwork) == [QUIET] * 2
        assert visible(clockwork, "high-overflow") == [FLOOD] * (MANY_BEYOND + 5)

    def test_a_few_tickets_beyond_a_share_are_no_flood(self, clockwork: MemoryClockwork) -> None:
        self.flood(clockwork, MANY_BEYOND - 1)
        clockwork.clock.advance(BEYOND_WITHIN_MS)
        self.flood(clockwork, MANY_BEYOND - 1)
        assert self.flooding(clockwork) == set()

    def test_a_client_alone_is_never_noted(self, clockwork: MemoryClockwork) -> None:
        self.flood(clockwork, 10, Sharing("one", 10, {FLOOD: 10}))
        assert self.flooding(clockwork) == set()

    def test_the_note_ends_by_itself_and_lasts_while_spilled_tickets_wait(
        self, clockwork: MemoryClockwork, notes: list[Overflow]
    ) -> None:
        self.flood(clockwork, 10)
        clockwork.clock.advance(FLOODS_FOR_MS - 1_000)
        assert started(claim(clockwork, received(clockwork, "high-overflow"))) == 10
        clockwork.clock.advance(2_000)
        assert self.flooding(clockwork) == {FLOOD}
        clockwork.clock.advance(FLOODS_FOR_MS)
        assert self.flooding(clockwork) == set()
        send(clockwork, FLOOD, 1)
        assert visible(clockwork) == [FLOOD]
        assert len(notes) == 2

    def test_spilled_tickets_that_start_at_once_renew_no_note(
        self, clockwork: MemoryClockwork, notes: list[Overflow]
    ) -> None:
        self.flood(clockwork, 10)
        clockwork.clock.advance(FLOODS_FOR_MS - 1_000)
        received(clockwork, "high-overflow")
        send(clockwork, FLOOD, 10, apart=0)
        assert started(claim(clockwork, received(clockwork, "high-overflow"))) == 10
        assert len(notes) == 1

    def test_a_client_below_its_share_renews_no_note_though_its_spilled_tickets_wait(
        self, clockwork: MemoryClockwork, notes: list[Overflow]
    ) -> None:
        """Others have the most of the slots: it goes back to the first queue, and both share."""
        self.flood(clockwork, 10)
        clockwork.clock.advance(FLOODS_FOR_MS - 1_000)
        claim(clockwork, received(clockwork, "high-overflow"), Sharing("one", 10, {FLOOD: 3, QUIET: 7}))
        assert len(notes) == 1

    def test_a_flood_costs_a_write_in_half_of_its_time_and_no_other_client_any(
        self, clockwork: MemoryClockwork, notes: list[Overflow]
    ) -> None:
        for _ in range(60):
            self.flood(clockwork)
        assert len(notes) <= 60 * LATE // (FLOODS_FOR_MS // 2) + 1
        notes.clear()
        for _ in range(60):
            send(clockwork, QUIET, 1)
            clockwork.clock.advance(LATE)
            claim(clockwork, received(clockwork), Sharing("two", 20, {FLOOD: 1, QUIET: 1}))
        assert notes == []

    def test_two_environments_that_write_at_once_note_both_floods_in_the_end(self, clockwork: MemoryClockwork) -> None:
        self.flood(clockwork)
        other = renewed(None, [("high", "other")], clockwork.clock.at)
        assert other is not None
        clockwork.pools.note_overflow("etl", other)
        clockwork.clock.advance(NOTES_APART_MS)
        self.flood(clockwork)
        assert self.flooding(clockwork) == {FLOOD, "other"}

    def test_a_made_up_ticket_notes_no_flood(self, clockwork: MemoryClockwork, notes: list[Overflow]) -> None:
        for number in range(2 * MANY_BEYOND):
            claim(clockwork, [Asked(f"{number:c>22}", "made up", "r")], FULL)
        assert notes == []

    def test_a_quiet_client_beside_a_noted_flood_is_never_moved(self, clockwork: MemoryClockwork) -> None:
        """It would wait behind the flood, and its tickets are the only ones of the first queue."""
        self.flood(clockwork)
        send(clockwork, QUIET, 5)
        clockwork.clock.advance(LATE)
        assert started(claim(clockwork, received(clockwork), Sharing("one", 10, {FLOOD: 1, QUIET: 9}))) == 5

    def test_where_no_worker_asks_overflow_queues_a_note_spills_nothing(self, clockwork: MemoryClockwork) -> None:
        now = clockwork.clock.at
        floods = (Flood("high", FLOOD, now + 1_000),)
        clockwork.pools.note_overflow("etl", Overflow(now - NOTED_FOR_MS, floods))
        send(clockwork, FLOOD, 2, apart=0)
        assert visible(clockwork) == [FLOOD] * 2
