"""docs/howto/local-tests.md: its files and commands, word for word, where no server runs."""

from __future__ import annotations

from pathlib import Path

from infra import ROOT
from tests.dev.pages import run_alone


def test_the_page_does_what_it_says(tmp_path: Path) -> None:
    assert run_alone(ROOT / "docs/howto/local-tests.md", tmp_path) == 7
