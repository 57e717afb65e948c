"""The examples that bring tests of their own: their pages, word for word, in a copy of their folder.

tests/dev/test_pages.py runs the others beside a development server.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from infra import ROOT
from tests.dev.pages import run_alone
from tests.dev.test_pages import EXAMPLES_ALONE

EXAMPLES = ROOT / "examples"


@pytest.mark.nightly
@pytest.mark.parametrize("page", EXAMPLES_ALONE, ids=lambda page: page.parent.name)
def test_an_example_does_what_its_page_says(page: Path, tmp_path: Path) -> None:
    shutil.copytree(page.parent, tmp_path / "examples" / page.parent.name)
    assert run_alone(page, tmp_path) == 2


def test_there_are_five_examples_small_and_with_a_page_each() -> None:
    folders = [path for path in EXAMPLES.iterdir() if path.is_dir() and any(path.glob("*.py"))]
    assert len(folders) >= 5
    for folder in folders:
        assert len((folder / "README.md").read_text(encoding="utf-8").splitlines()) <= 60
        programs = [path for path in folder.glob("*.py") if not path.name.startswith("test_")]
        assert [path for path in programs if len(path.read_text(encoding="utf-8").splitlines()) > 120] == []
