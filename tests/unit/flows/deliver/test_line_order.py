"""The order of those that wait for slots: nobody overtakes the line, be it a newcomer, a herd or a late return."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import count

import pytest

from bench.arrivals import virtual
from bench.caps import CLIENT, Line
from clockwork.flows.requests.cancel import cancel_job
from tests.support.regulated import Regulated

pytestmark = pytest.mark.long

CAP, HERD = 1.0, 300
#: Starts keep to the order in which jobs came, but for this share of what they wait.
SHARE = 0.1


class Coming:
    """A client's jobs in virtual time: a herd that is due at 0 s, and newcomers one by one, each due as it comes."""

    def __init__(self, herd: int, cap: float = CAP) -> None:
        self.line = Line(cap)
        self.herd = self.line.create(herd, self.line.due_at)
        self._newcomers: list[tuple[float, str]] = []

    def at(self, seconds: float) -> int:
        """The instant (ms) so long after the herd was due."""
        return self.line.due_at + int(seconds * 1000)

    def newcomers(self, every: float, until: float) -> None:
        """One every so many seconds."""
        due = every
        while due < until:
            self.line.virtual.at(self.at(due - 2), partial(self._comes, due))
            due += every

    def _comes(self, due: float) -> None:
        self._newcomers += [(due, job_id) for job_id in self.line.create(1, self.at(due))]

    def cancel(self, seconds: float, jobs: Sequence[str]) -> None:
        """Cancel these jobs of the herd at a time."""
        world = self.line.virtual.world
        self.line.virtual.at(self.at(seconds), lambda: [cancel_job(world, CLIENT, job_id) for job_id in jobs])

    def run(self, seconds: float) -> None:
        """Run until everything has been delivered; nothing comes after so many seconds."""
        self.line.virtual.run(ticks=int(seconds / 60) + 5)
        self._began: dict[str, int] = {}
        for delivery, at in self.line.virtual.began:
            self._began.setdefault(delivery.job_id, at)

    def began(self, jobs: Sequence[str]) -> list[float]:
        """When these jobs began, in order (s)."""
        return sorted((self._began[job_id] - self.line.due_at) / 1000 for job_id in jobs)

    def came(self) -> list[tuple[float, float]]:
        """When each newcomer came, and when it began (s)."""
        return [(due, (self._began[job_id] - self.line.due_at) / 1000) for due, job_id in self._newcomers]


def test_newcomers_do_not_overtake_a_herd() -> None:
    coming = Coming(HERD)
    coming.newcomers(every=2, until=HERD)
    coming.run(2 * HERD)
    assert coming.began(coming.herd)[-1] <= HERD * (1 + SHARE)
    for place, (due, began) in enumerate(coming.came()):
        if due > 60:  # By then all of the herd stands in the line.
            turn = HERD + place
            assert abs(began - turn) <= SHARE * (turn - due), f"due at {due} s, began at {began} s, turn at {turn} s"


def test_those_that_the_api_itself_releases_are_not_overtaken_either() -> None:
    regulated = Regulated(max_rate_per_second=CAP)
    herd = set(regulated.create(HERD))
    due_at = regulated.start + 5_000
    for _ in range(HERD // 2):
        regulated.run(2)
        regulated.create(1, delay_ms=1_000)
    regulated.run(HERD)
    started = [one.attempts[0].started_at for one in regulated.clockwork.executions.all() if one.job_id in herd]
    assert len(started) == HERD
    assert max(started) - due_at <= HERD * 1_000 * (1 + SHARE)


def test_a_herd_does_not_overtake_a_line_that_stands() -> None:
    coming = Coming(HERD)
    second: list[str] = []

    def another(minute: int) -> None:
        second.extend(coming.line.create(40, coming.at(minute)))

    for minute in (60, 120, 180):
        coming.line.virtual.at(coming.at(minute - 55), partial(another, minute))
    coming.run(HERD)
    assert coming.began(coming.herd)[-1] <= HERD * (1 + SHARE)
    assert coming.began(second)[0] >= HERD * (1 - SHARE)
    assert len(second) == 3 * 40


def test_where_half_a_line_was_cancelled_the_rest_of_it_goes_before_those_who_came_later() -> None:
    coming = Coming(1_000)
    coming.cancel(30, coming.herd[::2])
    coming.newcomers(every=2, until=600)
    coming.run(1_200)
    alive = coming.began(coming.herd[1::2])
    # Some of the others had begun by then, and newcomers that came in the first minute stand among the herd.
    assert alive[-1] <= (30 + 500 + 30) * (1 + SHARE)


def test_nobody_overtakes_those_whose_cap_was_lowered() -> None:
    coming = Coming(1_000, cap=10.0)
    coming.line.virtual.at(coming.at(20), lambda: coming.line.set_cap(1.0))
    coming.newcomers(every=2, until=600)
    coming.run(1_600)
    taken = sum(began <= 60 for began in coming.began(coming.herd))
    assert coming.began(coming.herd)[-1] <= 60 + (1_000 - taken + 30) * (1 + SHARE)


def test_deliverers_whose_clocks_differ_by_a_second_keep_the_order(monkeypatch: pytest.MonkeyPatch) -> None:
    number: Iterator[int] = count()
    begin, now = virtual._Clock.__init__, virtual._Clock.now

    def begin_apart(clock: virtual._Clock, loop: virtual.Loop) -> None:
        begin(clock, loop)
        apart_ms[id(clock)] = 500 * (-1) ** next(number)
        kept.append(clock)

    apart_ms: dict[int, int] = {}
    kept: list[virtual._Clock] = []
    monkeypatch.setattr(virtual._Clock, "__init__", begin_apart)
    monkeypatch.setattr(virtual._Clock, "now", lambda clock: now(clock) + apart_ms[id(clock)])
    test_newcomers_do_not_overtake_a_herd()
    assert len(kept) > 2
