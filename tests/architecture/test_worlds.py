"""Every world that a flow gets is hardened: containment and retention are wrapped around its ports where it is made."""

from __future__ import annotations

import ast

from clockwork.flows.world import World
from tests.architecture.sources import ROOT, tree

MAKERS = {
    "layers/core/python/clockwork/bootstrap.py",
    "layers/core/python/clockwork/memory/world.py",
    "tests/model/subject.py",
    "tests/simulation/cloud.py",
}


def made_in(module: ast.AST) -> list[bool]:
    """For each call of `World` from its ports: whether its value goes straight into `hardened`."""
    hardened = {
        id(one)
        for node in ast.walk(module)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "hardened"
        for one in node.args
    }
    made = [node for node in ast.walk(module) if isinstance(node, ast.Call) and ast.unparse(node.func) == "World"]
    return [id(node) in hardened for node in made]


def names_the_world(module: ast.AST) -> bool:
    """Whether the class of `flows/world.py` is imported: others have a World of their own."""
    froms = [node for node in ast.walk(module) if isinstance(node, ast.ImportFrom)]
    return any(node.module == World.__module__ and "World" in [one.name for one in node.names] for node in froms)


def test_a_world_is_made_in_four_places_and_hardened_in_each() -> None:
    folders = ("layers", "sdk", "local", "rollout", "bench", "tests")
    made = {
        path.relative_to(ROOT).as_posix(): made_in(tree(path))
        for folder in folders
        for path in (ROOT / folder).rglob("*.py")
        if World.__module__ in path.read_text(encoding="utf-8") and names_the_world(tree(path)) and made_in(tree(path))
    }
    assert made == {one: [True] for one in MAKERS}


def test_the_rule_sees_a_world_that_is_not_hardened() -> None:
    assert made_in(ast.parse("x = World(settings=1)\ny = hardened(World(settings=1))")) == [False, True]
