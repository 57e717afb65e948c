"""docs/concepts.md: its states, arrows and words are those of the code, of the API and of the architecture's pages."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from clockwork.domain.executions import State
from clockwork.domain.named_jobs import JobState
from infra import ROOT

PAGE = (ROOT / "docs/concepts.md").read_text(encoding="utf-8")
STATES = (ROOT / "docs/architecture/states.md").read_text(encoding="utf-8")
API: dict[str, Any] = json.loads((ROOT / "docs/openapi.json").read_text(encoding="utf-8"))
_ARROW = re.compile(r"^ +(\[\*\]|\w+) --> (\[\*\]|\w+)", re.MULTILINE)
_WORD = re.compile(r"^\| \*\*(.+?)\*\* \| `(.+?)` \| .+ \|$", re.MULTILINE)


def section(page: str, title: str) -> str:
    found = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


def drawn(text: str) -> set[str]:
    return {state for arrow in _ARROW.findall(text) for state in arrow if state not in ("[*]", "execution")}


def names_of(described: Any) -> set[str]:
    """Every path, field and parameter of the API's description."""
    if isinstance(described, list):
        return {name for one in described for name in names_of(one)}
    if not isinstance(described, dict):
        return set()
    names = {*described} | ({described["name"]} if isinstance(described.get("name"), str) else set())
    return names.union(*(names_of(one) for one in described.values()))


@pytest.mark.parametrize("title", ["An execution", "A job"])
def test_an_arrow_of_the_page_is_one_of_the_architecture(title: str) -> None:
    ours, theirs = _ARROW.findall(section(PAGE, title)), _ARROW.findall(section(STATES, title))
    assert len(ours) >= 10
    assert [arrow for arrow in ours if arrow not in theirs] == []


def test_every_state_is_drawn_and_explained_and_no_other() -> None:
    execution, job = section(PAGE, "An execution"), section(PAGE, "A job")
    assert drawn(execution) == set(re.findall(r"^\| `(\w+)` \|", execution, re.MULTILINE)) == set(State)
    assert drawn(job) == {"SCHEDULED", "RELEASED", *JobState}
    assert set(re.findall(r"^\| `(\w+)` \|", job, re.MULTILINE)) == set(JobState)


def test_every_word_is_in_the_api_and_stands_once_in_order() -> None:
    words = _WORD.findall(section(PAGE, "Words"))
    assert len(words) == section(PAGE, "Words").count("\n| **") >= 25
    assert [word for word, _ in words] == sorted({word for word, _ in words})
    known = names_of(API)
    assert [name for _, name in words if name not in known] == []


def test_every_term_of_the_text_is_one_of_its_words() -> None:
    words = {word for word, _ in _WORD.findall(PAGE)} | {"at least once"}
    assert set(re.findall(r"\*\*(.+?)\*\*", PAGE)) <= words


def test_a_word_that_the_architecture_has_too_is_no_other_there() -> None:
    terms = set(re.findall(r"^\| \*\*(.+?)\*\* \|", (ROOT / "docs/architecture/glossary.md").read_text(), re.MULTILINE))
    assert {word for word, _ in _WORD.findall(PAGE)} - terms == {"payload", "signing secret", "tag"}


def test_what_does_not_exist_would_be_found() -> None:
    assert _ARROW.findall("    A --> B: x\n    [*] --> C\n") == [("A", "B"), ("[*]", "C")]
    assert names_of({"paths": {"/x": [{"name": "limit"}]}}) == {"paths", "/x", "name", "limit"}
    assert "retryPolicies" not in names_of(API)
