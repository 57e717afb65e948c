"""docs/howto/local-tests.md: its files and commands, word for word, where no server runs."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from infra import ROOT
from tests.e2e.pages import run_page

PAGE = ROOT / "docs/howto/local-tests.md"


def test_the_page_does_what_it_says(tmp_path: Path) -> None:
    for name in (".venv", "pyproject.toml"):  # as in a checkout
        (tmp_path / name).symlink_to(ROOT / name)
    alone: Any = SimpleNamespace(
        checkout=SimpleNamespace(folder=tmp_path, environment={**os.environ}), running=SimpleNamespace(said="")
    )
    assert run_page(PAGE.read_text(encoding="utf-8"), alone) == 4
