"""What an answer of AWS means: it acted, it refused, or nobody knows. One function translates for every adapter."""

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
)
from botocore.exceptions import ConnectionError as ConnectionFailed
from botocore.parsers import ResponseParserError

from clockwork.domain.errors import Unavailable

P = ParamSpec("P")
T = TypeVar("T")

#: "Slow down", in the words of DynamoDB, SQS, Lambda and Secrets Manager: refused before anything was done.
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
_MEANWHILE = frozenset(
    {"None", "ConditionalCheckFailed", "TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"}
)
_NOT_SENT = (EndpointConnectionError, ConnectTimeoutError)
_LOST = (HTTPClientError, ConnectionFailed, IncompleteReadError, ChecksumError, ResponseParserError)


class Throttled(Unavailable):
    """Refused for the moment, or never sent: as sent this last time it did not act."""


class NoAnswer(Unavailable):
    """No definite answer: it may have acted, or may yet act."""


class ConditionFailed(Exception):
    """A conditional write was refused; `item` is what is stored instead, None if nothing is."""

    def __init__(self, item: Mapping[str, Any] | None) -> None:
        self.item = item
        super().__init__("the condition of a write does not hold")


def ask(call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call AWS. Raises Throttled, NoAnswer or ConditionFailed; faults of ours (an invalid or denied call) stay."""
    try:
        return call(*args, **kwargs)
    except (BotoCoreError, ClientError, ResponseParserError) as error:
        meaning = _meaning(error)
        if meaning is None:
            raise
        raise meaning from error


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
    """A transaction was given up for what others did meanwhile, not for a fault of its own."""
    reasons = {reason.get("Code", "None") for reason in error.response.get("CancellationReasons", ())}
    return bool(reasons - {"None"}) and reasons <= _MEANWHILE
