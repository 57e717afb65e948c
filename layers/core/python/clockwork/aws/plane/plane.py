"""The interface of a data plane for the adapters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

#: Calls that are on their way at the same time: answers of more would only wait to be read.
WIDTH = 10

Asked = Mapping[str, Any]
#: The answer of an operation, or the exception of botocore.
Outcome = dict[str, Any] | Exception


class Plane(Protocol):
    """The calls of one service. Operations and parameters have the names that AWS gives them, as in `PutItem`."""

    def call(self, operation: str, /, **asked: Any) -> dict[str, Any]:
        """The answer to one call, without `ResponseMetadata`. Raises the exceptions of botocore."""

    def call_all(self, operation: str, many: Iterable[Asked]) -> list[Outcome]:
        """The outcomes of many calls of one operation, in order; a failed call does not keep the others from theirs.

        Up to `WIDTH` calls are made at the same time. `many` is only read as far as the calls that are made next.
        """

    def close(self) -> None:
        """Close the connections."""
