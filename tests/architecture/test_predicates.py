"""A predicate never acts: a function whose name is a question changes nothing and writes nothing."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from tests.architecture.sources import ROOT, shipped, tree

QUESTION = re.compile(r"_?(is|has|may|can|needs|knows|was|owes)_")
#: Methods and functions that write, send, or change what they are called on.
VERBS = {
    *("absorb", "add", "append", "apply_plan", "clear", "delete", "discard", "drop", "end", "extend", "fail"),
    *("failing", "forget", "lease", "note", "owe", "pop", "put", "put_new", "record", "release", "remove", "replace"),
    *("replace_all", "save", "send", "send_back", "setdefault", "stop", "update", "write"),
}
#: Calls of the same names that make a new value.
MAKERS = {"msgspec.structs"}


def acts(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    """The places where a function changes something that is not its own."""
    own = {node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    for node in ast.walk(function):
        match node:
            case ast.Attribute(ctx=ast.Store() | ast.Del()) | ast.Subscript(ctx=ast.Store() | ast.Del()):
                changed: ast.expr = node
            case ast.Call(func=ast.Attribute(value=on, attr=name)) if name in VERBS and ast.unparse(on) not in MAKERS:
                changed = on
            case ast.Call(func=ast.Name(id=name)) if name in VERBS:
                changed = node.func
            case _:
                continue
        if _root(changed) not in own:
            yield ast.unparse(node)


def _root(changed: ast.expr) -> str:
    while isinstance(changed, ast.Attribute | ast.Subscript | ast.Call):
        changed = changed.func if isinstance(changed, ast.Call) else changed.value
    return ast.unparse(changed)


def asked_in(module: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """The functions of a module whose names are questions."""
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and QUESTION.match(node.name):
            yield node


def test_no_predicate_acts() -> None:
    faults = [
        f"{path.relative_to(ROOT)}:{function.lineno} {function.name}: {act}"
        for path in shipped()
        for function in asked_in(tree(path))
        for act in acts(function)
    ]
    assert faults == []


@pytest.mark.parametrize("line", ["self.at = 1", "del self.rows[0]", "batch.report.fail(item)", "replace(world, item)"])
def test_the_rule_sees_what_acts(line: str) -> None:
    (function,) = asked_in(ast.parse(f"def is_late(self):\n    {line}\n    return True"))
    assert list(acts(function)) != []


@pytest.mark.parametrize("line", ["found.append(1)", "found[0] = 1", "msgspec.structs.replace(found, at=1)"])
def test_the_rule_lets_a_predicate_fill_what_is_its_own(line: str) -> None:
    (function,) = asked_in(ast.parse(f"def is_late(self):\n    found = []\n    {line}\n    return True"))
    assert list(acts(function)) == []
