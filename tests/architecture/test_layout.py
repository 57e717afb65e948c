"""The layout in docs/architecture/README.md names every folder, and no folder that does not exist."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

from tests.architecture.sources import CORE, ROOT, SDK

PAGE = ROOT / "docs/architecture/README.md"
#: The trees of the page in their order: the root of each.
ROOTS = (ROOT, CORE / "clockwork", SDK / "clockwork_client")
#: Folders whose own folders the layout does not list.
CLOSED = {"lambdas", "examples", "bench", "docs", "sdk", "rollout"}
_NAME = re.compile(r"[\w-]+(?:/|\.py)")


def trees(page: str) -> list[list[str]]:
    """The lines of each tree of the section."""
    section = page.partition("\n## Layout\n")[2].partition("\n## ")[0]
    return [block.splitlines() for block in re.findall(r"^```\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)]


def listed(lines: list[str]) -> dict[str, set[str]]:
    """By folder ("" for the root) the names that a tree lists in it. A name stands before two blanks."""
    found: dict[str, set[str]] = defaultdict(set)
    parents = ""
    for line in lines:
        names = re.split(r"\s{2,}", line.strip())[0].split()
        assert all(_NAME.fullmatch(name) for name in names), line
        if line.startswith("    "):
            found[parents] |= set(names)
        else:
            found[""] |= set(names)
            parents = names[-1].removesuffix("/")
    return found


def folders_in(root: Path) -> set[str]:
    """The folders of a folder with a Python file or a page below them, but for what git ignores."""
    ignored = {line.strip("/\n") for line in (ROOT / ".gitignore").read_text().splitlines()}
    inside = [path for path in root.iterdir() if path.is_dir() and path.name not in ignored and path.name[0] != "."]
    return {
        f"{path.name}/" for path in inside if any(file.suffix in (".py", ".md", ".txt") for file in path.rglob("*"))
    }


def test_the_layout_names_every_folder_and_no_other() -> None:
    found = trees(PAGE.read_text(encoding="utf-8"))
    assert len(found) == len(ROOTS)
    for root, lines in zip(ROOTS, found, strict=True):
        names = listed(lines)
        assert {name for name in names[""] if name.endswith("/")} == folders_in(root)
        for folder in folders_in(root):
            name = folder.strip("/")
            own = set() if root == ROOT and name in CLOSED else folders_in(root / name)
            assert (name, names[name]) == (name, own)


def test_the_layout_names_the_files_at_the_root_of_the_core() -> None:
    names = listed(trees(PAGE.read_text(encoding="utf-8"))[1])[""]
    files = {path.name for path in (CORE / "clockwork").glob("*.py")} - {"__init__.py"}
    assert {name for name in names if name.endswith(".py")} == files


def test_a_name_that_is_missing_would_be_found() -> None:
    tree = ["a/       first", "    b/ c/     second", "d.py        third"]
    assert listed(tree) == {"": {"a/", "d.py"}, "a": {"b/", "c/"}}
    assert "architecture/" in folders_in(ROOT / "tests")
    assert "build/" not in folders_in(ROOT)
