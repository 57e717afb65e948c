"""Writes the types of `AsyncClockwork`, from the methods of the client: `python -m tests.support.asynchronous`."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator

from clockwork_client.asynchronous import ITERATED, PLAIN
from tests.architecture.sources import SDK, tree

PACKAGE = SDK / "clockwork_client"
STUB = PACKAGE / "asynchronous.pyi"
#: Attribute of the client, the class behind it, and its file. The first is the client itself.
PARTS = {
    "": ("Clockwork", "client.py"),
    "jobs": ("Jobs", "resources.py"),
    "executions": ("Executions", "resources.py"),
    "dead": ("Dead", "resources.py"),
    "runs": ("Runs", "workflows/runs.py"),
    "operations": ("Operations", "operations.py"),
    "clients": ("Clients", "clients.py"),
    "pools": ("Pools", "pools.py"),
}
_BASES = {"Executions": ("Reporting", "reporting.py")}
_HEAD = '''"""The types of `AsyncClockwork`. `make openapi` writes this file from the methods of `Clockwork`."""

from __future__ import annotations

import builtins
from typing import Generic, TypeVar

'''
_ITEMS = """
_Item = TypeVar("_Item")
ITERATED: tuple[str, ...]
PLAIN: tuple[str, ...]

class AsyncItems(Generic[_Item]):
    next_token: str | None
    def __aiter__(self) -> AsyncItems[_Item]: ...
    async def __anext__(self) -> _Item: ...
    async def page(self) -> builtins.list[_Item]: ...

"""


def stub() -> str:
    """The text of the file."""
    classes = "\n".join(_class(name, file, part) for part, (name, file) in PARTS.items())
    return _HEAD + "\n".join(_imports(classes)) + "\n" + _ITEMS + classes


def _class(name: str, file: str, part: str) -> str:
    lines = [f"class Async{name}:"]
    for kind, path in ((name, file), *([_BASES[name]] if name in _BASES else [])):
        found = next(one for one in tree(PACKAGE / path).body if isinstance(one, ast.ClassDef) and one.name == kind)
        lines += [line for one in found.body if isinstance(one, ast.FunctionDef) for line in _method(one)]
    if not part:
        lines += [f"    {one}: Async{kind}" for one, (kind, _) in PARTS.items() if one]
        lines += ["    url: str", "    client_id: str | None"]
        lines += [
            "    async def __aenter__(self) -> AsyncClockwork: ...",
            "    async def __aexit__(self, *error: object) -> None: ...",
        ]
    return "\n".join(lines) + "\n"


def _method(one: ast.FunctionDef) -> Iterator[str]:
    arguments, returned = ast.unparse(one.args), "" if one.returns is None else ast.unparse(one.returns)
    if one.name == "__init__":
        yield f"    def __init__({arguments}, threads: int = 32) -> None: ..."
    elif one.name == "__iter__":
        yield f"    def __aiter__(self) -> AsyncItems[{returned.partition('[')[2]}: ..."
    elif not one.name.startswith("_") and not one.decorator_list:
        kind, _, item = returned.partition("[")
        result = (
            f"AsyncItems[{item or 'Created]'}" if kind in ITERATED else re.sub(r"^list\[", "builtins.list[", returned)
        )
        word = "def" if kind in (*ITERATED, *PLAIN) else "async def"
        yield f"    {word} {one.name}({arguments}) -> {result}: ..."


def _imports(text: str) -> list[str]:
    """The imports of the classes' files that the text uses."""
    used = set(re.findall(r"\w+", re.sub(r"def \w+", "", text)))
    found = {"from clockwork_client.bulk import Created"}
    for file in {*(file for _, file in PARTS.values()), "reporting.py"}:
        for node in ast.walk(tree(PACKAGE / file)):
            if isinstance(node, ast.ImportFrom) and node.module != "__future__":
                found |= {f"from {node.module} import {one.name}" for one in node.names if one.name in used}
            elif isinstance(node, ast.Import):
                found |= {f"import {one.name}" for one in node.names if one.name in used}
        module = f"clockwork_client.{file.removesuffix('.py').replace('/', '.')}"
        found |= {f"from {module} import {name}" for name in _defined(file) if name in used}
    own = {name for name, _ in PARTS.values()}
    return sorted(one for one in found if one.rpartition(" ")[2] not in own)


def _defined(file: str) -> Iterator[str]:
    """The names that a file defines: its classes and its types."""
    for node in tree(PACKAGE / file).body:
        if isinstance(node, ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign):
            yield from (one.id for one in node.targets if isinstance(one, ast.Name))


if __name__ == "__main__":
    STUB.write_text(stub(), encoding="utf-8")
    subprocess.run([sys.executable, "-m", "ruff", "format", "-q", STUB], check=True)
