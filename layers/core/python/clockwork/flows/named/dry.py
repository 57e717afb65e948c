"""The world of a dry run: flows run in it as in any other, and nothing is written."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from clockwork.flows.world import World
from clockwork.ports.dry import dry

#: These write nothing that lasts. The memory is copied: a dry run tells it nothing about the deployment.
_KEPT = ("settings", "clock", "random", "environment")


def without_writes(world: World) -> World:
    """The same world, whose ports answer writes and make none (`ports/dry.py`)."""
    ports: dict[str, Any] = {one.name: dry(one.name, getattr(world, one.name)) for one in fields(world)
                             if one.name not in _KEPT}  # fmt: skip
    return replace(world, environment=replace(world.environment), **ports)
