"""AWS as bare as its models allow: each answer has the members that botocore's model calls required, and no others."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import botocore.session
from botocore.model import ListShape, MapShape, OperationModel, Shape, StructureShape

_PLAIN: dict[str, Any] = {"string": "", "blob": b"", "boolean": False, "timestamp": 0}


def bare_session() -> botocore.session.Session:
    """A session whose calls reach nobody, and are answered with what is required."""
    session = botocore.session.Session()
    session.set_config_variable("region", "us-east-1")
    session.set_credentials("any", "any")
    session.get_component("event_emitter").register_first("before-call", _answer)
    return session


def bare(shape: Shape | None) -> Any:
    """The least value of a shape."""
    if isinstance(shape, StructureShape):
        return {name: bare(member) for name, member in shape.members.items() if name in shape.required_members}
    if isinstance(shape, ListShape):
        return []
    if shape is None or isinstance(shape, MapShape):
        return {}
    return _PLAIN.get(shape.type_name, 0)


def _answer(model: OperationModel, **_: Any) -> tuple[Any, dict[str, Any]]:
    return SimpleNamespace(status_code=200), bare(model.output_shape)
