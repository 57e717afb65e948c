"""`make run`: a tour that fails says why, and the server stays up."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from local.demo.screen import Screen
from local.dev import __main__ as dev
from local.dev.faults import ServerFailed


@pytest.mark.parametrize("error", [ServerFailed("The API did not take job 3"), OSError("no route")])
def test_a_tour_that_fails_says_why_and_lets_the_server_run(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def fails(screen: Screen, server: Any) -> None:
        raise error

    monkeypatch.setattr(dev, "play", fails)
    said = io.StringIO()
    dev.play_tour(Screen(Console(file=said, width=200)), None)  # type: ignore[arg-type]
    assert f"The tour failed: {error}. The server stays up." in said.getvalue()
