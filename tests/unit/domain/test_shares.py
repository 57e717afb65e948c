"""Shares of a pool: whose tickets are beyond their client's share, and what an environment remembers for that."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import pytest

from clockwork.domain.pools import shares
from clockwork.domain.pools.pool import PRIORITIES, pool_queues
from clockwork.domain.pools.shares import (
    BEYOND_WITHIN_MS,
    MET_FOR_MS,
    NOTES_APART_MS,
    TOLD_FOR_MS,
    FirstPlaces,
    Held,
    Shares,
    beyond_share,
    has_share,
)
from clockwork.settings import Settings
from clockwork_client.worker.draws import is_priority

SLOTS, FLOOD, QUIET, OTHER = 12, "flood", "quiet", "other"


def beyond(asking: Mapping[str, int], held: Mapping[str, int], met: set[str], slots: int = SLOTS) -> Counter[str]:
    """How many tickets of each client are beyond its share."""
    clients = list(Counter(asking).elements())
    return Counter(clients[place] for place in beyond_share(clients, Held(slots, held), met))


def test_a_client_alone_has_all_slots() -> None:
    assert beyond({FLOOD: 10}, {FLOOD: 100}, {FLOOD}) == {}
    assert beyond({FLOOD: 10}, {}, set()) == {}


def test_beside_a_client_that_was_met_lately_a_flood_keeps_to_its_share() -> None:
    # Of twelve slots each of two has six, and half as many again.
    assert beyond({FLOOD: 10}, {}, {FLOOD, QUIET}) == {FLOOD: 1}
    assert beyond({FLOOD: 10}, {FLOOD: 8}, {FLOOD, QUIET}) == {FLOOD: 9}
    assert beyond({FLOOD: 10}, {FLOOD: 12}, {FLOOD, QUIET}) == {FLOOD: 10}


def test_what_a_flood_has_takes_nothing_from_the_others() -> None:
    assert beyond({FLOOD: 5, QUIET: 5}, {FLOOD: 12}, {FLOOD, QUIET}) == {FLOOD: 5}
    assert beyond({QUIET: 9}, {FLOOD: 12}, {FLOOD, QUIET}) == {}


def test_two_floods_leave_a_share_for_who_may_come() -> None:
    # A third share is free for the client that was met: each has four slots, and two more.
    assert beyond({FLOOD: 6, OTHER: 4}, {}, {FLOOD, OTHER, QUIET}) == {}
    assert beyond({FLOOD: 6, OTHER: 4}, {FLOOD: 6, OTHER: 6}, {FLOOD, OTHER, QUIET}) == {FLOOD: 6, OTHER: 4}


def test_clients_that_were_met_and_have_no_work_make_no_share_smaller_together() -> None:
    idle = {f"idle-{number}" for number in range(50)}
    assert beyond({OTHER: 8}, {FLOOD: 12}, {FLOOD, OTHER, *idle}) == {OTHER: 2}


def test_a_client_with_nothing_in_hand_gets_a_ticket_started_however_many_there_are() -> None:
    many = {f"client-{number}": 1 for number in range(40)}
    assert beyond({QUIET: 1}, many, set(many), slots=10) == {}


def test_a_client_without_tickets_for_an_hour_is_forgotten() -> None:
    known = Shares()
    known.meet("etl", "high", [QUIET], 0)
    assert known.met("etl", "high", MET_FOR_MS - 1) == {QUIET}
    assert known.met("etl", "high", MET_FOR_MS) == known.met("etl", "low", 0) == known.met("gpu", "high", 0) == set()


def test_a_worker_has_what_it_told_last_and_all_workers_have_it_together() -> None:
    known = Shares()
    known.hold("etl", "one", Held(10, {FLOOD: 9}), 0)
    known.hold("etl", "one", Held(10, {FLOOD: 4, QUIET: 1}), 5)
    known.hold("etl", "two", Held(20, {FLOOD: 7}), 10)
    known.hold("gpu", "one", Held(1, {FLOOD: 1}), 10)
    assert known.held("etl", 10) == Held(30, Counter({FLOOD: 11, QUIET: 1}))
    assert known.held("etl", TOLD_FOR_MS + 5) == Held(20, Counter({FLOOD: 7}))


def test_a_flood_is_not_forgotten_while_others_send() -> None:
    known = Shares()
    known.hold("etl", "one", Held(10, {FLOOD: 10}), 0)
    for number in range(100):
        known.meet("etl", "high", [QUIET, f"client-{number}"], number)
        known.hold("etl", f"worker-{number}", Held(1, {QUIET: 0}), number)
    assert known.held("etl", 100).by_client[FLOOD] == 10
    assert QUIET in known.met("etl", "high", 100)


def test_made_up_names_fill_no_memory_and_the_latest_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shares, "MOST_MET", 3)
    monkeypatch.setattr(shares, "MOST_WORKERS", 3)
    known = Shares()
    for number in range(10):
        known.meet("etl", "high", [QUIET, f"client-{number}"], number)
        known.hold("etl", "real", Held(1, {QUIET: 1}), number)
        known.hold("etl", f"made-up-{number}", Held(1, {}), number)
    assert known.met("etl", "high", 10) == {QUIET, "client-8", "client-9"}
    assert known.held("etl", 10).by_client[QUIET] == 1


def test_ten_tickets_of_a_client_and_second_go_to_the_first_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    places = FirstPlaces()
    taken = [places.take("etl", "high", FLOOD, 5_000 + number) for number in range(12)]
    assert taken == [True] * 10 + [False] * 2
    assert places.take("etl", "high", QUIET, 5_000)
    assert places.take("etl", "low", FLOOD, 5_000)
    assert places.take("gpu", "high", FLOOD, 5_000)
    assert places.take("etl", "high", FLOOD, 6_000)
    monkeypatch.setattr(shares, "MOST_SECONDS", 2)
    assert places.take("etl", "high", FLOOD, 7_000)
    assert len(places._taken) == 5


def test_a_note_of_overflow_is_tried_once_in_some_seconds_for_each_pool_whatever_the_clock_does() -> None:
    known = Shares()
    assert [known.begin_note("etl", 1_000) for _ in range(2)] == [True, False]
    assert known.begin_note("gpu", 1_000)
    assert not known.begin_note("etl", 999 + NOTES_APART_MS)
    assert known.begin_note("etl", 1_000 + NOTES_APART_MS)
    assert known.begin_note("etl", 0)


def test_a_client_floods_by_its_third_ticket_beyond_its_share_within_ten_seconds() -> None:
    known = Shares()
    assert [known.note_beyond("etl", "high", FLOOD, at) for at in (0, 1, 2, 3)] == [False, False, True, True]
    assert not known.note_beyond("etl", "high", QUIET, 3)
    assert not known.note_beyond("etl", "low", FLOOD, 3)
    assert not known.note_beyond("gpu", "high", FLOOD, 3)
    assert not known.note_beyond("etl", "high", FLOOD, BEYOND_WITHIN_MS)
    assert not known.note_beyond("etl", "high", FLOOD, -1)


def test_beside_clients_that_flood_another_has_no_share_to_keep_to() -> None:
    """Their tickets wait elsewhere: to move one of another client helps nobody, and puts it behind the flood."""
    clients, held = [QUIET] * 3 + [FLOOD] * 2, Held(SLOTS, {QUIET: 10, FLOOD: 2})
    assert beyond_share(clients, held, {FLOOD, QUIET}, {FLOOD}) == []
    assert beyond_share([FLOOD, QUIET], Held(SLOTS, {QUIET: 3, FLOOD: 9}), set(), {FLOOD}) == [0]
    # Beside a third client it has a share again.
    assert beyond_share(clients, held, {FLOOD, QUIET, OTHER}, {FLOOD}) == [0, 1, 2]


def test_a_client_has_its_share_only_where_there_are_others() -> None:
    held = Held(SLOTS, {FLOOD: 6, QUIET: 1})
    assert has_share(FLOOD, [FLOOD], held, {QUIET})
    assert not has_share(QUIET, [QUIET], held, {FLOOD})
    assert not has_share(OTHER, [OTHER], held, set())
    assert not has_share(FLOOD, [FLOOD], Held(SLOTS, {FLOOD: 12}), {FLOOD})


def test_the_names_of_queues_are_those_that_the_settings_derive() -> None:
    settings = Settings.for_local().with_(pools=(f"etl={','.join(PRIORITIES)}",))
    assert list(settings.pool_queue_urls["etl"]) == pool_queues(PRIORITIES)
    assert [one for one in pool_queues(PRIORITIES) if is_priority(one)] == list(PRIORITIES)
