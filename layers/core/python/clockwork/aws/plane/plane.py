"""The interface of a data plane for the adapters, and a count of what DynamoDB throttles."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

#: Calls that are on their way at the same time: answers of more would only wait to be read.
WIDTH = 10

Asked = Mapping[str, Any]
#: The answer of an operation, or the exception of botocore.
Outcome = dict[str, Any] | Exception
#: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.Errors.html
_CODES = frozenset({"ProvisionedThroughputExceededException", "RequestLimitExceeded", "ThrottlingException"})
#: DynamoDB leaves a part of a batch undone if it throttles that part, or if an answer would have more than 16 MB.
_UNDONE = ("UnprocessedKeys", "UnprocessedItems")


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


class Counting:
    """`Plane` over another one; tells `throttled` of each call that DynamoDB throttled, in whole or in part.

    A throttled index is seen here, too: DynamoDB then refuses writes to its table. A call that succeeds when it is made
    again is not told.
    """

    def __init__(self, plane: Plane, throttled: Callable[[], object]) -> None:
        self._plane, self._throttled = plane, throttled

    def call(self, operation: str, /, **asked: Any) -> dict[str, Any]:
        (outcome,) = self.call_all(operation, [asked])
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def call_all(self, operation: str, many: Iterable[Asked]) -> list[Outcome]:
        outcomes = self._plane.call_all(operation, many)
        for outcome in outcomes:
            if _is_throttled(outcome):
                self._throttled()
        return outcomes

    def close(self) -> None:
        """Close the connections."""
        self._plane.close()


def _is_throttled(outcome: Outcome) -> bool:
    if not isinstance(outcome, Exception):
        return any(outcome.get(undone) for undone in _UNDONE)
    return getattr(outcome, "response", {}).get("Error", {}).get("Code") in _CODES
