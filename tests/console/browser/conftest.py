"""One browser and one stage for all tests of a file."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.console.browsing import Reader, View, browser
from tests.console.stage import Stage, playing


@pytest.fixture(scope="module")
def opened() -> Iterator[Browser]:
    with browser() as found:
        yield found


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    with playing() as found:
        yield found


@pytest.fixture
def window(opened: Browser, stage: Stage) -> Iterator[Reader]:
    """A wide window of one test. Nothing may go wrong in it."""
    found = Reader(opened, stage, View(1440, "light"))
    yield found
    faults = found.faults
    found.close()
    assert faults == []
