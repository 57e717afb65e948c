"""Herds: many releases of a rate-limited client at once come to the deliverers one after the other."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from clockwork.domain.limits.herds import COMES_WITHIN_MS, LEAST_HERD, Herds
from clockwork.domain.limits.slots import LEAST_BACK_MS
from clockwork.domain.releases import Check, Deliver, Release, Watch
from clockwork.domain.waits import Held, Line
from tests.support.examples import NOW, occurrence, release

EARLIER = NOW - 60_000


def herd(size: int, client_id: str = "acme", window: float | None = None) -> list[Release]:
    due = occurrence(client_id=client_id, relevancy_window_seconds=window)
    return [release(occurrence=due) for _ in range(size)]


def instants(releases: Sequence[Release]) -> list[int]:
    return [one.run_at - NOW for one in releases]


def herds(rates: dict[str, float], asked: list[str] | None = None, fraction: float = 0.5) -> Herds:
    def rate_of(client_id: str) -> float | None:
        if asked is not None:
            asked.append(client_id)
        return rates.get(client_id)

    return Herds(rate_of, lambda: fraction)


def test_so_few_as_a_deliverer_takes_at_once_are_no_herd_and_their_client_is_not_read() -> None:
    asked: list[str] = []
    few = herd(LEAST_HERD)
    assert herds({"acme": 1.0}, asked).staggered(few, EARLIER) == few
    assert asked == []


def test_each_of_a_herd_comes_when_the_limit_lets_it_go_and_has_no_place() -> None:
    staggered = herds({"acme": 4.0}).staggered(herd(LEAST_HERD + 1), EARLIER)
    assert instants(staggered) == [250 * number for number in range(11)]
    assert staggered[0] == herd(1)[0]
    third = staggered[3]
    assert isinstance(third, Deliver)
    assert (third.waits.line, third.waits.held) == (None, Held("cap", NOW))


def test_a_herd_goes_on_where_the_last_page_of_it_ended_and_another_client_is_left_alone() -> None:
    asked: list[str] = []
    poller = herds({"acme": 1.0}, asked)
    poller.staggered(herd(20), EARLIER)
    assert instants(poller.staggered([*herd(2), *herd(2, "other")], EARLIER)) == [20_000, 21_000, 0, 0]
    assert instants(poller.staggered(herd(20, "other"), EARLIER)) == [0] * 20
    assert asked == ["acme", "acme", "other"]


@pytest.mark.parametrize(("fraction", "after_ms"), [(0.0, LEAST_BACK_MS), (0.5, 35_000), (1.0, COMES_WITHIN_MS)])
def test_whose_turn_comes_late_comes_within_a_minute_and_gets_its_place_then(fraction: float, after_ms: int) -> None:
    staggered = herds({"acme": 1.0}, fraction=fraction).staggered(herd(53), EARLIER)
    assert instants(staggered[49:51]) == [49_000, COMES_WITHIN_MS]
    assert instants(staggered[51:]) == [after_ms, after_ms]
    near, far = staggered[50:52]
    assert isinstance(near, Deliver)
    assert isinstance(far, Deliver)
    assert (near.waits.line, far.waits.line) == (None, Line(None, NOW))


def test_what_has_a_window_is_not_put_off_and_takes_no_turn() -> None:
    staggered = herds({"acme": 1.0}).staggered([*herd(10, window=5), *herd(2)], EARLIER)
    assert instants(staggered) == [0] * 11 + [1_000]


@pytest.mark.parametrize("kind", [Watch, Check])
def test_what_starts_nothing_is_no_herd_takes_no_turn_and_is_not_put_off(kind: type[Watch | Check]) -> None:
    asked: list[str] = []
    idle = [kind(one.of, one.occurrence, one.run_at) for one in herd(20)]
    poller = herds({"acme": 1.0}, asked)
    assert poller.staggered(idle, EARLIER) == idle
    assert asked == []
    assert instants(poller.staggered([*idle, *herd(LEAST_HERD + 1)], EARLIER))[20:] == [1_000 * n for n in range(11)]
