"""Sizes: no file is too long to read in one go, and each handler is short enough to read in a minute."""

from __future__ import annotations

from tests.architecture.sources import CORE, ROOT, shipped

LONGEST_FILE = 300
LONGEST_HANDLER = 60


def test_no_file_is_long() -> None:
    lengths = {path.relative_to(ROOT): len(path.read_text(encoding="utf-8").splitlines()) for path in shipped()}
    assert len(lengths) > 100
    assert {path: length for path, length in lengths.items() if length >= LONGEST_FILE} == {}


def test_each_moment_has_a_short_handler_and_nothing_else() -> None:
    entries = sorted((ROOT / "lambdas").rglob("*.py"))
    assert [path.name for path in entries] == ["handler.py"] * 6
    handlers = [path for path in (CORE / "clockwork/handlers").glob("*.py") if path.name != "__init__.py"]
    assert {path.stem for path in handlers} == {path.parent.name for path in entries}
    for path in handlers:
        assert len(path.read_text(encoding="utf-8").splitlines()) < LONGEST_HANDLER, path
