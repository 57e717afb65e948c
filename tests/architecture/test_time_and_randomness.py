"""Time, ids and randomness are injected: only adapters of the core ask the machine for them."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.architecture.sources import CORE, imports, tree

PACKAGE = CORE / "clockwork"
CLOCKS = {
    *("datetime.now", "datetime.utcnow", "datetime.today", "date.today"),
    *("datetime.datetime.now", "datetime.datetime.utcnow", "datetime.datetime.today", "datetime.date.today"),
    *("time.time", "time.time_ns", "time.localtime", "time.gmtime", "os.urandom"),
}
MAY_ASK_THE_TIME = {"aws/clock.py"}
#: repeats.py draws the jitter between repeats of a call, which has no visible effect.
MAY_DRAW = {"aws/clock.py", "aws/repeats.py", "memory/clock.py"}


def asked(module: ast.AST) -> list[str]:
    """The names of the machine's clocks and randomness in a tree, whether they are called or passed on."""
    names = [ast.unparse(node) for node in ast.walk(module) if isinstance(node, ast.Attribute)]
    return [name for name in names if name in CLOCKS]


def name_of(path: Path) -> str:
    """The path of a file, in the form of the sets above."""
    return path.relative_to(PACKAGE).as_posix()


def test_only_the_clock_asks_the_time() -> None:
    asking = {name_of(path) for path in PACKAGE.rglob("*.py") if asked(tree(path))}
    assert asking == MAY_ASK_THE_TIME


def test_only_chance_draws() -> None:
    drawing = {
        name_of(path)
        for path in PACKAGE.rglob("*.py")
        for one in imports(path)
        if one.name in {"random", "uuid", "secrets"}
    }
    assert drawing == MAY_DRAW


def test_no_clock_is_imported_by_its_bare_name() -> None:
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.ImportFrom) and node.module in {"time", "os"}:
                names = {alias.name for alias in node.names}
                assert names.isdisjoint({"time", "time_ns", "localtime", "gmtime", "urandom"}), path


@pytest.mark.parametrize("source", ["datetime.now()", "x = time.time", "f(datetime.datetime.utcnow)", "date.today()"])
def test_the_rule_sees_what_it_forbids(source: str) -> None:
    assert asked(ast.parse(source))
