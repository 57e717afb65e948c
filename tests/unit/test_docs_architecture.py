"""The pages of docs/architecture name code that exists, and answer a stranger's questions at once."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from infra import ROOT
from tests.support import states

ARCHITECTURE = ROOT / "docs/architecture"
CORE = ROOT / "layers/core/python/clockwork"
#: Pages that explain no mechanism, and so have neither its five lines nor its failures.
OVERVIEWS = {"README.md", "states.md", "glossary.md"}
PAGES = sorted(ARCHITECTURE.glob("*.md"))
MECHANISMS = [path for path in PAGES if path.name not in OVERVIEWS]
#: The questions that the index must answer.
QUESTIONS = (
    "A job comes due",
    "A job is cancelled",
    "A job fails",
    "A job is redriven",
    "Many are changed at once",
    "A client is paused",
    "A named job is changed",
    "A shard lost its poller",
    "A worker dies",
    "A zone's rules change",
    "A cap is lowered",
    "A stored item cannot be read",
)
#: The answer stands within this many lines below the title of its page, or of its section.
LINES_OF_AN_ANSWER = 10
#: How every mechanism's page begins, after its answer.
OPENING = ("Who", "When", "Reads and writes", "Promise", "When it fails")
DIAGRAMS = ("sequenceDiagram", "flowchart ", "stateDiagram-v2")
#: Words that the pages no longer use, so that one word stands for one thing.
GIVEN_UP = re.compile(r"\b(sidelined?|lets? go|letting go|valve|settles?|settled|standing)\b")
#: `file.py: name`: a file below the core package, and a function, a class or a Class.method in it.
_NAMED = re.compile(r"`([\w/]+\.py): ([\w.]+)`")
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@cache
def defined_in(file: str) -> set[str]:
    """The functions, classes and methods that a file of the core defines; none if there is no such file."""
    path = CORE / file
    if not path.is_file():
        return set()
    names = set()
    for node in ast.parse(text_of(path)).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        if isinstance(node, ast.ClassDef):
            names |= {f"{node.name}.{one.name}" for one in node.body if isinstance(one, ast.FunctionDef)}
    return names


def answers() -> dict[str, tuple[str, list[tuple[str, str]]]]:
    """By question of the table at the head of the index: the place, and the code (file, name) that answers it.

    A place is a page, or a page, `#` and a section. Pages elsewhere, as CONTRIBUTING.md, are left out.
    """
    rows = {}
    for line in text_of(ARCHITECTURE / "README.md").splitlines()[1:]:
        if line.startswith("|"):
            question, page, code = (cell.strip() for cell in line.strip("|").split("|"))
            linked = re.fullmatch(r"\[([\w-]+\.md)\]\((\1(?:#[\w-]+)?)\)", page)
            if linked is not None:
                rows[question] = (linked[2], _NAMED.findall(code))
        elif rows:
            break
    return rows


def top_of(place: str) -> str:
    """The first lines of a page, or of the section that a place names behind `#`. Empty without such a section."""
    page, _, section = place.partition("#")
    lines = text_of(ARCHITECTURE / page).splitlines()
    titles = [number for number, line in enumerate(lines) if _slug(line) == section] if section else [0]
    return "\n".join(lines[titles[0] + 1 : titles[0] + 1 + LINES_OF_AN_ANSWER]) if titles else ""


def _slug(line: str) -> str:
    """The anchor of a heading; empty for another line."""
    return re.sub(r"[^\w\- ]", "", line.lstrip("# ")).lower().replace(" ", "-") if line.startswith("## ") else ""


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
class TestEveryPage:
    def test_names_code_that_exists(self, path: Path) -> None:
        named = _NAMED.findall(text_of(path))
        assert [f"{file}: {name}" for file, name in named if name not in defined_in(file)] == []

    def test_keeps_to_the_words(self, path: Path) -> None:
        assert GIVEN_UP.findall(text_of(path)) == []

    def test_draws_with_what_github_knows(self, path: Path) -> None:
        drawn = [body for language, body in _FENCE.findall(text_of(path)) if language == "mermaid"]
        assert [body for body in drawn if not body.startswith(DIAGRAMS)] == []


@pytest.mark.parametrize("path", MECHANISMS, ids=lambda path: path.name)
class TestEveryMechanism:
    def test_opens_with_its_five_lines_and_a_diagram(self, path: Path) -> None:
        opening = text_of(path).partition("\n## ")[0]
        assert tuple(re.findall(r"^- \*\*([\w ]+):\*\*", opening, re.MULTILINE)) == OPENING
        assert opening.count("```mermaid\n") == 1

    def test_names_its_code_before_anything_else(self, path: Path) -> None:
        assert _NAMED.search("\n".join(text_of(path).splitlines()[1 : 1 + LINES_OF_AN_ANSWER])) is not None

    def test_goes_in_steps_and_ends_with_its_failures(self, path: Path) -> None:
        text = text_of(path)
        assert re.search(r"^1\. ", text, re.MULTILINE) is not None
        last = text.rpartition("\n## ")[2]
        assert last.startswith("When it fails\n\n| failure | consequence |\n|---|---|\n| ")


def test_the_index_begins_with_the_questions() -> None:
    assert tuple(answers()) == QUESTIONS
    assert text_of(ARCHITECTURE / "README.md").splitlines()[2] == "| question | page | file and function |"


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_is_answered_at_the_top_of_its_page(question: str) -> None:
    place, code = answers()[question]
    assert code != []
    top = top_of(place)
    assert f"**{question}:**" in top
    assert [one for one in code if one not in _NAMED.findall(top)] == []


@pytest.mark.parametrize("path", [*PAGES, ROOT / "docs/operations.md"], ids=lambda path: path.name)
def test_log_actions_are_those_of_the_code(path: Path) -> None:
    written = {action for file in CORE.rglob("*.py") for action in re.findall(r'"action": "(\w+)"', text_of(file))}
    assert len(written) > 20
    assert [action for action in re.findall(r"\baction `(\w+)`", text_of(path)) if action not in written] == []


def test_the_page_of_states_has_the_transitions_of_the_code() -> None:
    page = text_of(states.PAGE)
    assert page == states.written(page), "run `python -m tests.support.states`"
    assert states.written(page.replace("claim", "klaim")).count("claim") > 10


def test_no_place_answers_two_questions() -> None:
    assert len({place for place, _ in answers().values()}) == len(QUESTIONS)


def test_the_index_tells_where_code_is_added() -> None:
    assert "| Where is code added | [CONTRIBUTING.md](../../CONTRIBUTING.md#where-code-goes) |" in text_of(
        ARCHITECTURE / "README.md"
    )
    assert "\n## Where code goes\n" in text_of(ROOT / "CONTRIBUTING.md")


def test_the_index_leads_to_every_page() -> None:
    index = text_of(ARCHITECTURE / "README.md")
    assert [path.name for path in PAGES if path.name != "README.md" and f"]({path.name})" not in index] == []


def test_the_glossary_has_every_term_once_and_in_order() -> None:
    terms = [term.lower() for term in re.findall(r"^\| \*\*(.+?)\*\* \|", text_of(ARCHITECTURE / "glossary.md"), re.M)]
    assert len(terms) > 50
    assert terms == sorted(set(terms))


#: Words that the pages of the architecture stress without making a term of them.
STRESSED = {
    "before",
    "deliver this payload to that target at that time",
    "given up",
    "level",
    "never early",
    "now",
    "one",
    "others",
    "same",
    "slow",
    "stored",
}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_what_a_page_sets_in_italics_is_a_term_of_the_glossary(path: Path) -> None:
    terms = set(re.findall(r"^\| \*\*(.+?)\*\* \|", text_of(ARCHITECTURE / "glossary.md"), re.M))
    text = _FENCE.sub("", text_of(path))
    italics = {word.lower() for word in re.findall(r"(?<![\w*])\*([A-Za-z][\w -]*?)\*(?![\w*])", text)}
    assert {word for word in italics if word not in terms and word.removesuffix("s") not in terms} <= STRESSED


def test_what_is_looked_for_would_be_found() -> None:
    assert "cancel_job" in defined_in("flows/requests/cancel.py")
    assert "ClientApi.pause_client" in defined_in("edge/operations/clients.py")
    assert defined_in("flows/requests/no_such_file.py") == set()
    assert top_of("named-jobs.md#no-such-section") == ""
    assert top_of("named-jobs.md#new-rules-of-a-time-zone").startswith("\n**A zone's rules change:**")
    assert GIVEN_UP.findall("parked work is let go; the valve; it settles") == ["let go", "valve", "settles"]
