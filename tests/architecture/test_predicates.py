"""A predicate never acts: a function whose name is a question changes nothing and writes nothing."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from tests.architecture.sources import ROOT, shipped, tree

QUESTION = re.compile(r"_?(is|has|may|can|needs|knows|was|owes)_")
#: First words of methods and functions that write, send, or change what they are called on.
VERBS = {
    *("absorb", "add", "append", "apply", "clear", "commit", "confirm", "delete", "discard", "drop", "end", "extend"),
    *("fail", "failing", "flush", "forget", "hide", "hold", "keep", "lease", "note", "owe", "pop", "put", "record"),
    *("redirect", "release", "remove", "renew", "save", "send", "setdefault", "settle", "stop", "store", "take", "try"),
    *("update", "write"),
}
#: `replace` of a text or of a struct makes a new value; the one of flows/records.py writes.
WRITES = {"replace", "replace_all"}
NEW = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)


def acts(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    """The places where a function changes something that it has not made itself."""
    own = set(_made(function))
    for node in ast.walk(function):
        match node:
            case ast.Attribute(ctx=ast.Store() | ast.Del()) | ast.Subscript(ctx=ast.Store() | ast.Del()):
                changed: ast.expr = node
            case ast.Call(func=ast.Attribute(value=on, attr=name)) if _is_verb(name):
                changed = on
            case ast.Call(func=ast.Name(id=name)) if name in WRITES or _is_verb(name):
                changed = node.func
            case _:
                continue
        if _root(changed) not in own:
            yield ast.unparse(node)


def _is_verb(name: str) -> bool:
    return name.lstrip("_").split("_")[0] in VERBS and not name.endswith("_of")


def _made(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    """The names that are bound to new collections."""
    for node in ast.walk(function):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if isinstance(value, NEW):
                yield name
            case ast.AnnAssign(target=ast.Name(id=name), value=value) if isinstance(value, NEW):
                yield name


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


@pytest.mark.parametrize(
    "line",
    [
        *("self.at = 1", "del self.rows[0]", "batch.report.fail(item)", "replace(world, item)", "_write_end(item)"),
        *("lease = self.lease; lease.at = 1", "for one in self.rows: one.left = True", "item.left = True; item = None"),
    ],
)
def test_the_rule_sees_what_acts(line: str) -> None:
    (function,) = asked_in(ast.parse(f"def is_late(self):\n    {line}\n    return True"))
    assert list(acts(function)) != []


@pytest.mark.parametrize("line", ["found.append(1)", "found[0] = 1", "msgspec.structs.replace(found, at=1)"])
def test_the_rule_lets_a_predicate_fill_what_is_its_own(line: str) -> None:
    (function,) = asked_in(ast.parse(f"def is_late(self):\n    found = []\n    {line}\n    return True"))
    assert list(acts(function)) == []
