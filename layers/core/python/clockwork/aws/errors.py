"""Errors of AWS calls by their meaning: AWS refused the call, gave no definite answer, or a condition did not hold.

`ask` translates botocore's exceptions for every adapter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, TypeVar, cast

from botocore.exceptions import (
    BotoCoreError,
    ChecksumError,
    ClientError,
    ConnectTimeoutError,
    EndpointConnectionError,
    HTTPClientError,
    IncompleteReadError,
    ParamValidationError,
)
from botocore.exceptions import ConnectionError as ConnectionFailed
from botocore.parsers import ResponseParserError

from clockwork.domain.errors import Unavailable

P = ParamSpec("P")
T = TypeVar("T")

#: Error codes of throttling by DynamoDB, SQS, Lambda and Secrets Manager: each refused the call before it did anything.
#: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.Errors.html
THROTTLES = frozenset(
    {
        "KmsThrottled",
        "LimitExceededException",
        "OverLimit",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "RequestThrottled",
        "RequestThrottledException",
        "Throttling",
        "ThrottlingException",
        "TooManyRequestsException",
        "TransactionConflictException",
        "TransactionInProgressException",
    }
)
#: Error codes of DynamoDB about the item itself, such as one of more than 400 KB.
OF_ITEM = frozenset({"ItemCollectionSizeLimitExceededException", "ValidationException"})
#: Reasons for which DynamoDB cancels a transaction that it may accept when it is sent again.
_MEANWHILE = frozenset(
    {"None", "ConditionalCheckFailed", "TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"}
)
_NOT_SENT = (EndpointConnectionError, ConnectTimeoutError)
_LOST = (HTTPClientError, ConnectionFailed, IncompleteReadError, ChecksumError, ResponseParserError)


class Throttled(Unavailable):
    """AWS refused the call for now, or the call was never sent: its last try changed nothing."""


class NoAnswer(Unavailable):
    """AWS gave no definite answer: the call may have taken effect, or may still take effect."""


class ConditionFailed(Exception):
    """The condition of a conditional write did not hold; `item` is the stored item, None if there is none."""

    def __init__(self, item: Mapping[str, Any] | None) -> None:
        self.item = item
        super().__init__("the condition of a write does not hold")


def ask(call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call AWS and return its answer; raises Throttled, NoAnswer or ConditionFailed.

    Clockwork's own faults (an invalid or denied call) are raised as botocore raised them.
    """
    try:
        return call(*args, **kwargs)
    except (BotoCoreError, ClientError, ResponseParserError) as error:
        meaning = _meaning(error)
        if meaning is None:
            raise
        raise meaning from error


def is_of_item(error: Exception) -> bool:
    """Whether an error that `ask` left as it was speaks of the item that was written, and of no other.

    A denied call, a missing table or expired credentials concern every item.
    """
    if isinstance(error, ClientError):
        return error.response["Error"].get("Code") in OF_ITEM
    return not isinstance(error, BotoCoreError) or isinstance(error, ParamValidationError)


def held(write: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> bool:
    """Make a conditional write; whether its condition held."""
    try:
        write(*args, **kwargs)
    except ConditionFailed:
        return False
    return True


def _meaning(error: Exception) -> Exception | None:
    if isinstance(error, ClientError):
        return _meaning_of_answer(error)
    if isinstance(error, _NOT_SENT):
        return Throttled(str(error))
    if isinstance(error, _LOST):
        return NoAnswer(str(error))
    return None


def _meaning_of_answer(error: ClientError) -> Exception | None:
    code = error.response["Error"].get("Code", "")
    status = error.response["ResponseMetadata"]["HTTPStatusCode"]
    if code == "ConditionalCheckFailedException":
        return ConditionFailed(cast("Mapping[str, Any] | None", error.response.get("Item")))
    if code in THROTTLES or status == 429 or _met_another(error):
        return Throttled(str(error))
    if status >= 500:
        return NoAnswer(str(error))
    return None


def _met_another(error: ClientError) -> bool:
    """Whether DynamoDB cancelled a transaction only for concurrent writes or throttling, not for a fault of its own."""
    reasons = {reason.get("Code", "None") for reason in error.response.get("CancellationReasons", ())}
    return bool(reasons - {"None"}) and reasons <= _MEANWHILE
