"""The pages for users do what they say, word for word, against one development server."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from infra import ROOT
from tests.dev.checkout import Dev
from tests.dev.pages import await_shown, pattern, run_page, shown, trimmed

CAMPAIGN = ROOT / "examples/campaign/README.md"
#: Pages about an AWS account (`tests/unit/test_docs_ci.py`), and about a server with a broker (`test_kafka_page.py`).
#: Those about the console and the outbox have their programs in `test_page_programs.py`.
ELSEWHERE = {ROOT / "docs/howto" / page for page in ("ci.md", "console.md", "kafka.md", "outbox.md")}
#: Pages of examples with tests of their own, which tests/sdk/test_examples.py runs.
EXAMPLES_ALONE = sorted({path.with_name("README.md") for path in (ROOT / "examples").glob("*/test_*.py")})
_EXAMPLES = {*(ROOT / "examples").glob("*/README.md")} - {CAMPAIGN, *EXAMPLES_ALONE}
_HOWTO = {*(ROOT / "docs/howto").glob("*.md")} - ELSEWHERE
_QUICKSTART = ROOT / "docs/quickstart.md"
PAGES = [_QUICKSTART, *sorted(_HOWTO), *sorted(_EXAMPLES)]
_TURNS = [_QUICKSTART, *(pytest.param(page, marks=pytest.mark.nightly) for page in PAGES[1:])]


@pytest.mark.parametrize("page", _TURNS, ids=lambda page: f"{page.parent.name}/{page.stem}")
def test_a_page_does_what_it_says(dev: Dev, page: Path) -> None:
    assert run_page(page.read_text(encoding="utf-8"), dev) >= 2


@pytest.mark.nightly
def test_a_campaign_that_is_sent_again_arrives_once(dev: Dev) -> None:
    run_page(CAMPAIGN.read_text(encoding="utf-8"), dev)
    time.sleep(3)  # longer than a second set of jobs would wait
    names = re.findall(r'/campaign  .*\{"to":"(.*)"\}', shown(dev))
    assert sorted(names) == sorted(f"name-{number}" for number in range(1, 11))


def test_the_first_jobs_of_the_readme_arrive_by_command_line_curl_and_client(dev: Dev) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    seen = len(shown(dev))
    run_page(text[text.index("## A first job") : text.index("## How it works")], dev)
    printed = dev.shell(".venv/bin/python first.py")
    assert printed.split()[1].startswith("2")
    body = '{"order":17}'
    await_shown(
        dev, seen, f"/by-curl  answered 200  attempt 1, ...  {body}\n/by-python  answered 200  attempt 1, ...  {body}"
    )


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 150


@pytest.mark.parametrize(
    ("told", "printed", "fits"),
    [
        ("a ... c\n", "a b c  \n", True),
        ("a ... c\n", "a b c d\n", False),
        ("a\n", "a\nb\n", False),
        ("a\n...\nb\n", "a\n1\n2\nb\n", True),
        ("a\n...\n", "a\n", True),
        ("a  b\n", "a      b\n", True),
        ("a  b\n", "a b\n", False),
        ("a.b\n", "axb\n", False),
        ("a\nb\n", "a\n", False),
    ],
)
def test_a_page_is_read_to_the_letter(told: str, printed: str, fits: bool) -> None:
    assert bool(pattern(told).fullmatch(trimmed(printed))) is fits
