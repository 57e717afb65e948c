"""The world of a dry run: flows run in it as in any other, and nothing is written."""

from __future__ import annotations

from typing import Any

import msgspec

from clockwork.flows.world import World
from clockwork.ports.dry import dry

#: These write nothing that lasts. The memory is copied: a dry run tells it nothing about the deployment.
_KEPT = ("settings", "clock", "random", "environment")


def without_writes(world: World) -> World:
    """The same world, whose ports answer writes and make none (`ports/dry.py`)."""
    ports: dict[str, Any] = {one: dry(one, getattr(world, one)) for one in World.__struct_fields__ if one not in _KEPT}
    return world.with_(environment=msgspec.structs.replace(world.environment), **ports)
