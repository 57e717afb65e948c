"""A meter of the capacity units that DynamoDB calls consume.

A client asks DynamoDB for the units of its calls only if a meter is attached to it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from threading import Lock
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from botocore.client import BaseClient
    from botocore.model import OperationModel


class CapacityMeter:
    """Adds up the capacity units that DynamoDB reports, by operation and table.

    DynamoDB bills a write whose condition failed, but reports no units for it: `failed_conditions` counts such calls.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._units: Counter[tuple[str, str]] = Counter()
        self._failed_conditions = 0

    def attach(self, client: BaseClient) -> None:
        """From now on, ask DynamoDB for the units of every call of this client, and add them up."""
        client.meta.events.register("before-parameter-build.dynamodb", self._ask)
        client.meta.events.register("after-call.dynamodb", self._add)

    @property
    def units(self) -> Mapping[tuple[str, str], float]:
        """The units consumed so far, by (operation, table name)."""
        with self._lock:
            return dict(self._units)

    @property
    def failed_conditions(self) -> int:
        """How many writes DynamoDB refused because their condition did not hold."""
        with self._lock:
            return self._failed_conditions

    def _ask(self, params: dict[str, Any], model: OperationModel, **_: object) -> None:
        if model.input_shape is not None and "ReturnConsumedCapacity" in model.input_shape.members:
            params.setdefault("ReturnConsumedCapacity", "INDEXES")

    def _add(self, parsed: Mapping[str, Any], model: OperationModel, **_: object) -> None:
        consumed = parsed.get("ConsumedCapacity", ())
        failed = parsed.get("Error", {}).get("Code") == "ConditionalCheckFailedException"
        with self._lock:
            self._failed_conditions += failed
            for one in [consumed] if isinstance(consumed, Mapping) else consumed:
                self._units[model.name, one["TableName"]] += one["CapacityUnits"]
