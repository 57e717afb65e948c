"""Counters of one environment, and the sum of notes."""

from __future__ import annotations

import threading

import msgspec
import pytest

from clockwork.domain.executions import Claimed, Execution, State
from clockwork.domain.requests.activity import (
    BOUNDS,
    HOUR_MS,
    MINUTE_MS,
    MOST_CLIENTS,
    MOST_MINUTES,
    PARTS,
    Counters,
    Counts,
    Tally,
    part_of,
    summed,
)
from tests.support.examples import NOW, execution, like

AT = NOW - NOW % HOUR_MS


def counted(counters: Counters, at: int, count: int = 1, client_id: str = "acme") -> None:
    for _ in range(count):
        counters.of(client_id, at).add_end(State.SUCCEEDED)


def taken(counters: Counters, at: int) -> int:
    """How many successes the notes of an instant have."""
    return sum(tally.succeeded for note in counters.take(at, "env") for tally in note.clients.values())


def test_the_first_counts_are_noted_at_once_and_the_next_a_minute_later() -> None:
    counters = Counters()
    counted(counters, AT)
    assert taken(counters, AT) == 1
    counted(counters, AT + 1_000)
    assert taken(counters, AT + 59_999) == 0
    assert taken(counters, AT + 60_000) == 1
    assert taken(counters, AT + 600_000) == 0


def test_a_burst_is_noted_sooner_each_time_it_has_doubled() -> None:
    counters, notes, lost = Counters(), list[int](), 0
    for second in range(60):
        counted(counters, AT + second * 1_000, 100)
        found = taken(counters, AT + second * 1_000)
        notes += [found] if found else []
        lost = 0 if found else lost + 100
    assert notes == [100, 500, 1_000, 2_000]
    assert lost < sum(notes), "of a burst that ends, more than half is noted"


def test_counts_lie_in_their_own_minutes_and_only_a_few_of_these_are_kept() -> None:
    counters = Counters()
    assert not counters.take(AT, "env")
    for minute in range(MOST_MINUTES + 2):
        counted(counters, AT + minute * MINUTE_MS)
    notes = counters.take(AT + HOUR_MS, "env")
    assert [note.minute_at for note in notes] == [AT + minute * MINUTE_MS for minute in (2, 3, 4)]
    assert {(note.noted_at, note.by, note.hour_at) for note in notes} == {(AT + HOUR_MS, "env", AT)}
    assert len({note.name for note in notes}) == 3


def test_a_clock_that_goes_back_does_not_silence_an_environment() -> None:
    counters = Counters()
    counted(counters, AT + HOUR_MS)
    assert taken(counters, AT + HOUR_MS) == 1
    counted(counters, AT)
    assert taken(counters, AT) == 1


def test_a_crowd_of_clients_takes_no_more_room_and_those_who_came_first_are_counted() -> None:
    counters = Counters()
    for number in range(3 * MOST_CLIENTS):
        counted(counters, AT, client_id=f"c{number}")
        counted(counters, AT, client_id="c0")
    notes = counters.take(AT, "env")
    assert {note.part for note in notes} == set(range(PARTS))
    assert all(part_of(client_id) == note.part for note in notes for client_id in note.clients)
    found = {client_id: tally.succeeded for note in notes for client_id, tally in note.clients.items()}
    assert len(found) == MOST_CLIENTS
    assert found["c0"] == 3 * MOST_CLIENTS + 1


CLAIM = Claimed("me", AT + 60_000, AT, None, 40)
WAITING = execution(State.PENDING)
RUNNING = msgspec.structs.replace(WAITING, state=State.RUNNING, attempt=1, claim=CLAIM)


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (None, RUNNING, Tally(started=1, late={2: 1})),
        (WAITING, RUNNING, Tally(started=1, late={2: 1})),
        (RUNNING, RUNNING.renewed(AT + 90_000), None),
        (WAITING, msgspec.structs.replace(RUNNING, attempt=2), None),
        (RUNNING, msgspec.structs.replace(RUNNING, state=State.SUCCEEDED, claim=None), Tally(succeeded=1)),
        (RUNNING, msgspec.structs.replace(RUNNING, state=State.CANCELLED, claim=None), Tally(cancelled=1)),
        (WAITING, like(WAITING, state=State.EXPIRED), Tally(expired=1)),
        (like(WAITING, state=State.DEAD), like(WAITING, state=State.DEAD, reason="discarded"), None),
        (like(WAITING, state=State.DEAD), WAITING, None),
    ],
)
def test_a_saved_change_counts_what_it_tells(before: Execution | None, after: Execution, told: Tally | None) -> None:
    counters = Counters()
    counters.add_change(before, after, AT)
    assert [note.clients["acme"] for note in counters.take(AT, "env")] == ([] if told is None else [told])


def test_lateness_is_told_by_the_bound_of_its_class() -> None:
    tally = Tally()
    assert (tally.late_within(0.5), tally.late_within(0.99)) == (None, None)
    for lateness_ms in (*[1] * 97, BOUNDS[3], BOUNDS[3] + 1):
        tally.add_start(lateness_ms, {"cap": 5, "pause": 0})
    assert (tally.late_within(0.5), tally.late_within(0.98), tally.late_within(1)) == (BOUNDS[0], BOUNDS[3], BOUNDS[4])
    tally.add_start(BOUNDS[-1] + 1, {})
    assert tally.late_within(1) is None
    assert tally.waited == {"cap": 495}


def test_the_notes_of_all_environments_are_summed_up_by_steps() -> None:
    def note(minute: int, by: str, **clients: Tally) -> Counts:
        return Counts(minute_at=AT + minute * MINUTE_MS, part=0, noted_at=AT, by=by, clients=clients)

    one, two = Tally(started=1, late={0: 1}, waited={"cap": 1}), Tally(started=2, failed=1, late={0: 1, 3: 1})
    notes = [note(9, "b", acme=two), note(0, "a", acme=one, globex=two), note(4, "b", acme=two), note(5, "c")]
    assert summed(notes, "acme", 5 * MINUTE_MS) == {
        AT: Tally(started=3, failed=1, late={0: 2, 3: 1}, waited={"cap": 1}),
        AT + 5 * MINUTE_MS: two,
    }
    assert one == Tally(started=1, late={0: 1}, waited={"cap": 1})
    assert summed(notes, "nobody", HOUR_MS) == {}


def test_threads_count_beside_a_note_and_none_of_them_fails() -> None:
    counters, faults = Counters(), list[Exception]()

    def count(step: int) -> None:
        try:
            for number in range(5_000):
                counted(counters, AT + number // 500 * MINUTE_MS, client_id=f"c{number * step % 140}")
        except Exception as error:  # noqa: BLE001 - a thread's error fails no test by itself
            faults.append(error)

    threads = [threading.Thread(target=count, args=(step,)) for step in (1, 3, 7)]
    for one in threads:
        one.start()
    at = AT
    while any(one.is_alive() for one in threads):
        at += MINUTE_MS
        counters.take(at, "env")
        counters.left(at, "env")
    assert faults == []
