"""Counts the units that AWS would bill for the calls of one botocore session."""

from __future__ import annotations

import math
from collections.abc import Mapping
from threading import Lock
from typing import Any

import botocore.session

from bench.billing.usage import Usage
from clockwork.aws.capacity import CapacityMeter

#: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/on-demand-capacity-mode.html
READ_UNIT_BYTES = 4_096
#: https://aws.amazon.com/sqs/pricing/
SQS_CHUNK_BYTES = 65_536
_READS = frozenset({"GetItem", "BatchGetItem", "Query", "Scan"})


class Meter:
    """Counts the calls so far. `capacity` has to be attached to the DynamoDB clients, which `Aws` does."""

    def __init__(self, session: botocore.session.Session) -> None:
        self.capacity = CapacityMeter()
        self._lock = Lock()
        self._reads = 0.0
        self._sqs_sends = 0
        self._sqs_consumed = 0
        self._invocations = 0
        self._held_batches = 0
        self._api_requests = 0
        self._log_bytes = 0
        #: Calls to AWS, of whatever service.
        self.calls = 0
        session.register("after-call.dynamodb", self._add_read)
        session.register("before-parameter-build.sqs.SendMessageBatch", self._add_send)
        session.register("before-parameter-build.sqs.ReceiveMessage", self._add_receive)
        session.register("before-parameter-build.sqs.DeleteMessageBatch", self._add_receive)
        session.register("after-call.*", self._add_call)

    def add_invocation(self, *, through_api: bool = False) -> None:
        """Count an invocation of a Lambda function, perhaps by API Gateway for a client."""
        self._invocations += 1
        self._api_requests += through_api

    def add_log(self, line: str) -> None:
        """Count a line of a log."""
        self._log_bytes += len(line.encode()) + 1

    def add_queue_batch(self, bodies: list[str]) -> None:
        """Count a batch that Lambda's event source received at once, had delivered, and deleted at once."""
        self._sqs_consumed += _chunks(bodies) + 1
        self._held_batches += 1

    def usage(self) -> Usage:
        """The usage so far.

        AWS bills a write that its condition refused, although DynamoDB reports no capacity for it.
        """
        writes = sum(units for (operation, _), units in self.capacity.units.items() if operation not in _READS)
        return Usage(
            write_units=writes + self.capacity.failed_conditions,
            read_units=self._reads,
            sqs_sends=self._sqs_sends,
            sqs_consumed=self._sqs_consumed,
            lambda_invocations=self._invocations,
            held_batches=self._held_batches,
            api_requests=self._api_requests,
            log_bytes=self._log_bytes,
        )

    def _add_read(self, **call: Any) -> None:
        if call["model"].name in _READS:
            with self._lock:
                self._reads += read_units(call["parsed"])

    def _add_receive(self, **_call: Any) -> None:
        with self._lock:
            self._sqs_consumed += 1

    def _add_call(self, **_call: Any) -> None:
        with self._lock:
            self.calls += 1

    def _add_send(self, **call: Any) -> None:
        bodies = [entry["MessageBody"] for entry in call["params"]["Entries"]]
        with self._lock:
            self._sqs_sends += _chunks(bodies)


def read_units(answer: Mapping[str, Any]) -> float:
    """The read units that AWS bills for a strong read: as reported, but at least those of the returned items.

    The emulator reports one unit for any read, and none for BatchGetItem, whose items AWS bills one by one.
    """
    consumed = answer.get("ConsumedCapacity", ())
    reported = sum(float(one["CapacityUnits"]) for one in ([consumed] if isinstance(consumed, Mapping) else consumed))
    if "Responses" in answer:
        by_size = sum(_units([item]) for items in answer["Responses"].values() for item in items)
    else:
        by_size = _units([answer["Item"]] if "Item" in answer else answer.get("Items", []))
    return max(reported, by_size)


def _units(items: list[Mapping[str, Any]]) -> int:
    return math.ceil(sum(map(item_bytes, items)) / READ_UNIT_BYTES)


def item_bytes(item: Mapping[str, Mapping[str, Any]]) -> int:
    """The size of an item of texts, numbers, binaries and sets of numbers, as DynamoDB reckons it.

    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html
    """
    return sum(len(name.encode()) + _value_bytes(value) for name, value in item.items())


def _value_bytes(value: Mapping[str, Any]) -> int:
    ((kind, content),) = value.items()
    if kind == "N":
        return (len(content) + 1) // 2 + 1
    if kind == "NS":
        return 3 + sum(_value_bytes({"N": number}) for number in content)
    return len(content) if kind == "B" else len(content.encode())


def _chunks(bodies: list[str]) -> int:
    return max(1, math.ceil(sum(map(len, bodies)) / SQS_CHUNK_BYTES))
