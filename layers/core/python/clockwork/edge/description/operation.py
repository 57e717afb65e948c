"""One operation in the API's description."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from clockwork.edge.http.forms import Form


@dataclass(frozen=True)
class Operation:
    """One operation. `parameters` are the ones of the query and the headers; its route names the path's.

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
    #: Its jobs count against the client's caps: beyond them it is refused with 429.
    capped: bool = False
