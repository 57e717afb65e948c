"""Definitions of workflows whose runs `bench.units` meters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Nodes = Mapping[str, Mapping[str, Any]]


def _node(*after: str, **more: Any) -> dict[str, Any]:
    """A webhook that gets the input of its run."""
    target = {"type": "http", "url": "https://example.com/hook"}
    return {"target": target, "after": list(after), "payload": {"$from": "/input"}, **more}


def chain(length: int) -> Nodes:
    """Nodes that follow each other."""
    return {f"n{at}": _node(*([f"n{at - 1}"] if at else [])) for at in range(length)}


def fan_in(width: int) -> Nodes:
    """Nodes side by side, and one behind all of them."""
    names = [f"n{at}" for at in range(width)]
    return {**{name: _node() for name in names}, "sink": _node(*names)}


def skip(length: int) -> Nodes:
    """A node, and others behind it that its result keeps from running."""
    refused = [{"at": "/nodes/n0/result", "is": ["never"]}]
    return {**chain(length + 1), "n1": _node("n0", **{"if": refused})}
