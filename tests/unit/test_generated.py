"""The files that are made of the registry of targets are what `make openapi` would write."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.generated import files

FILES = files()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_it_is_as_it_would_be_written(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == FILES[path]
