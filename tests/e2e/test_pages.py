"""The pages for users do what they say, word for word, against one development server."""

from __future__ import annotations

from pathlib import Path

import pytest

from infra import ROOT
from tests.e2e.checkout import Dev
from tests.e2e.pages import pattern, run_page, trimmed

PAGES = [ROOT / "docs/quickstart.md", *sorted((ROOT / "docs/howto").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_does_what_it_says(dev: Dev, page: Path) -> None:
    assert run_page(page, dev) >= 3


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
