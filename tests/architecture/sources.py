"""The sources as syntax trees, and the imports of each module, wherever in the module they stand."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
CORE = ROOT / "layers/core/python"
SDK = ROOT / "sdk/python"


class Import(NamedTuple):
    """One imported module: `name` is absolute and as deep as the statement says."""

    path: Path
    line: int
    name: str
    for_types_only: bool

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT)}:{self.line} imports {self.name}"


def shipped() -> list[Path]:
    """Every Python file of the product: no tests and no benchmarks."""
    folders = (
        CORE / "clockwork",
        SDK / "clockwork_client",
        ROOT / "lambdas",
        ROOT / "infra",
        ROOT / "local",
        ROOT / "rollout",
        ROOT / "supply",
    )
    return [ROOT / "app.py", *(path for folder in folders for path in sorted(folder.rglob("*.py")))]


def unshipped() -> list[Path]:
    """Every Python file beside the product: tests, benchmarks and examples."""
    return [path for folder in ("tests", "bench", "examples") for path in sorted((ROOT / folder).rglob("*.py"))]


def module_of(path: Path) -> str:
    """The name by which a file is imported."""
    base = next(base for base in (CORE, SDK, ROOT) if path.is_relative_to(base))
    return ".".join(path.relative_to(base).with_suffix("").parts).removesuffix(".__init__")


@cache
def _is_module(name: str) -> bool:
    places = [base / name.replace(".", "/") for base in (CORE, SDK, ROOT)]
    return any(place.is_dir() or place.with_suffix(".py").exists() for place in places)


@cache
def tree(path: Path) -> ast.Module:
    """The syntax tree of a file."""
    return _parsed(path)


def _parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


@cache
def imports(path: Path) -> Sequence[Import]:
    """All imports of a file, those inside functions included."""
    # Trees that are kept cost memory, and the garbage collector looks at all of them again and again.
    return tuple(_imports(_parsed(path), path))


def _imports(module: ast.Module, path: Path) -> Iterator[Import]:
    waiting: list[tuple[ast.AST, bool]] = [(module, False)]
    while waiting:
        node, for_types_only = waiting.pop()
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(path, node.lineno, alias.name, for_types_only)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno} imports relatively"
            for alias in node.names:
                # `from clockwork import ports` imports clockwork.ports, `from clockwork.ports import Clock` does too.
                deeper = f"{node.module}.{alias.name}"
                yield Import(path, node.lineno, deeper if _is_module(deeper) else str(node.module), for_types_only)
        types = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        inner = [] if isinstance(node, ast.expr) else list(ast.iter_child_nodes(node))
        waiting += [(child, for_types_only or types) for child in reversed(inner)]
