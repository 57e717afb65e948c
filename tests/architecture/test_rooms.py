"""The rooms (folders) of the core: the order in which they may import each other, and the most files in a room."""

from __future__ import annotations

from pathlib import Path

import pytest

from clockwork.targets.registry import TARGETS
from tests.architecture.sources import CORE, imports

PACKAGE = CORE / "clockwork"
#: A room that holds more has more than one reason to exist.
MOST_FILES = 15
#: The files and rooms of the types of targets.
TYPES = tuple({target.__module__.split(".")[2] for target in TARGETS})
#: Part of the core -> its entries (rooms, or files at its root), from the outermost to the innermost. An entry may
#: import entries of later lines, never those of its own line or of an earlier one.
ORDER: dict[str, tuple[tuple[str, ...], ...]] = {
    "flows": (
        ("pools", "ends"),
        ("sweep",),
        ("operations",),
        ("requests",),
        ("deliver", "poll", "named"),
        ("workflows",),
        ("graces",),
        ("timeline", "deaths", "skipped", "access", "idempotency", "activity"),
        ("records", "overlaps"),
        ("trail",),
        ("outages", "apart", "check_keys", "hardening"),
        ("world",),
        ("containment", "sealing"),
    ),
    "domain": (
        ("limits", "named", "runs", "ends"),
        ("lifecycle",),
        ("fires", "storage"),
        ("requests", "messages"),
        ("named_jobs",),
        ("ordering",),
        ("releases",),
        ("closings", "ids"),
        ("clients", "executions", "pools"),
        ("jobs", "recurrence", "timeline"),
        ("cron", "workflows"),
        ("errors", "instants", "keys", "policies", "waits"),
    ),
    "targets": (
        ("registry",),
        TYPES,
        ("text",),
        ("service",),
        ("target", "web"),
        ("message",),
    ),
    "edge": (
        ("ingestion", "app"),
        ("late",),
        ("description",),
        ("operations",),
        ("responses",),
        ("requests",),
        ("http",),
    ),
}


def entry_of(module: str, part: str) -> str | None:
    """The entry of a part of the core that a module belongs to; None if it is no module of that part."""
    names = module.split(".")
    return names[2] if names[:2] == ["clockwork", part] and len(names) > 2 else None


def ties(part: str) -> set[tuple[str, str]]:
    """Pairs of entries of a part: the first of the pair imports the second."""
    found: set[tuple[str, str]] = set()
    for path in sorted((PACKAGE / part).rglob("*.py")):
        own = path.relative_to(PACKAGE / part).parts[0].removesuffix(".py")
        others = {entry_of(one.name, part) for one in imports(path)} - {None, own}
        found |= {(own, other) for other in others if other is not None}
    return found


def wrong_ties(found: set[tuple[str, str]], order: tuple[tuple[str, ...], ...]) -> list[tuple[str, str]]:
    """The imports that do not point inward."""
    floor = {entry: number for number, entries in enumerate(order) for entry in entries}
    return sorted((own, other) for own, other in found if floor[own] >= floor[other])


@pytest.mark.parametrize("part", ORDER)
def test_every_entry_has_its_floor(part: str) -> None:
    entries = {path.stem for path in (PACKAGE / part).iterdir() if path.suffix in ("", ".py")}
    assert entries - {"__init__", "__pycache__"} == {entry for entries in ORDER[part] for entry in entries}


@pytest.mark.parametrize("part", ORDER)
def test_rooms_import_inward_only(part: str) -> None:
    assert wrong_ties(ties(part), ORDER[part]) == []


def modules_below(folder: Path) -> list[Path]:
    """The Python files of a room itself, without its docstring's file."""
    return [path for path in folder.glob("*.py") if path.name != "__init__.py"]


def test_no_room_is_crowded() -> None:
    rooms = {path.parent for path in PACKAGE.rglob("*.py")}
    sizes = {str(room.relative_to(PACKAGE)): len(modules_below(room)) for room in rooms}
    assert len(sizes) > 20
    assert {room: size for room, size in sizes.items() if size > MOST_FILES} == {}


def test_every_room_says_what_it_is_for() -> None:
    rooms = {path.parent for path in PACKAGE.rglob("*.py")}
    silent = [room for room in rooms if not (room / "__init__.py").read_text(encoding="utf-8").startswith('"""')]
    assert silent == []


def test_the_order_is_seen_to_be_broken() -> None:
    assert wrong_ties({("timeline", "sweep"), ("sweep", "timeline")}, ORDER["flows"]) == [("timeline", "sweep")]
    assert wrong_ties({("requests", "sweep")}, ORDER["flows"]) == [("requests", "sweep")]
