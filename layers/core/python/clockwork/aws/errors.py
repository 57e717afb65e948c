"""Errors of AWS calls by their meaning.

AWS refuses what one item holds, refuses the call for a reason that concerns every item, gives no definite answer, or a
condition does not hold. `ask` translates botocore's exceptions for every adapter, and `answer_of` those of a data
plane. Only a code of `OF_ITEM` ends an item. All else passes: an operator's slip with a permission, a key or a table
must never end jobs that are due.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

from clockwork.aws import botocore_errors
from clockwork.aws.error_codes import OF_ALL, OF_ITEM, THROTTLES
from clockwork.aws.plane.plane import Outcome
from clockwork.domain.errors import PartitionThrottled, Unavailable

if TYPE_CHECKING:
    from botocore.exceptions import ClientError

log = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")

#: Reasons of DynamoDB to cancel a transaction that speak of one of its items.
_OF_ITEM_REASONS = frozenset({"ItemCollectionSizeLimitExceeded", "ValidationError"})
#: Reasons for which DynamoDB cancels a transaction that it may accept when it is sent again.
_MEANWHILE = frozenset(
    {"None", "ConditionalCheckFailed", "TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"}
)
_SAYS_NOTHING = {"Code": "NoAnswer", "Message": "SQS did not say whether it took it"}


class Throttled(Unavailable):
    """AWS refused the call for now, or the call was never sent: its last try changed nothing."""


class HotPartition(Throttled, PartitionThrottled):
    """DynamoDB says that one partition is hot. Where it gives no reason, or another one, the call is just Throttled."""


class RefusedToAll(Unavailable):
    """AWS refused the call for a reason that is no item's own, and changed nothing: it passes once somebody mends it.

    Examples are a denied call, expired credentials, a disabled key and a missing table.
    """


class NoAnswer(Unavailable):
    """AWS gave no definite answer: the call may have taken effect, or may still take effect."""


class ConditionFailed(Exception):
    """The condition of a conditional write did not hold; `item` is the stored item, None if there is none."""

    def __init__(self, item: Mapping[str, Any] | None) -> None:
        self.item = item
        super().__init__("the condition of a write does not hold")


def ask(call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call AWS and return its answer; raises Throttled, RefusedToAll, NoAnswer or ConditionFailed.

    A refusal of AWS for the sake of the item itself (`OF_ITEM`) is raised as botocore raised it.
    """
    try:
        return call(*args, **kwargs)
    except (
        botocore_errors.BotoCoreError,
        botocore_errors.ClientError,
        botocore_errors.ResponseParserError,
    ) as error:
        meaning = _meaning(error)
        if meaning is None:
            raise
        raise meaning from error


def answer_of(outcome: Outcome) -> dict[str, Any]:
    """The answer that one of many calls of a data plane had; raises what `ask` raises."""
    return ask(_told_by, outcome)


def _told_by(outcome: Outcome) -> dict[str, Any]:
    if isinstance(outcome, Exception):
        raise outcome
    return outcome


def is_of_entry(entry: Mapping[str, Any]) -> bool:
    """Whether SQS refuses one entry of a batch for the sake of the entry itself, so that it never takes it.

    SQS calls throttling, denied access and disabled keys the sender's fault, too, but they pass.
    """
    code = _last_part(entry.get("Code", ""))
    if code not in OF_ITEM | OF_ALL | THROTTLES and entry.get("SenderFault"):
        _log_unknown("SendMessageBatch", code)
    return code in OF_ITEM


def told(answer: Mapping[str, Any], member: str) -> Any:
    """A member that an answer must have. Raises NoAnswer without it, since absence does not mean "nothing"."""
    if member not in answer:
        raise NoAnswer(f"AWS answered without {member}")
    return answer[member]


def not_taken(answer: Mapping[str, Any], ids: Iterable[str]) -> dict[str, Mapping[str, Any]]:
    """The entries of a batch that SQS did not take, by id: what it refused, and what its answer does not name."""
    taken = {entry["Id"] for entry in answer.get("Successful", ())}
    refused = {entry["Id"]: entry for entry in answer.get("Failed", ())}
    return {one: refused.get(one, _SAYS_NOTHING) for one in ids if one not in taken}


def try_write(write: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> bool:
    """Make a conditional write; True if its condition held."""
    try:
        write(*args, **kwargs)
    except ConditionFailed:
        return False
    return True


def _meaning(error: Exception) -> Exception | None:
    if isinstance(error, botocore_errors.ClientError):
        return _meaning_of_answer(error)
    if isinstance(error, botocore_errors.EndpointConnectionError | botocore_errors.ConnectTimeoutError):
        return Throttled(str(error))
    if isinstance(
        error,
        botocore_errors.HTTPClientError
        | botocore_errors.ConnectionFault
        | botocore_errors.IncompleteReadError
        | botocore_errors.ChecksumError
        | botocore_errors.ResponseParserError,
    ):
        return NoAnswer(str(error))
    # Botocore checks an item's own values before it sends; what else it raises is about credentials or settings.
    return None if isinstance(error, botocore_errors.ParamValidationError) else RefusedToAll(str(error))


def _meaning_of_answer(error: ClientError) -> Exception | None:
    code = _last_part(error.response["Error"].get("Code", ""))
    status = error.response["ResponseMetadata"]["HTTPStatusCode"]
    if code == "ConditionalCheckFailedException":
        return ConditionFailed(cast("Mapping[str, Any] | None", error.response.get("Item")))
    if any("KeyRange" in reason for reason in _throttling_reasons(error)):
        return HotPartition(str(error))
    if code in THROTTLES or status == 429 or _met_another(error):
        return Throttled(str(error))
    if status >= 500:
        return NoAnswer(str(error))
    if code in OF_ITEM or not _reasons(error).isdisjoint(_OF_ITEM_REASONS):
        return None
    if code not in OF_ALL:
        _log_unknown(error.operation_name, code)
    return RefusedToAll(str(error))


@lru_cache(maxsize=100)
def _log_unknown(operation: str, code: str) -> None:
    """Log a code once in a Lambda environment, and not once for every call: a million may be refused."""
    extra = {"action": "unknown_refusal", "operation": operation, "code": code}
    log.error("AWS refuses a call for a reason that is not known here: %s, %s", operation, code, extra=extra)


def _last_part(code: str) -> str:
    """A code without the words before its last dot: SQS has some both ways, as AWS.SimpleQueueService.OverLimit."""
    return code.rpartition(".")[2]


def _reasons(error: ClientError) -> set[str]:
    return {reason.get("Code", "None") for reason in error.response.get("CancellationReasons", ())}


def _throttling_reasons(error: ClientError) -> set[str]:
    """Why DynamoDB throttles, such as TableReadKeyRangeThroughputExceeded: a partition, the table, or the account.

    https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ThrottlingReason.html
    """
    response: Any = error.response
    told = response.get("ThrottlingReasons", response.get("throttlingReasons"))
    reasons = told if isinstance(told, list) else []
    return {str(one.get("reason", "")) for one in reasons if isinstance(one, dict)}


def _met_another(error: ClientError) -> bool:
    """Whether DynamoDB cancelled a transaction only for concurrent writes or throttling, not for a fault of its own."""
    reasons = _reasons(error)
    return bool(reasons - {"None"}) and reasons <= _MEANWHILE
