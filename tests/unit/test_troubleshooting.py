"""docs/troubleshooting.md: each message that it explains is one that the code can say."""

from __future__ import annotations

import ast
import re
from functools import cache

import pytest

from infra import ROOT
from tests.architecture.sources import shipped, tree

PAGE = ROOT / "docs/troubleshooting.md"
_CELL = re.compile(r"^\| (`.*?) \|", re.MULTILINE)


def told(page: str) -> list[str]:
    """The messages in the first column of the page's tables."""
    return [message for cell in _CELL.findall(page) for message in re.findall(r"`([^`]+)`", cell)]


#: The words of commands, from the page for operators.
_OPERATIONS = (ROOT / "docs/operations.md").read_text(encoding="utf-8")
COMMANDS = _OPERATIONS.partition("### When a command says")[2].partition("\n## ")[0]
#: Words of CloudFormation, Lambda, the SDK and the checker of the schema, and names of resources and alarms.
OF_OTHERS = frozenset(
    {
        "... was unexpected",
        "must specify a region",
        "UPDATE_ROLLBACK_FAILED",
        "specified ReservedConcurrentExecutions for function decreases account's UnreservedConcurrentExecution",
        "already exists",
        "Received response status [FAILED]",
        "Clockwork-Release",
        "Clockwork-Release-N",
        "DelivererThrottles",
    }
)


@cache
def texts() -> frozenset[str]:
    """Every text in the shipped code, with `\\0` where a value comes in; docstrings are not said to anybody."""
    return frozenset(text for path in shipped() for text in texts_of(tree(path)))


def texts_of(module: ast.Module) -> list[str]:
    nodes = list(ast.walk(module))
    docs = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    parts = {id(value) for node in nodes if isinstance(node, ast.JoinedStr) for value in node.values}
    found = []
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            found.append("".join(one.value if isinstance(one, ast.Constant) else "\0" for one in node.values))  # type: ignore[misc]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs | parts:
            found.append(re.sub(r"%[sd]|\{\w+\}", "\0", node.value))
    return found


def is_said(message: str, said: frozenset[str]) -> bool:
    """Whether one text holds all of a message: `...` is a value, or the rest of the text."""
    wanted = "(?:\0|$|.*?)".join(re.escape(part) for part in message.split("..."))
    return any(re.search(wanted, text, re.DOTALL) for text in said)


@pytest.mark.parametrize("message", told(PAGE.read_text(encoding="utf-8")))
def test_a_message_of_the_page_is_one_of_the_code(message: str) -> None:
    assert len(re.sub(r"[.\W]", "", message)) >= 12  # long enough to be that message
    assert is_said(message, texts())


def test_no_message_is_explained_twice() -> None:
    messages = told(PAGE.read_text(encoding="utf-8"))
    assert len(messages) > 40
    assert len(set(messages)) == len(messages)


@pytest.mark.parametrize("message", told(COMMANDS))
def test_a_message_of_a_command_is_one_of_the_code_or_of_those_behind_it(message: str) -> None:
    assert is_said(message, texts()) != (message in OF_OTHERS)


def test_what_the_code_does_not_say_would_be_found() -> None:
    said = frozenset(texts_of(ast.parse('"""A doc."""\nlog("gave %s up", f"no {x} of {y} came")')))
    assert is_said("no ... of ... came", said)
    assert is_said("gave ... up", said)
    assert not is_said("no ... for ... came", said)
    assert not is_said("A doc.", said)
    assert told("| `a` or `b` | `c` |\n|---|\n| plain | `d` |\n") == ["a", "b"]
