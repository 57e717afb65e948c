"""A redrive of thousands from the page: the deployment does it, whatever becomes of the tab that began it."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser, expect

from tests.console.browsing import Reader, View
from tests.console.stage import Stage

pytestmark = pytest.mark.nightly

MANY = 5_000


def test_five_thousand_are_redriven_and_the_progress_outlives_the_tab(opened: Browser, stage: Stage) -> None:
    stage.kill("many/orders", MANY)
    first = Reader(opened, stage, View(1440, "light"))
    page = first.open("/dead?prefix=many")
    page.get_by_role("link", name="Redrive all that match").click()
    # The page makes one call, which the size of its answer may end before 200.
    expect(page.locator("h1")).to_have_text(re.compile(r"Redrive more than (1\d\d|200) dead runs\?"))
    page.get_by_label("At most so many a second").fill("500")
    page.get_by_label("Why? Others see this.").fill("the order service is back")
    page.get_by_role("button", name="Redrive").click()
    page.wait_for_url(re.compile("/operations/[^n]"))
    expect(page.locator(".why")).to_contain_text("Running. 0 changed")
    address = page.url.removeprefix(stage.url)
    assert first.wrong() == []
    first.close()

    while not 0 < stage.cw.operations.get(address.rpartition("/")[2]).changed < MANY:
        stage.pass_time(seconds=1)
    second = Reader(opened, stage, View(360, "dark"))
    page = second.open("/operations")
    page.get_by_role("link", name="Redrive of many").click()
    page.wait_for_url(stage.url + address)
    expect(page.locator(".why")).to_contain_text(re.compile(r"Running\. [\d,]+ changed of [\d,]+ found so far"))
    stage.pass_time(seconds=20)
    second.refresh()
    expect(page.locator(".why")).to_have_text("Done. 5,000 changed of 5,000 found.")
    expect(page.get_by_role("button", name="Stop")).to_have_count(0)
    assert list(stage.cw.dead.list(prefix="many")) == []
    assert second.wrong() == []
    second.close()


def test_a_stop_leaves_the_rest_dead(opened: Browser, stage: Stage) -> None:
    stage.kill("few/orders", 40)
    reader = Reader(opened, stage, View(1440, "dark"))
    page = reader.open("/operations/new?kind=discardDead&prefix=few")
    page.get_by_label("At most so many a second").fill("0.5")
    page.get_by_role("button", name="Discard").click()
    page.wait_for_url(re.compile("/operations/[^n]"))
    stage.pass_time(seconds=62)
    reader.refresh()
    page.get_by_role("button", name="Stop").click()
    expect(page.locator(".flash")).to_contain_text("Nothing more is changed.")
    expect(page.locator(".why")).to_contain_text("Stopped.")
    left = len(list(stage.cw.dead.list(prefix="few")))
    assert 0 < left < 40
    stage.pass_time(minutes=5)
    assert len(list(stage.cw.dead.list(prefix="few"))) == left
    assert reader.wrong() == []
    reader.close()
