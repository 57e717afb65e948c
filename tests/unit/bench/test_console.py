"""The bench of the console's pages: how calls become a time, and that a page over a bound is told."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

import pytest

from bench import console
from bench.arrivals.clockwork_run import CreateFailed
from bench.console import Counting, Look, Reader
from tests.console.scenes import Shop

WITHIN, SLOW, MANY = Look(8, 1_500, 4_000), Look(3, 1_501, 1_501), Look(9, 10, 10)


def counting(*spans: tuple[float, float]) -> Counting:
    found = object.__new__(Counting)
    found.spans, found._lock = list(spans), Lock()
    return found


@pytest.mark.parametrize(
    ("spans", "look"),
    [
        ((), Look(0, 0, 0)),
        (((1.0, 1.5), (2.0, 2.25)), Look(2, 750, 750)),
        (((1.0, 3.0), (1.5, 2.0), (2.5, 3.5)), Look(3, 2_500, 3_500)),
        (((5.0, 6.0), (1.0, 2.0)), Look(2, 2_000, 2_000)),
    ],
)
def test_calls_side_by_side_take_their_time_once(spans: tuple[tuple[float, float], ...], look: Look) -> None:
    sending = counting(*spans)
    assert sending.taken() == look
    assert sending.taken() == Look(0, 0, 0)


def test_a_page_over_a_bound_is_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    @contextmanager
    def filled(_: int) -> Iterator[tuple[Any, Any, Any]]:
        yield None, None, None

    monkeypatch.setattr(console, "filled", filled)
    monkeypatch.setattr(console, "query_ms", lambda _: 4.0)
    for look, code in ((WITHIN, 0), (SLOW, 1), (MANY, 1)):
        monkeypatch.setattr(console, "measured", lambda *_, look=look: {"jobs": look})
        assert console.main([]) == code
        told = capsys.readouterr()
        assert json.loads(told.out)["pages"]["jobs"]["calls"] == look.calls
        assert ("over" in told.err) == bool(code)


def test_the_page_names_the_pages_that_are_dearest_and_those_over_a_bound() -> None:
    told = console.page({"jobs": WITHIN, "runs": SLOW, "dead": MANY}, 7_000, 4.0).replace("\n", " ")
    assert (
        "Of 3 pages, at most: 9 calls (dead), 1,501 ms of the API (runs), 4,000 ms in all calls summed up (jobs)"
        in told
    )
    assert "These are over 8 calls and 1,500 ms: runs, dead." in told


def test_a_reader_sees_pages_and_no_error() -> None:
    shop = Shop()
    reader = Reader(shop.cw)
    assert "shop/heartbeat" in reader.look("/jobs")
    with pytest.raises(CreateFailed, match="404"):
        reader.look("/nowhere/at/all")
