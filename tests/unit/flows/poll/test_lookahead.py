"""Backpressure: the lookahead of pollers is narrowed while deliverers do not keep up."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from clockwork.domain import keys
from clockwork.domain.errors import Unavailable
from clockwork.domain.limits.polling import plan_lookahead
from clockwork.flows.poll.poller import poll_any
from clockwork.flows.poll.tick import tick
from clockwork.memory.world import MemoryClockwork
from clockwork.settings import Settings


@pytest.mark.parametrize("waiting", [0, 1, 40_000])
def test_as_long_as_deliverers_keep_up_pollers_release_as_far_ahead_as_they_may(waiting: int) -> None:
    opening = plan_lookahead(240, 130, waiting, 40_000)
    assert (opening.lookahead_seconds, opening.narrowed) == (240, False)


def test_behind_that_they_release_less_far_ahead_and_say_why() -> None:
    opening = plan_lookahead(240, 130, 40_001, 40_000)
    assert (opening.lookahead_seconds, opening.narrowed) == (130, True)
    assert opening.reason == "40,001 messages wait, more than 40,000: pollers release 130 s ahead"


def test_backpressure_never_releases_further_ahead_than_the_setting() -> None:
    assert plan_lookahead(70, 130, 50_000, 40_000).lookahead_seconds == 70


@dataclass
class Waiting:
    """A backlog of `messages` messages; None: SQS does not answer."""

    messages: int | None

    def waiting(self) -> int:
        if self.messages is None:
            raise Unavailable("SQS does not answer")
        return self.messages


@pytest.mark.parametrize(
    ("messages", "lookahead", "narrowed"), [(0, 240, False), (40_001, 130, True), (None, 240, False)]
)
def test_a_tick_tells_its_pollers_how_far_to_look_ahead(messages: int | None, lookahead: int, narrowed: bool) -> None:
    clockwork = MemoryClockwork(Settings.for_account())
    report = tick(clockwork.world.with_(backlog=Waiting(messages)))
    assert (report.started, report.narrowed) == (16, narrowed)
    assert set(clockwork.invoker.lookaheads) == {lookahead}


def test_a_poller_that_is_told_so_looks_less_far_ahead_and_takes_back_nothing_that_was_promised() -> None:
    clockwork = MemoryClockwork(Settings.for_account())
    clockwork.shards.register("p000")
    horizons = []
    for lookahead in (130, None, 130):
        began_at = clockwork.clock.at
        poll_any(clockwork.world.looking_ahead(lookahead), "p000", began_at + 300_000)
        horizons.append(keys.instant_of(clockwork.shards.get(["p000"])["p000"].horizon) - began_at)
        clockwork.clock.advance(60_000)
    assert horizons == [130_000, 240_000, 180_000]
