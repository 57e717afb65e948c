"""Judges aligned sends: their delays count from the instant of the grid, not from when the poller woke up."""

from __future__ import annotations

from collections.abc import Sequence

from clockwork.domain.messages.alignment import FINER, SECOND_MS, Aligned
from clockwork.domain.releases import Release
from clockwork.settings import Settings
from clockwork.targets.http import HttpTarget


def objection(releases: Sequence[Release], now: int, aligned: Aligned | None, settings: Settings) -> str | None:
    """The fault of a send at `now` (ms, the poller's clock); None if there is none.

    A message that leaves within a third of the margin after one of its instants, which lie a second apart, counts from
    there. Such a message comes less than a grid and a margin before it is due, and at least two thirds of the margin. A
    message that leaves later after its instants counts from the clock.
    """
    if aligned is None:
        return None
    for release in releases:
        if not isinstance(release.occurrence.target, HttpTarget):
            continue  # it may share its message with an earlier one, whose instant counts
        overs = []
        for grid_ms in (settings.send_grid_ms, settings.send_grid_ms // FINER):
            offset = (release.run_at - settings.send_margin_ms) % SECOND_MS // grid_ms * grid_ms
            overs.append((now - offset) % SECOND_MS)
        if aligned.at not in [now - over if over <= settings.send_margin_ms // 3 else now for over in overs]:
            return f"sent {overs} ms after its instants, its delay counts from {now - aligned.at} ms before that"
    return None
