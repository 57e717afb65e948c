"""Waits: what held a release back, for how long, and when it is over."""

from __future__ import annotations

import pytest

from clockwork.domain.waits import Cause, Held, Waited, together, without
from tests.support.examples import NOW, occurrence, release

SOME, MORE = Waited(cap=1, permit=2, pause=3), Waited(cap=10, circuit=40, ordered=50)


def test_waits_add_up_cause_by_cause() -> None:
    assert together(SOME, MORE) == Waited(11, 2, 3, 40, 50)
    assert together(SOME, None) == together(None, SOME) == SOME
    assert together(None, None) is None


def test_what_is_taken_from_all_waits_leaves_the_others() -> None:
    assert without(Waited(11, 2, 3, 40, 50), MORE) == SOME
    assert without(SOME, SOME) is None
    assert without(SOME, None) == SOME
    assert without(None, SOME) is None


@pytest.mark.parametrize("cause", ["cap", "permit", "pause", "circuit", "ordered"])
def test_each_cause_has_a_sum_of_its_own(cause: Cause) -> None:
    assert Waited().and_for(cause, 5).and_for(cause, 6) == Waited(**{cause: 11})


def test_a_wait_is_over_at_the_instant_for_which_the_release_comes_again() -> None:
    held = release(run_at=NOW + 100, held=Held("cap", NOW))
    assert [held.waited_by(NOW + ms) for ms in (0, 1, 100, 500)] == [
        None,
        Waited(cap=1),
        Waited(cap=100),
        Waited(cap=100),
    ]
    assert release(waited=SOME).waited_by(NOW + 500) == SOME
    assert release(run_at=NOW + 100, held=Held("permit", NOW), waited=SOME).waited_by(NOW + 500) == Waited(1, 102, 3)


def test_what_is_put_off_again_has_waited_until_then_and_is_held_from_then_on() -> None:
    held = release(run_at=NOW + 100, held=Held("cap", NOW))
    later = held.put_off("permit", NOW + 130, NOW + 400, permits=1)
    assert (later.run_at, later.waits.permits, later.waits.held) == (NOW + 400, 1, Held("permit", NOW + 130))
    assert later.waits.waited == Waited(cap=100)
    sooner = held.put_off("permit", NOW + 50, NOW + 400)
    assert (sooner.waits.held, sooner.waits.waited) == (Held("permit", NOW + 100), Waited(cap=100))
    assert held.put_off("permit", NOW + 130, NOW + 130).waits.held is None
    assert held.put_off("permit", NOW + 130, NOW + 131).waits.held == Held("permit", NOW + 130)


def test_what_is_put_off_comes_no_sooner_than_it_would_have() -> None:
    early = release(run_at=NOW + 100).put_off("permit", NOW, NOW + 99)
    assert (early.run_at, early.waits.held, early.waits.waited) == (NOW + 100, None, None)


def test_what_waits_for_an_unknown_instant_is_held_from_when_it_could_run() -> None:
    held = release(run_at=NOW + 100)
    assert held.held_back("pause", NOW).waits.held == Held("pause", NOW + 100)
    assert held.held_back("pause", NOW + 130).waits.held == Held("pause", NOW + 130)


@pytest.mark.parametrize(
    ("changes", "has_waited"),
    [
        ({}, False),
        ({"attempt": 2}, True),
        ({"sweeps": 1}, True),
        ({"parkings": 1}, True),
        ({"permits": 1}, True),
        ({"paced": True}, False),
    ],
)
def test_only_what_was_away_since_its_poller_released_it_may_have_ended_meanwhile(
    changes: dict[str, int], has_waited: bool
) -> None:
    assert release(occurrence=occurrence(), **changes).has_waited is has_waited
