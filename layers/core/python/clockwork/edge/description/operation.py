"""What the API's description says of one operation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from clockwork.edge.http.forms import Form


@dataclass(frozen=True)
class Operation:
    """One operation. `parameters` are those of the query and the headers; its route names those of the path.

    `answer` is None for text, and for a document that no class of ours describes.
    """

    summary: str
    answer: type | None
    status: int = 200
    #: Further statuses with the same answer.
    also: tuple[int, ...] = ()
    body: type[BaseModel | Form] | None = None
    examples: tuple[dict[str, Any], ...] = ()
    parameters: tuple[str, ...] = ()
    #: Its subject may be in a state in which it is refused with 409.
    conflicts: bool = False
    #: What it makes counts against the client's caps: over them it is refused with 429.
    capped: bool = False
