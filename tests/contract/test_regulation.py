"""The contract of `ports.Regulation`."""

from __future__ import annotations

from functools import partial
from typing import Any

import msgspec
import pytest

from clockwork.aws.errors import ConditionFailed
from clockwork.aws.stores.table import Table
from clockwork.domain.errors import Unavailable
from clockwork.domain.lifecycle.parking import Parked
from clockwork.domain.limits.circuits import KEPT_MS, Circuit
from clockwork.domain.limits.slots import HARD_MS, TURN_MS, Reach, Reserved
from clockwork.memory.clock import MemoryClock
from clockwork.ports import Regulation
from tests.contract.examples import DUE
from tests.contract.races import at_once
from tests.contract.worlds import AwsWorld, World

NOW = DUE
CIRCUIT = Circuit("acme", "example.com:8443", NOW, NOW + 30_000, 30_000)
LATER = msgspec.structs.replace(CIRCUIT, probe_at=NOW + 90_000, revision=2)


@pytest.fixture
def regulation(world: World) -> Regulation:
    return world.regulation


def test_slots_follow_each_other_and_never_lie_in_the_past(regulation: Regulation) -> None:
    assert regulation.reserve("acme", 10, 100, NOW) == Reserved(NOW, 10)
    assert regulation.reserve("acme", 5, 100, NOW + 50) == Reserved(NOW + 1_000, 5)
    assert regulation.reserve("acme", 1, 100, NOW + 1_500) == Reserved(NOW + 1_500, 1)
    assert regulation.reserve("acme", 1, 100, NOW + 9_000) == Reserved(NOW + 9_000, 1)
    assert regulation.reserve("other", 1, 100, NOW) == Reserved(NOW, 1)


def test_no_slot_is_taken_that_would_come_too_late(regulation: Regulation) -> None:
    assert regulation.reserve("acme", 10, 100, NOW, Reach(NOW + 899, NOW + 899)) == Reserved(NOW, 9)
    assert regulation.reserve("acme", 10, 100, NOW + 50, Reach(NOW + 899, NOW + 899)) == Reserved(NOW + 900, 0)
    assert regulation.reserve("acme", 10, 100, NOW + 50, Reach(NOW + 1_000, NOW + 1_000)) == Reserved(NOW + 900, 2)
    assert regulation.reserve("acme", 2, 100, NOW + 50, Reach(NOW + 1_200, NOW + 1_200)) == Reserved(NOW + 1_100, 2)
    # After a time without reservations the first slot is now, even if that is later than the caller can use.
    assert regulation.reserve("acme", 2, 100, NOW + 5_000, Reach(NOW + 4_000, NOW + 4_000)) == Reserved(NOW + 5_000, 1)
    assert regulation.reserve("acme", 1, 100, NOW + 5_000, Reach(NOW + 4_000, NOW + 4_000)) == Reserved(NOW + 5_100, 0)
    assert regulation.reserve("acme", 1, 100, NOW + 5_000) == Reserved(NOW + 5_100, 1)


def test_no_slot_is_given_twice(regulation: Regulation) -> None:
    for number in range(20):
        client = f"client-{number}"
        firsts = at_once(*(partial(regulation.reserve, client, 2, 100, NOW) for _ in range(3)))
        assert sorted((one.first_at, one.count) for one in firsts) == [(NOW, 2), (NOW + 200, 2), (NOW + 400, 2)]


def test_thousands_of_slots_a_second_are_kept_apart_even_one_by_one(regulation: Regulation) -> None:
    taken = [regulation.reserve("acme", 1, 0.3, NOW).first_at for _ in range(11)]
    assert taken == [NOW + number * 3 // 10 for number in range(11)]


def test_beside_a_line_a_reservation_reaches_less_far(regulation: Regulation) -> None:
    reach = Reach(NOW + HARD_MS, NOW + 5_000)
    assert regulation.reserve("acme", 20, 1_000, NOW, reach) == Reserved(NOW, 20)
    # A line of whose places all turns have come stands ahead of nobody.
    assert regulation.line_up("acme", 20, 1_000, NOW) == NOW + 20_000
    assert regulation.reserve("acme", 1, 1_000, NOW, reach) == Reserved(NOW + 20_000, 1, NOW + TURN_MS)
    assert regulation.line_up("acme", 2, 1_000, NOW) == NOW + TURN_MS
    line_until = NOW + TURN_MS + 2_000
    assert regulation.reserve("acme", 1, 1_000, NOW, reach) == Reserved(NOW + 21_000, 0, line_until)
    assert regulation.reserve("acme", 3, 1_000, NOW, Reach(NOW + 59_000, NOW + 22_000)) == Reserved(
        NOW + 21_000, 2, line_until
    )
    assert regulation.reserve("acme", 1, 1_000, NOW, Reach(NOW + HARD_MS, NOW + 30_000)) == Reserved(
        NOW + 23_000, 1, line_until
    )
    # Time passes, and the line's end is near.
    assert regulation.reserve("acme", 1, 1_000, NOW + 2_000, Reach(NOW + 30_000, NOW + 2_000)) == Reserved(
        NOW + 24_000, 1, line_until
    )


def test_a_place_is_given_once_behind_all_slots_and_places(regulation: Regulation) -> None:
    assert regulation.line_up("acme", 2, 1_000, NOW) == NOW
    assert regulation.line_up("acme", 1, 1_000, NOW) == NOW + 2_000
    assert regulation.line_up("acme", 1, 1_000, NOW + 9_000) == NOW + 9_000
    assert regulation.reserve("acme", 30, 1_000, NOW + 9_000) == Reserved(NOW + 9_000, 30)
    assert regulation.line_up("acme", 1, 1_000, NOW + 9_000) == NOW + 39_000
    assert regulation.line_up("acme", 1, 1_000, NOW) == NOW + 40_000
    assert regulation.line_up("other", 1, 1_000, NOW) == NOW


@pytest.mark.parametrize("call", [1, 2])
def test_a_place_that_another_takes_meanwhile_is_not_given_twice(
    call: int, aws_world: AwsWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    regulation, update, places, calls = aws_world.regulation, Table.update_and_read, list[int](), list[int]()
    regulation.reserve("acme", 1, 100, NOW)

    def another_comes_between(*asked: Any, **values: Any) -> Any:
        calls.append(1)
        if len(calls) == call:
            places.append(regulation.line_up("acme", 2, 100, NOW))
        return update(*asked, **values)

    monkeypatch.setattr(Table, "update_and_read", another_comes_between)
    places.append(regulation.line_up("acme", 2, 100, NOW))
    assert places == [NOW + 100, NOW + 300]


def test_where_slots_pass_unused_nobody_stands_in_line(regulation: Regulation) -> None:
    reach = Reach(NOW + 90_000, NOW + 20_000)
    regulation.reserve("acme", 10, 1_000, NOW)
    regulation.line_up("acme", 500, 1_000, NOW)
    assert regulation.reserve("acme", 1, 1_000, NOW + 10_000, reach).line_until == NOW + 510_000
    assert regulation.reserve("acme", 60, 1_000, NOW + 20_000, reach) == Reserved(NOW + 20_000, 60)
    assert regulation.line_up("acme", 1, 1_000, NOW + 20_000) == NOW + 80_000


def test_a_block_that_is_given_back_is_free_and_nobody_elses_is_touched(regulation: Regulation) -> None:
    assert regulation.lease("acme", 0, "one", NOW, NOW + 100)
    regulation.give_back("acme", 0, "two")
    assert not regulation.lease("acme", 0, "two", NOW, NOW + 100)
    regulation.give_back("acme", 0, "one")
    regulation.give_back("acme", 1, "one")
    assert regulation.lease("acme", 0, "two", NOW, NOW + 100)
    regulation.give_back("acme", 0, "one")
    assert not regulation.lease("acme", 0, "one", NOW, NOW + 100)


def test_what_gives_an_earlier_lease_back_ends_no_later_one_of_the_same_holder(regulation: Regulation) -> None:
    assert regulation.lease("acme", 0, "one", NOW, NOW + 100)
    assert regulation.lease("acme", 0, "one", NOW + 10, NOW + 110)
    regulation.give_back("acme", 0, "one", NOW + 100)
    regulation.give_back("acme", 0, "two", NOW + 110)
    assert not regulation.lease("acme", 0, "two", NOW + 20, NOW + 120)
    regulation.give_back("acme", 0, "one", NOW + 110)
    assert regulation.lease("acme", 0, "two", NOW + 20, NOW + 120)


def test_a_block_is_one_holders_until_its_lease_ends(regulation: Regulation) -> None:
    assert regulation.lease("acme", 0, "one", NOW, NOW + 100)
    assert not regulation.lease("acme", 0, "two", NOW + 100, NOW + 200)
    assert regulation.lease("acme", 0, "one", NOW + 50, NOW + 300)
    assert not regulation.lease("acme", 0, "two", NOW + 300, NOW + 400)
    assert regulation.lease("acme", 0, "two", NOW + 301, NOW + 400)
    assert regulation.lease("acme", 1, "one", NOW, NOW + 100)
    assert regulation.lease("other", 0, "one", NOW, NOW + 100)


def test_a_block_is_taken_until_its_lease_has_ended_or_is_given_back(regulation: Regulation) -> None:
    assert regulation.taken("acme", NOW) == frozenset()
    for block, until in ((0, NOW + 100), (2, NOW + 200), (11, NOW + 300), (12, NOW + 300)):
        assert regulation.lease("acme", block, "one", NOW, until)
    assert regulation.lease("other", 5, "one", NOW, NOW + 300)
    regulation.give_back("acme", 12, "one")
    assert regulation.taken("acme", NOW) == {0, 2, 11}
    assert regulation.taken("acme", NOW + 100) == {0, 2, 11}
    assert regulation.taken("acme", NOW + 101) == {2, 11}
    assert regulation.taken("acme", NOW + 301) == frozenset()
    # Other rows of a client's regulation are no blocks.
    assert regulation.reserve("acme", 1, 100, NOW) == Reserved(NOW, 1)
    assert regulation.save_circuit(None, CIRCUIT)
    assert regulation.taken("acme", NOW) == {0, 2, 11}


def test_a_circuit_counts_as_none_after_its_end(regulation: Regulation) -> None:
    over = msgspec.structs.replace(LATER, probe_at=MemoryClock().now() - KEPT_MS)
    assert regulation.save_circuit(None, over)
    assert regulation.circuits("acme") == {}
    assert regulation.save_circuit(None, CIRCUIT)
    assert not regulation.save_circuit(None, CIRCUIT)
    assert regulation.circuits("acme") == {CIRCUIT.host: CIRCUIT}


def test_a_circuit_changes_only_from_the_revision_that_is_stored(regulation: Regulation) -> None:
    assert regulation.circuits("acme") == {}
    assert regulation.save_circuit(None, CIRCUIT)
    assert not regulation.save_circuit(None, LATER)
    assert regulation.circuits("acme") == {CIRCUIT.host: CIRCUIT}
    assert regulation.save_circuit(CIRCUIT, LATER)
    assert not regulation.save_circuit(CIRCUIT, LATER)
    assert regulation.circuits("acme") == {CIRCUIT.host: LATER}
    assert regulation.circuits("other") == {}
    regulation.close_circuit("acme", CIRCUIT.host)
    regulation.close_circuit("acme", CIRCUIT.host)
    assert regulation.circuits("acme") == {}


def test_notes_of_parked_occurrences_are_one_a_client_and_change_nothing_that_was_said(regulation: Regulation) -> None:
    assert list(regulation.parked()) == []
    regulation.note_parked("acme", NOW)
    regulation.note_parked("other", NOW)
    assert regulation.direct_parked(Parked("acme", rate=20.0, discard_until=NOW))
    regulation.note_parked("acme", NOW + 5)
    regulation.note_parked("acme", NOW + 4)
    found = sorted(regulation.parked(), key=lambda parked: parked.client_id)
    assert found == [Parked("acme", 20.0, discard_until=NOW, noted_at=NOW + 5), Parked("other", noted_at=NOW)]


def test_what_was_said_meanwhile_of_parked_occurrences_is_not_overwritten(regulation: Regulation) -> None:
    regulation.note_parked("acme", NOW)
    (seen,) = regulation.parked()
    assert regulation.direct_parked(Parked("acme", by_hand=True))
    assert not regulation.direct_parked(Parked("acme", rate=40.0), before=seen)
    (seen,) = regulation.parked()
    regulation.note_parked("acme", NOW + 1)
    assert regulation.direct_parked(Parked("acme", rate=40.0), before=seen)
    assert list(regulation.parked()) == [Parked("acme", rate=40.0, noted_at=NOW + 1)]
    assert not regulation.direct_parked(Parked("other"), before=Parked("other"))


def test_of_two_sweeps_that_read_the_same_note_one_leases_it_and_an_admin_leaves_the_lease(
    regulation: Regulation,
) -> None:
    regulation.note_parked("acme", NOW)
    (seen,) = regulation.parked()
    leased = Parked("acme", noted_at=NOW, swept_until=NOW + 9)
    assert regulation.direct_parked(leased, before=seen)
    assert not regulation.direct_parked(leased, before=seen)
    assert regulation.direct_parked(Parked("acme", by_hand=True))
    (directed,) = regulation.parked()
    assert directed == Parked("acme", by_hand=True, noted_at=NOW, swept_until=NOW + 9)
    assert not regulation.direct_parked(Parked("acme", swept_until=NOW + 10), before=leased)
    assert regulation.direct_parked(Parked("acme", swept_until=NOW + 1), before=directed)
    # The directions are as they were when the first sweep read them, and yet there was a sweep.
    assert not regulation.direct_parked(leased, before=seen)


def test_a_note_is_forgotten_only_as_it_was_seen(regulation: Regulation) -> None:
    regulation.note_parked("acme", NOW)
    (seen,) = regulation.parked()
    regulation.note_parked("acme", NOW + 1)
    regulation.forget_parked(seen)
    (seen,) = regulation.parked()
    assert seen.noted_at == NOW + 1
    regulation.forget_parked(seen)
    regulation.forget_parked(seen)
    assert list(regulation.parked()) == []


def test_a_reservation_that_always_loses_ends_as_unavailable(
    aws_world: AwsWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    regulation = aws_world.regulation
    lost: list[int] = []

    def lose(*_: object, **__: object) -> None:
        lost.append(1)
        assert len(lost) < 1_000, "it never gives up"
        # The row goes between a read and the write that follows it, and comes between that and the next read.
        raise ConditionFailed(None if len(lost) % 2 else {"nextSlotUs": {"N": str(NOW * 1000 + len(lost))}})

    with monkeypatch.context() as contended:
        contended.setattr(Table, "update_and_read", lose)
        with pytest.raises(Unavailable, match="nothing was reserved"):
            regulation.reserve("acme", 5, 100, NOW)
    assert 10 <= len(lost) <= 40
    assert regulation.reserve("acme", 5, 100, NOW) == Reserved(NOW, 5)
