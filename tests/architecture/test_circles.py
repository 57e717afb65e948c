"""No file of the product imports itself through others: imports for types, and those inside functions, count."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

import pytest

from tests.architecture.sources import imports, module_of, shipped

#: By module the modules that it imports.
Graph = Mapping[str, Collection[str]]


def graph_of(modules: Mapping[str, Path]) -> Graph:
    """The imports among `modules`, files by their names. A name in a module counts as the module."""
    return {name: set(_imported(path, modules)) - {name} for name, path in modules.items()}


def _imported(path: Path, modules: Collection[str]) -> Iterator[str]:
    for one in imports(path):
        name = one.name
        while name and name not in modules:
            name = name.rpartition(".")[0]
        if name:
            yield name


def circles(graph: Graph) -> list[list[str]]:
    """The strongly connected components of more than one module, each sorted."""
    reached = {name: _reached(graph, name) for name in graph}
    found = {tuple(sorted({name, *(one for one in near if name in reached[one])})) for name, near in reached.items()}
    return [list(one) for one in sorted(found) if len(one) > 1]


def _reached(graph: Graph, start: str) -> set[str]:
    found, open_ = set[str](), [*graph[start]]
    while open_:
        if (name := open_.pop()) not in found:
            found.add(name)
            open_ += graph[name]
    return found


def test_no_file_imports_itself_through_others() -> None:
    modules = {module_of(path): path for path in shipped()}
    assert {"app", "clockwork.bootstrap", "clockwork_client", "clockwork_client.cli.app", "local.dev"} <= set(modules)
    graph = graph_of(modules)
    assert "clockwork_client.requests" in graph["clockwork_client.client"]
    assert circles(graph) == []


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("import second", "import first"),
        (
            "from second import name",
            "if TYPE_CHECKING:\n    from first import name",
        ),
        ("def late():\n    from second import name", "class Rare:\n    def late(self):\n        import first"),
        ("import third", "from first import name"),
    ],
)
def test_a_circle_is_seen_however_it_closes(tmp_path: Path, first: str, second: str) -> None:
    written = {"first": first, "second": second, "third": "import second", "apart": "import first"}
    for name, text in written.items():
        (tmp_path / f"{name}.py").write_text(text)
    (found,) = circles(graph_of({name: tmp_path / f"{name}.py" for name in written}))
    assert found == ["first", "second", *(["third"] if "third" in first else [])]


def test_circles_apart_are_told_apart_and_those_that_share_a_file_are_one() -> None:
    apart = {"a": ["b"], "b": ["a", "c"], "c": ["d"], "d": ["c"], "e": ["a"]}
    assert circles(apart) == [["a", "b"], ["c", "d"]]
    assert circles({"a": ["b"], "b": ["a", "c"], "c": ["b"]}) == [["a", "b", "c"]]
    assert circles({"a": ["b", "c"], "b": ["c"], "c": []}) == []
