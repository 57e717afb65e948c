"""The page of decisions stays short, and each reference to a decision leads to one."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from tests.architecture.sources import ROOT

PAGE = ROOT / "docs/decisions.md"
MOST_ENTRIES, MOST_WORDS, MOST_COLUMNS = 80, 120, 120
#: Files and folders whose text may refer to decisions: the pages, the product, and its tests.
REFERRING = ("*.md", "*.py", "docs", "layers", "sdk", "infra", "local", "rollout", "lambdas", "bench", "tests")
_ENTRY = re.compile(r"^### D(\d+)\. ([^\n]+)\n(.*?)(?=^##|\Z)", re.MULTILINE | re.DOTALL)
_REFERENCE = re.compile(r"\bD(\d{1,3})\b")


class Entry(NamedTuple):
    """A decision."""

    number: int
    title: str
    text: str


def entries(page: str) -> list[Entry]:
    return [Entry(int(number), title, text) for number, title, text in _ENTRY.findall(page)]


def too_long(page: str) -> list[tuple[int, int]]:
    """(number, words) of the entries with more than 120 words."""
    counted = [(entry.number, len(entry.text.split())) for entry in entries(page)]
    return [(number, words) for number, words in counted if words > MOST_WORDS]


def dangling(path: Path, text: str, known: set[int]) -> list[str]:
    """The references of a file to decisions that the page does not have. Codes of the linter are none."""
    lines = [(at, line.partition("# noqa")[0]) for at, line in enumerate(text.splitlines(), 1)]
    found = [(at, int(number)) for at, line in lines for number in _REFERENCE.findall(line)]
    return [f"{path.relative_to(ROOT)}:{at}: D{number}" for at, number in found if number not in known]


def files() -> list[Path]:
    found = [one for pattern in REFERRING for one in ROOT.glob(pattern)]
    inside = [path for one in found for path in ([one] if one.is_file() else one.rglob("*"))]
    return [path for path in inside if path.suffix in (".md", ".py") and path != Path(__file__)]


def test_the_page_has_few_entries_and_each_is_short() -> None:
    page = PAGE.read_text(encoding="utf-8")
    numbers = [entry.number for entry in entries(page)]
    assert 40 <= len(numbers) <= MOST_ENTRIES
    assert page.count("\n### ") == len(numbers) == len(set(numbers))
    assert too_long(page) == []
    assert [line for line in page.splitlines() if len(line) > MOST_COLUMNS] == []


def test_each_entry_has_a_rule_a_reason_and_a_subject() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for entry in entries(page):
        labels = re.findall(r"^- (\w+): ", entry.text, re.MULTILINE)
        assert labels == [label for label in ("Rule", "Why", "Rejected", "Price") if label in labels], entry.title
        assert labels[:2] == ["Rule", "Why"], entry.title
    # Each entry stands below a subject.
    assert page.index("\n## ") < page.index("\n### ")


def test_each_reference_to_a_decision_leads_to_one() -> None:
    known = {entry.number for entry in entries(PAGE.read_text(encoding="utf-8"))}
    looked_at = files()
    assert len(looked_at) > 500
    assert [one for path in looked_at for one in dangling(path, path.read_text(encoding="utf-8"), known)] == []


def test_faults_of_the_page_would_be_found() -> None:
    page = "## A\n\n### D1. A\n\n- Rule: " + "word " * 120 + "\n\n### D2. B\n\n- Rule: B.\n\n## C\n\n### D3. C\n\nC.\n"
    assert [(entry.number, entry.title) for entry in entries(page)] == [(1, "A"), (2, "B"), (3, "C")]
    assert too_long(page) == [(1, 122)]
    text = "See D1, (D4) and [D5](decisions.md#d5-x).\nA D5000, # noqa: D203\n"
    assert dangling(ROOT / "README.md", text, {1, 2, 3}) == ["README.md:1: D4", "README.md:1: D5"]
