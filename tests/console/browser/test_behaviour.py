"""The pages at work: keys, refreshes, dialogs and buttons, as somebody at a keyboard meets them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.console.browsing import Reader, View
from tests.console.stage import Stage


def active(window: Reader) -> str:
    """The id of the element that has the focus."""
    return str(window.page.evaluate("document.activeElement.id"))


def test_the_link_leads_in_and_works_once(window: Reader, stage: Stage) -> None:
    assert window.page.url == f"{stage.url}/"
    link = stage.link()
    window.page.goto(link)
    window.page.wait_for_url(f"{stage.url}/")
    answer = window.page.goto(link)
    assert answer is not None
    assert answer.status == 403
    window.faults.clear()  # the browser logs the refusal, which is what was wanted


def test_a_file_leads_in_as_the_console_opens_its_browser(opened: Browser, stage: Stage, tmp_path: Path) -> None:
    file = tmp_path / "link.html"
    file.write_text(f'<meta http-equiv="refresh" content="0;url={stage.link()}">')
    window = opened.new_context()
    page = window.new_page()
    page.goto(file.as_uri())
    page.wait_for_url(f"{stage.url}/")
    expect(page.locator("h1")).to_contain_text("things need you")
    window.close()


PAGES = [
    ("j", "/jobs"),
    ("u", "/upcoming"),
    ("d", "/dead"),
    ("r", "/runs"),
    ("o", "/operations"),
    ("c", "/changes"),
    ("a", "/"),
]


@pytest.mark.parametrize(("key", "path"), PAGES)
def test_two_keys_lead_to_each_page(window: Reader, stage: Stage, key: str, path: str) -> None:
    window.open("/jobs")
    window.page.keyboard.press("g")
    window.page.keyboard.press(key)
    window.page.wait_for_url(stage.url + path)


def test_the_search_filters_as_one_types_and_a_refresh_keeps_it(window: Reader) -> None:
    page = window.open("/jobs")
    page.keyboard.press("/")
    page.keyboard.type("close-of", delay=20)
    expect(page.locator("tr[data-row]")).to_have_count(1)
    assert (active(window), page.input_value("#q")) == ("q", "close-of")
    page.wait_for_url(re.compile("q=close-of"))
    window.refresh()
    expect(page.locator("tr[data-row]")).to_have_count(1)
    assert (active(window), page.input_value("#q")) == ("q", "close-of")
    page.keyboard.type("-day")
    expect(page.locator("tr[data-row]")).to_have_count(1)
    page.locator("#q").fill("no such job")
    expect(page.get_by_text("No job matches.")).to_be_visible()
    window.refresh()
    assert page.input_value("#q") == "no such job"


def test_chips_and_their_address_filter(window: Reader) -> None:
    page = window.open("/jobs?state=PAUSED")
    expect(page.locator("tr[data-row]")).to_have_count(1)
    page.get_by_text("With dead runs").click()
    expect(page.locator("tr[data-row]")).to_have_count(2)
    page.wait_for_url(re.compile("state=DEAD"))


def test_j_and_k_walk_over_rows_and_enter_opens_one(window: Reader, stage: Stage) -> None:
    page = window.open("/jobs?sort=name")
    row = "[...document.querySelectorAll('tr[data-row]')].indexOf(document.activeElement.closest('tr'))"
    for key, at in (("j", 0), ("j", 1), ("j", 2), ("k", 1)):
        page.keyboard.press(key)
        assert page.evaluate(row) == at
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(f"{stage.url}/jobs/"))
    expect(page.locator("h1")).to_have_text("billing/monthly-statement")


def test_the_whole_page_is_reached_by_tab_in_the_order_of_reading(window: Reader, stage: Stage) -> None:
    page = window.open(f"/jobs/{stage.ids['ops/rotate-logs']}")
    told = []
    for _ in range(20):
        page.keyboard.press("Tab")
        told.append(str(page.evaluate("document.activeElement.textContent.trim() || document.activeElement.ariaLabel")))
    assert told[0] == "Skip to content"
    wanted = ["Clockwork", "Attention", "Jobs", "Run now", "Pause", "Cancel job"]
    places = [next(at for at, text in enumerate(told) if text.startswith(one)) for one in wanted]
    assert places == sorted(places)


def test_an_opened_run_stays_open_while_newer_ones_come(window: Reader, stage: Stage) -> None:
    page = window.open(f"/jobs/{stage.ids['shop/heartbeat']}")
    opened = page.locator(".history li").nth(2)
    opened.locator("summary").click()
    run = opened.get_attribute("id")
    newest = page.locator(".history li").first.get_attribute("id")
    page.locator(".history summary").nth(2).focus()
    stage.pass_time(seconds=30)
    window.refresh()
    assert page.locator(".history li").first.get_attribute("id") != newest
    assert page.evaluate("id => document.getElementById(id).querySelector('details').open", run)
    assert page.evaluate("document.activeElement.closest('li').id") == run


def test_a_pause_by_the_keyboard_shows_its_reason_as_text(window: Reader, stage: Stage) -> None:
    page = window.open(f"/jobs/{stage.ids['ops/rotate-logs']}")
    page.keyboard.press("p")
    assert active(window) == "pause-reason"
    page.keyboard.type("window <b>tonight</b>")
    page.keyboard.press("Enter")
    expect(page.locator(".why")).to_contain_text("window <b>tonight</b>")
    expect(page.locator(".flash")).to_contain_text("Paused.")
    page.get_by_role("button", name="Resume").click()
    expect(page.locator(".flash")).to_contain_text("Resumed.")


def test_run_now_says_so(window: Reader, stage: Stage) -> None:
    page = window.open(f"/jobs/{stage.ids['ops/rotate-logs']}")
    page.get_by_role("button", name="Run now").click()
    expect(page.locator(".flash")).to_contain_text("A run was asked for")


def test_the_safe_button_of_a_cancel_has_the_focus_and_escape_keeps_the_job(window: Reader, stage: Stage) -> None:
    page = window.open(f"/jobs/{stage.ids['growth/weekly-digest']}")
    page.get_by_text("Cancel job").first.click()
    assert page.evaluate("document.activeElement.textContent") == "Keep it"
    page.keyboard.press("Escape")
    assert not page.locator("#cancel").is_visible()
    page.keyboard.press("c")
    page.locator("#cancel .btn.danger").click()
    expect(page.locator(".flash")).to_contain_text("Cancelled. No attempt starts after this moment.")


def test_keys_do_nothing_in_a_field_or_with_a_modifier(window: Reader) -> None:
    page = window.open("/jobs")
    page.locator("#q").focus()
    page.keyboard.type("?gj.")
    assert page.input_value("#q") == "?gj."
    page.locator("main").focus()
    page.keyboard.press("Control+Shift+?")
    assert not page.locator("#keys").is_visible()
    page.keyboard.press("?")
    assert page.locator("#keys").is_visible()


def test_a_dialog_stops_refreshes_and_a_key_stops_them_until_it_is_pressed_again(window: Reader) -> None:
    page = window.open("/jobs")
    page.keyboard.press(".")
    expect(page.locator("#fresh-says")).to_have_text("not refreshing")
    assert not page.evaluate("mayRefresh(Date.now() + 60000)")
    page.keyboard.press(".")
    assert page.evaluate("mayRefresh(Date.now() + 60000)")
    page.keyboard.press("?")
    assert not page.evaluate("mayRefresh(Date.now() + 60000)")
    page.keyboard.press("Escape")
    assert not page.evaluate("mayRefresh(Date.now() + 16 * 60000)")
    expect(page.locator("#fresh-says")).to_contain_text("stopped after 15 minutes")


def test_u_shows_utc_and_the_full_instant_stays_in_the_title(window: Reader) -> None:
    page = window.open("/changes")
    when = page.locator("time[data-abs]").first
    local, title = when.text_content(), when.get_attribute("title")
    page.keyboard.press("u")
    expect(when).not_to_have_text(local or "")
    assert title is not None
    assert "UTC" in title
    page.keyboard.press("u")


def test_a_page_of_the_browsers_past_shows_no_message_twice(window: Reader, stage: Stage) -> None:
    page = window.open(f"/jobs/{stage.ids['ops/rotate-logs']}")
    page.get_by_role("button", name="Run now").click()
    expect(page.locator(".flash")).to_be_visible()
    page.reload()
    expect(page.locator(".flash")).to_have_count(0)


def test_without_scripts_lists_and_filters_work(opened: Browser, stage: Stage) -> None:
    reader = Reader(opened, stage, View(1440, "light"), java_script_enabled=False)
    page = reader.page
    page.goto(f"{stage.url}/jobs?q=crm")
    assert page.locator("tr[data-row]").count() == 2
    assert page.locator("time").first.text_content() is not None
    page.goto(f"{stage.url}/jobs/{stage.ids['shop/heartbeat']}")
    assert page.locator(".history li").count() == 24
    page.get_by_text("Pause").first.click()
    page.wait_for_url(re.compile("/pause$"))
    page.locator("#reason").fill("without scripts")
    page.get_by_role("button", name="Pause").click()
    assert "without scripts" in page.locator(".why").inner_text()
    reader.close()


def test_the_preview_follows_what_is_typed_and_the_form_keeps_it(window: Reader, stage: Stage) -> None:
    page = window.open(f"/jobs/{stage.ids['billing/close-of-day']}/edit")
    page.locator("#preview .fires li").first.wait_for()
    page.locator("#f-cron").fill("15 6 * * *")
    page.locator("#preview", has_text="06:15").wait_for()
    assert page.locator("#preview .fires li").count() == 10
    assert "per million runs" in page.locator("#preview").inner_text()
    stage.pass_time(seconds=20)
    page.wait_for_timeout(6_000)  # longer than a page waits between two refreshes
    assert page.locator("#f-cron").input_value() == "15 6 * * *"
    assert page.evaluate("document.activeElement.id") == "f-cron"
    page.get_by_role("button", name="Review").click()
    page.get_by_role("heading", name="Review the change").wait_for()
    assert "15 6 * * *" in page.locator("table").inner_text()
    page.get_by_role("button", name="Back to the form").click()
    assert page.locator("#f-cron").input_value() == "15 6 * * *"
