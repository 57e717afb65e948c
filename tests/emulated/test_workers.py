"""Workers on the local stack: killed in the middle of their work, stopped beyond their lease, and without an api."""

from __future__ import annotations

from pathlib import Path

from local.demo.screen import Screen
from local.dev.server import server
from tests.chaos.fleet import LONG, play


def test_nothing_is_lost_or_done_again_though_workers_are_killed_and_stopped_and_the_api_dies_while_they_claim(
    tmp_path: Path,
) -> None:
    screen = Screen()
    with server(screen) as ready:
        outcome = play(ready, tmp_path, screen.say)
    assert outcome.wrong == []
    assert outcome.taken_over == LONG, "each of those jobs was in the hands of a worker that was struck"
