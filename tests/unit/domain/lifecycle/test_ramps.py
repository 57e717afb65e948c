"""Parked work as pure decisions: its rows, its ramp, and the note of it."""

from __future__ import annotations

from itertools import islice, pairwise

import pytest

from clockwork.domain import keys
from clockwork.domain.executions import State
from clockwork.domain.lifecycle.parking import (
    FIRST_RATE,
    HIGHEST_RATE,
    Parked,
    host_prefix,
    next_rate,
    parked_due_at,
    parked_record,
    parked_row,
    ramp,
)
from clockwork.domain.waits import Held, Waited
from tests.support.examples import NOW, execution, like, occurrence, release


def test_a_target_that_has_recovered_gets_five_a_second_at_first_and_twice_as_many_with_each_sweep() -> None:
    leaving = [at - NOW for at in islice(ramp(NOW, 60), 300 + 600 + 2)]
    assert leaving[:3] == [0, 200, 400]
    assert leaving[299:302] == [59_800, 60_000, 60_100]
    assert leaving[899:902] == [119_900, 120_000, 120_050]
    assert all(a < b for a, b in pairwise(leaving))


def test_the_rate_of_a_ramp_never_exceeds_the_highest() -> None:
    rates = [FIRST_RATE]
    while rates[-1] < HIGHEST_RATE:
        rates.append(next_rate(rates[-1]))
    assert rates == [5.0, 10.0, 20.0, 40.0, 80.0, 160.0, 320.0, 640.0, 1_000.0]
    assert next_rate(HIGHEST_RATE) == HIGHEST_RATE


def test_two_notes_are_alike_whenever_they_were_written() -> None:
    note = Parked("acme", rate=10.0, noted_at=NOW)
    assert note.goes_like(Parked("acme", rate=10.0, noted_at=NOW + 5))
    assert not note.goes_like(Parked("acme", rate=20.0, noted_at=NOW))
    assert not note.goes_like(Parked("acme", rate=10.0, by_hand=True))
    assert not note.goes_like(Parked("acme", rate=10.0, discard_until=NOW))


def test_the_row_of_what_is_parked_twice_is_the_same_one_and_what_is_parked_again_has_another() -> None:
    row = parked_row(release())
    assert parked_row(release()) == row
    assert row.partition_id == "parked/acme"
    others = [row, parked_row(release(parkings=1)), parked_row(release(attempt=2)), parked_row(release(), "a.example")]
    assert len({one.key for one in others}) == len(others)
    assert {parked_due_at(one.key) for one in others} == {NOW}
    assert others[-1].key.startswith(host_prefix("a.example"))
    assert host_prefix("a.example") != host_prefix("b.example")
    assert max(row.key, keys.row_key(10**13 - 1, "z")) < host_prefix("a.example")


@pytest.mark.parametrize("ordered", [False, True])
def test_the_record_of_what_is_parked_uses_no_attempt_up_and_tells_the_wait_of_an_ordered_one(ordered: bool) -> None:
    due = occurrence(ordering_key="o" if ordered else None)
    held = release(occurrence=due, attempt=3, waited=Waited(cap=1), held=Held("pause", NOW))
    stored = execution(State.FAILED, attempt=2, next_attempt_at=NOW, paced=True, waited=Waited(cap=4), revision=5)
    record = parked_record(held, stored, "why", NOW + 9)
    assert (record.state, record.attempt, record.reason, record.revision) == (State.PARKED, 2, "why", 6)
    assert (record.waits.next_attempt_at, record.waits.paced) == (None, False)
    retry = like(stored, paced=False)
    assert parked_record(held, retry, "why", NOW + 9).waits.next_attempt_at == NOW
    assert (record.waits.waited, record.waits.held) == (
        (Waited(cap=5), Held("pause", NOW)) if ordered else (Waited(cap=4), None)
    )
    first = parked_record(held, None, "why", NOW + 9)
    assert (first.revision, first.attempt, first.expires_at) == (1, 2, NOW + 9)
