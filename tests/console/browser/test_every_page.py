"""Every page in every view: no fault of access (axe-core), no overflow, no error or alert of the browser."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.console.browsing import ALL, FEW, Reader, View
from tests.console.chromium import views
from tests.console.stage import Stage

PAGES = [
    *(
        "attention",
        "jobs",
        "job",
        "job-dst",
        "job-hostile",
        "new",
        "edit",
        "fires",
        "pause",
        "run",
        "runs",
        "runs-all",
        "workflow",
        "workflow-redrive",
        "upcoming",
        "dead",
        "redrive",
        "pause-many",
        "operations",
        "operation",
    ),
    *("changes", "pools", "clients", "client-pause", "shards", "nowhere"),
]


#: A narrow view by day, in which a page overflows first.
_TURNS = [FEW[0], *(pytest.param(view, marks=pytest.mark.nightly) for view in FEW[1:])]


@pytest.fixture(scope="module", params=ALL if views() == "all" else _TURNS, ids=str)
def reader(request: pytest.FixtureRequest, opened: Browser, stage: Stage) -> Iterator[Reader]:
    view: View = request.param
    found = Reader(opened, stage, view)
    yield found
    found.close()


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_without_fault(reader: Reader, stage: Stage, name: str) -> None:
    page = reader.open(stage.pages()[name])
    for one in page.locator(".history summary").all()[:2]:
        one.click()
    found = [one for one in reader.wrong() if not (name == "nowhere" and "404" in one)]
    assert found == []


def test_the_pages_are_all_that_are_shown(stage: Stage) -> None:
    assert sorted(stage.pages()) == sorted(PAGES)


@pytest.mark.parametrize("dialog", ["cancel", "pause", "keys"])
def test_a_dialog_is_without_fault(reader: Reader, stage: Stage, dialog: str) -> None:
    page = reader.open(f"/jobs/{stage.ids['ops/rotate-logs']}")
    page.keyboard.press({"cancel": "c", "pause": "p", "keys": "?"}[dialog])
    assert page.locator(f"#{dialog}").is_visible()
    assert reader.wrong() == []
