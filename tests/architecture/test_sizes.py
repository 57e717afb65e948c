"""Sizes: no file is too long to read in one go, each handler is read in a minute, and no record has too many fields."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args, get_type_hints

import msgspec

from clockwork.domain.executions import Awaited, Claimed, Execution, Kept, Report
from clockwork.domain.jobs import Occurrence
from clockwork.domain.policies import Budget
from clockwork.domain.releases import Check, Deliver, Of, Travels, Watch
from clockwork.domain.waits import Parking, Waiting, Waits
from tests.architecture.sources import CORE, ROOT, shipped

LONGEST_FILE = 300
#: The registry of targets writes it, and nobody reads it in one go (`tests/support/generated.py`).
WRITTEN = ROOT / "sdk/python/clockwork_client/targets.py"
LONGEST_HANDLER = 60
LONGEST_PAGE_OF_FIGURES = 400
#: A struct with more fields has parts that belong together, and that are left over in states that do not have them.
MOST_FIELDS = 18


def test_no_file_is_long() -> None:
    read = [path for path in shipped() if path != WRITTEN]
    lengths = {path.relative_to(ROOT): len(path.read_text(encoding="utf-8").splitlines()) for path in read}
    assert len(lengths) > 100
    assert {path: length for path, length in lengths.items() if length >= LONGEST_FILE} == {}


def test_the_page_of_figures_is_read_in_one_go() -> None:
    """The benches write into it: a table that grows takes the place of another."""
    page = (ROOT / "docs/performance.md").read_text(encoding="utf-8")
    assert len(page.splitlines()) <= LONGEST_PAGE_OF_FIGURES


def test_each_moment_has_a_short_handler_and_nothing_else() -> None:
    entries = sorted((ROOT / "lambdas").rglob("*.py"))
    assert [path.name for path in entries] == ["handler.py"] * 7
    handlers = [path for path in (CORE / "clockwork/handlers").glob("*.py") if path.name != "__init__.py"]
    assert {path.stem for path in handlers} == {path.parent.name for path in entries}
    for path in handlers:
        assert len(path.read_text(encoding="utf-8").splitlines()) < LONGEST_HANDLER, path


def structs_in(kind: Any) -> Iterator[type[msgspec.Struct]]:
    """The structs of a type: its own, and those of its parts."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        yield kind
        for field in get_type_hints(kind).values():
            yield from structs_in(field)
    for one in get_args(kind):
        yield from structs_in(one)


def test_a_record_a_message_and_their_parts_have_few_fields() -> None:
    found = {one for kind in (Execution, Deliver, Watch, Check) for one in structs_in(kind)}
    assert found >= {Claimed, Awaited, Report, Kept, Budget, Waiting, Parking, Occurrence, Of, Waits, Travels}
    assert {one.__name__: len(one.__struct_fields__) for one in found if len(one.__struct_fields__) > MOST_FIELDS} == {}
