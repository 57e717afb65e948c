"""The graph of a workflow: which steps come before others, and circles among them."""

from __future__ import annotations

from collections.abc import Collection, Mapping


def ancestors_of(after: Mapping[str, Collection[str]], name: str) -> set[str]:
    """All steps that come before a step. Neither a circle nor a parent that is no step is an obstacle."""
    found: set[str] = set()
    waiting = list(after.get(name, ()))
    while waiting:
        if (one := waiting.pop()) not in found:
            found.add(one)
            waiting += after.get(one, ())
    return found


def behind(after: Mapping[str, Collection[str]], roots: Collection[str]) -> list[str]:
    """These steps and all that come after them, in the order of the steps."""
    wanted = set(roots)
    return [name for name in after if name in wanted or wanted & ancestors_of(after, name)]


def circle_in(after: Mapping[str, Collection[str]]) -> list[str] | None:
    """The names along a circle, each a parent of the next; the first is the last. None if there is none.

    `after` has the parents of each step. A parent that is no step is passed over.
    """
    done: set[str] = set()
    for start in after:
        path: list[str] = []
        branches = [iter([start])]
        while branches:
            name = next(branches[-1], None)
            if name is None:
                branches.pop()
                done |= set(path[-1:])
                path = path[:-1]
            elif name in path:
                return [name, *reversed(path[path.index(name) :])]
            elif name not in done and name in after:
                path.append(name)
                branches.append(iter(after[name]))
    return None


def depths_of(after: Mapping[str, Collection[str]]) -> dict[str, int]:
    """How many edges lie before each step at most: its column in a picture. Steps of a circle are at 0."""
    found: dict[str, int] = {}
    waiting = dict(after)
    while ready := [name for name, parents in waiting.items() if not set(parents) & waiting.keys()]:
        for name in ready:
            del waiting[name]
        for name in ready:
            found[name] = max((found[parent] + 1 for parent in after[name] if parent in found), default=0)
    return found | dict.fromkeys(waiting, 0)
