"""A real browser in front of the console: views of some width and scheme, and what is wrong with a page in them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Dialog, Page, sync_playwright

from tests.console.chromium import ADVICE, AXE, chromium
from tests.console.stage import Stage

HEIGHTS = {360: 780, 768: 1024, 1440: 960}
_RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
_RUN_AXE = """
rules => axe.run(document, {runOnly: rules}).then(found => found.violations.map(
  one => `${one.id}: ${one.nodes.length} x ${one.nodes[0].html.slice(0, 160)} ${one.nodes[0].failureSummary}`))
"""


class View(NamedTuple):
    """How wide a page is shown, and in which colours."""

    width: int
    scheme: str

    def __str__(self) -> str:
        return f"{self.width}-{self.scheme}"


FEW = [View(360, "light"), View(1440, "dark")]
ALL = [View(width, scheme) for width in HEIGHTS for scheme in ("light", "dark")]


@contextmanager
def browser() -> Iterator[Browser]:
    """The browser. Raises RuntimeError without one."""
    program = chromium()
    if program is None:
        raise RuntimeError(ADVICE)
    with sync_playwright() as playwright:
        # A browser that root starts, as in containers, has no sandbox of its own.
        found = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        try:
            yield found
        finally:
            found.close()


class Reader:
    """One browser window on the stage, with all that went wrong in it."""

    def __init__(self, opened: Browser, stage: Stage, view: View, **options: Any) -> None:
        self.stage = stage
        self.faults: list[str] = []
        self.window: BrowserContext = opened.new_context(
            viewport={"width": view.width, "height": HEIGHTS[view.width]},
            color_scheme="dark" if view.scheme == "dark" else "light",
            timezone_id="Europe/Berlin",
            locale="en-GB",
            reduced_motion="reduce",
            **options,
        )
        self.page: Page = self.window.new_page()
        self.page.on("console", self._logged)
        self.page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        self.page.on("dialog", self._alerted)
        self.page.goto(stage.link())
        self.page.wait_for_url(f"{stage.url}/")

    def open(self, path: str) -> Page:
        """A page, once all that it loads is there."""
        self.page.goto(self.stage.url + path, wait_until="networkidle")
        return self.page

    def refresh(self) -> None:
        """Make the page do at once its refresh of every few seconds."""
        with self.page.expect_response(lambda answer: answer.request.headers.get("hx-request") == "true"):
            self.page.evaluate("htmx.trigger(document.body, 'tick')")
        self.page.wait_for_timeout(150)

    def close(self) -> None:
        self.window.close()

    def wrong(self) -> list[str]:
        """The faults of the page as it is shown now: of access, overflow, and errors of the browser."""
        found = [f"overflow: {over} px" for over in [self.page.evaluate(_OVERFLOW)] if over > 0]
        found += [f"out of sight: {one}" for one in self.page.evaluate(_OUT_OF_SIGHT)]
        # The debugger puts it in, which the policy of the page does not hold for.
        self.page.evaluate(AXE.read_text(encoding="utf-8"))
        found += [f"axe: {one}" for one in self.page.evaluate(_RUN_AXE, _RULES)]
        faults, self.faults = self.faults, []
        return found + faults

    def _logged(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.faults.append(f"{message.type}: {message.text}")

    def _alerted(self, dialog: Dialog) -> None:
        self.faults.append(f"alert: {dialog.message}")
        dialog.dismiss()


#: Elements with a text of their own that lie beyond the left or upper edge, as no scrolling shows them.
_OUT_OF_SIGHT = """() => [...document.querySelectorAll("main *")].filter(one => {
  const box = one.getBoundingClientRect();
  return box.width && one.textContent.trim() && !one.closest(".visually-hidden")
    && (box.right + scrollX <= 0 || box.bottom + scrollY <= 0);
}).map(one => one.className + ": " + one.textContent.trim().slice(0, 40))"""
_OVERFLOW = "document.documentElement.scrollWidth - innerWidth"
