"""No file imports itself through others: imports for types, and those inside functions, count.

This holds for the product, and for its tests, benchmarks and examples.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

import pytest

from tests.architecture.sources import imports, module_of, shipped, unshipped

#: By module the modules that it imports.
Graph = Mapping[str, Collection[str]]
#: Programs that run alone lie here: they name what lies beside them, or one folder above, without its folder.
ALONE = ("bench.", "examples.")


def graph_of(modules: Mapping[str, Path]) -> Graph:
    """The imports among `modules`, files by their names. A name in a module counts as the module."""
    return {name: set(_imported(name, path, modules)) - {name} for name, path in modules.items()}


def _imported(importer: str, path: Path, modules: Collection[str]) -> Iterator[str]:
    for one in imports(path):
        meant = (_module_in(modules, place, one.name) for place in _places(importer))
        yield from [name for name in meant if name is not None][:1]


def _places(importer: str) -> list[str]:
    """The packages to look in for what a module imports, from the one that counts first."""
    beside = importer.rpartition(".")[0]
    return ["", f"{beside}.", f"{beside.rpartition('.')[0]}."] if importer.startswith(ALONE) else [""]


def _module_in(modules: Collection[str], place: str, name: str) -> str | None:
    while name and place + name not in modules:
        name = name.rpartition(".")[0]
    return place + name if name else None


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
    modules = {module_of(path): path for path in (*shipped(), *unshipped())}
    assert {"app", "clockwork.bootstrap", "clockwork_client", "clockwork_client.cli.app", "local.dev"} <= set(modules)
    assert {"lambdas.api.handler", "infra.stack", "rollout.checks", "supply.locks", "tests.conftest"} <= set(modules)
    graph = graph_of(modules)
    assert "clockwork_client.requests" in graph["clockwork_client.client"]
    assert "tests.simulation.progress" in graph["tests.simulation.watcher"]
    assert "bench.rivals.protocol" in graph["bench.rivals.programs.temporal_jobs"]
    assert "examples.outbox.shop" in graph["examples.outbox.test_shop"]
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


@pytest.mark.parametrize(("root", "is_seen"), [("examples", True), ("bench", True), ("tests", False)])
def test_a_program_that_runs_alone_names_what_lies_beside_it_or_above(tmp_path: Path, root: str, is_seen: bool) -> None:
    written = {"shop.till": "import counter.coins", "shop.counter.coins": "import json\nfrom till import name"}
    for name, text in written.items():
        (tmp_path / f"{name}.py").write_text(text)
    found = circles(graph_of({f"{root}.{name}": tmp_path / f"{name}.py" for name in written}))
    assert found == ([[f"{root}.shop.counter.coins", f"{root}.shop.till"]] if is_seen else [])


def test_circles_apart_are_told_apart_and_those_that_share_a_file_are_one() -> None:
    apart = {"a": ["b"], "b": ["a", "c"], "c": ["d"], "d": ["c"], "e": ["a"]}
    assert circles(apart) == [["a", "b"], ["c", "d"]]
    assert circles({"a": ["b"], "b": ["a", "c"], "c": ["b"]}) == [["a", "b", "c"]]
    assert circles({"a": ["b", "c"], "b": ["c"], "c": []}) == []
