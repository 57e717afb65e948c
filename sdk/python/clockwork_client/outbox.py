"""A job exists if and only if the caller's own change does: an outbox in the caller's DynamoDB table.

`item` is put into the caller's table by the transaction that makes the change, and `relay` is the Lambda handler of
that table's stream. It creates the job under the item's key.

How it fails. If the relay dies around a create, or its answer to Lambda is lost, the stream repeats the records, and
the key makes the repeat the same job. A key holds for 24 hours, and a stream keeps a record for as long. The relay does
not send an older record: its item ends with a reason. If the API is down or too busy, the relay stops at that record.
Lambda repeats the record and all behind it, until the record is older than the relay's patience. If the API refuses an
item permanently, the item ends with the reason, and the records behind it go on. If the reason cannot be written down,
Lambda repeats the record. If a batch takes longer than the function may run, the relay stops in time, and the next run
goes on from there.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from clockwork_client.calls import check_key
from clockwork_client.errors import Refused

if TYPE_CHECKING:
    from clockwork_client.client import Clockwork

KEY, REQUEST, REFUSED = "clockworkKey", "clockworkRequest", "clockworkRefused"
#: DynamoDB holds 400 KB in an item. The rest is for the caller's own attributes, and for the reason of an end.
MOST_BYTES = 360 * 1024
#: The API knows a key for 24 hours from its first use, which is never before the record's time.
LATEST_SECONDS = 23 * 3600.0
_LONGEST_REASON = 1_000
#: The time (s) that the function keeps after its last call, to write down an end and to answer.
_RESERVE = 1.0
_LEAST = 0.5
#: A call waits no longer within one run (s). Lambda repeats the record, and nobody pays for a sleep.
_LONGEST_CALL = 30.0
_log = logging.getLogger(__name__)

Image = Mapping[str, Any]


class Ended(NamedTuple):
    """An item that became no job. If that is not certain, `reason` begins with "not certain".

    `table` and `keys` locate the item; `image` is the item as in the stream. Both are in DynamoDB's JSON.
    """

    key: str
    reason: str
    table: str
    keys: Image
    image: Image


class Unreadable(ValueError):
    """An item holds no request that could be sent. The message says why."""


def item(request: Mapping[str, Any], key: str) -> dict[str, dict[str, str]]:
    """The attributes of an item that asks for a job, in DynamoDB's JSON; `request` is made by `job(...)`.

    Add the key attributes of your table, unless its partition key is `clockworkKey`. `key` is the Idempotency-Key: one
    for each job, as `reminder-of-order-17`. Raises ValueError for a key or a request that could never be sent.
    """
    check_key(key)
    text = json.dumps(request, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    size = len(text.encode())
    if size > MOST_BYTES:
        raise ValueError(f"the request has {size:,} bytes, an item of an outbox holds {MOST_BYTES:,}")
    return {KEY: {"S": key}, REQUEST: {"S": text}}


def mark(dynamodb: Any) -> Callable[[Ended], None]:
    """An end for `relay`: writes the reason into the item as `clockworkRefused`; `dynamodb` is boto3's client.

    If the item has changed meanwhile, nothing is written: somebody has mended or deleted the item.
    """

    def write(ended: Ended) -> None:
        names, values, conditions = {"#refused": REFUSED}, {":why": {"S": ended.reason}}, []
        for place, name in enumerate((KEY, REQUEST)):
            names[f"#{place}"] = name
            if name in ended.image:
                values[f":{place}"] = ended.image[name]
                conditions.append(f"#{place} = :{place}")
            else:
                conditions.append(f"attribute_not_exists(#{place})")
        try:
            dynamodb.update_item(
                TableName=ended.table,
                Key=ended.keys,
                UpdateExpression="SET #refused = :why",
                ConditionExpression=" AND ".join(conditions),
                ExpressionAttributeNames=names,
                ExpressionAttributeValues=values,
            )
        except dynamodb.exceptions.ConditionalCheckFailedException:
            _log.warning("outbox item %s was changed or deleted meanwhile: it is not marked", ended.key)

    return write


def relay(
    cw: Clockwork,
    end: Callable[[Ended], None],
    *,
    patience_seconds: float = 6 * 3600,
    now: Callable[[], float] = time.time,
) -> Callable[[Mapping[str, Any], Any], dict[str, Any]]:
    """A Lambda handler for the stream of a table with outbox items: creates their jobs, each under its item's key.

    `end` is called with each item that ends without a job; `mark` makes such a function. If `end` raises, Lambda
    repeats the record. An uncertain create is tried again until the record is `patience_seconds` old, at most 23 hours.
    The stream's view type is NEW_AND_OLD_IMAGES, and the event source mapping has ReportBatchItemFailures. `now` is in
    epoch seconds.
    """
    if not 0 < patience_seconds <= LATEST_SECONDS:
        raise ValueError(f"patience_seconds must be above 0 and at most {LATEST_SECONDS:.0f}")
    relay_ = _Relay(cw, end, patience_seconds, now)

    def handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
        return relay_.handle(event["Records"], context)

    return handler


class _Relay(NamedTuple):
    cw: Clockwork
    end: Callable[[Ended], None]
    patience: float
    now: Callable[[], float]

    def handle(self, records: list[Mapping[str, Any]], context: Any) -> dict[str, Any]:
        """Lambda's answer. It names the first record that is not done: Lambda repeats from there, in order."""
        for place, record in enumerate(records):
            remaining = context.get_remaining_time_in_millis() / 1000 - _RESERVE
            if (place and remaining < _LEAST) or not self._handle(record, min(max(remaining, _LEAST), _LONGEST_CALL)):
                return {"batchItemFailures": [{"itemIdentifier": record["dynamodb"]["SequenceNumber"]}]}
        return {"batchItemFailures": []}

    def _handle(self, record: Mapping[str, Any], seconds: float) -> bool:
        """Create what a record asks for, within so many seconds; True if the record is done."""
        image = _to_send(record)
        if image is None:
            return True
        age = self.now() - record["dynamodb"]["ApproximateCreationDateTime"]
        try:
            reason = self._send(image, age, seconds)
        except Exception as error:  # noqa: BLE001  what one record meets must not fail those that are done
            if age < self.patience:
                _log.warning("outbox item %s is tried again: %s", _name(image), error)
                return False
            reason = f"not certain, for {age:.0f} s: {error}"
        return reason is None or self._write_end(record, image, reason)

    def _send(self, image: Image, age: float, seconds: float) -> str | None:
        """The reason why there is no job; None if there is one. Raises if the result is not certain."""
        if age >= LATEST_SECONDS:
            return f"not certain: {age:.0f} s old, and an earlier try may have been done; a key is known for 24 h only"
        try:
            request, key = _read(image)
        except Unreadable as error:
            return str(error)
        try:
            self.cw.create(request, idempotency_key=key, deadline=seconds)
        except Refused as error:
            # Clockwork's own refusals are final. Those of API Gateway have no `status`, and are about the caller.
            if error.status == 429 or error.raw.get("status") != error.status:
                raise
            # That the relay may not act for its client is no fault of the item, unless the item names another one.
            if error.status == 403 and request.get("clientId") in (None, self.cw.client_id):
                raise
            return str(error)
        return None

    def _write_end(self, record: Mapping[str, Any], image: Image, reason: str) -> bool:
        """Write down that an item became no job; True if that is done."""
        key, table = _name(image), record["eventSourceARN"].split(":table/")[1].split("/")[0]
        _log.error("outbox item %s became no job: %s", key, reason)
        try:
            self.end(Ended(key, reason[:_LONGEST_REASON], table, record["dynamodb"]["Keys"], image))
        except Exception:  # noqa: BLE001  an end that is not written down is logged here, and the record is received again
            _log.exception("the end of outbox item %s cannot be written down: it is received again", key)
            return False
        return True


def _to_send(record: Mapping[str, Any]) -> Image | None:
    """The item that asks for a job: a new item, an item with a changed request, or one without its former mark."""
    change = record["dynamodb"]
    image: Image = change.get("NewImage", {})
    if KEY not in image or REFUSED in image:
        return None
    if record["eventName"] == "INSERT":
        return image
    if "OldImage" not in change:
        raise ValueError("the stream of the outbox must have the view type NEW_AND_OLD_IMAGES")
    old = change["OldImage"]
    return None if all(old.get(name) == image.get(name) for name in (KEY, REQUEST, REFUSED)) else image


def _read(image: Image) -> tuple[dict[str, Any], str]:
    try:
        key = image[KEY]["S"]
        check_key(key)
        request = json.loads(image[REQUEST]["S"])
        json.dumps(request, ensure_ascii=False, allow_nan=False).encode()
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise Unreadable(f"the item cannot be read: {type(error).__name__}: {error}") from None
    if not isinstance(request, dict):
        raise Unreadable("the item's request is no JSON object")
    return request, key


def _name(image: Image) -> str:
    return str(image[KEY].get("S"))[:255]
