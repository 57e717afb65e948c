"""Reads a stored item apart from the others of an answer: a damaged item stops no other one, nor passes for one."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from clockwork.domain.errors import NewerFormat, Undecodable, Unreadable
from clockwork.domain.storage.codec import Stored, decode

log = logging.getLogger(__name__)

T = TypeVar("T")


def read_apart(
    read: Callable[[Mapping[str, Any]], T],
    item: Mapping[str, Any],
    table: str,
    key: Sequence[str],
    on_unreadable: Callable[[Exception], object],
) -> T | Unreadable:
    """The content of a table's item, or the reason why it cannot be read. The reason is logged with the key.

    `on_unreadable` is called for an item that no version wrote. An item of a later version is no fault during a
    deployment.
    """
    fault: Unreadable
    try:
        return read(item)
    except Unreadable as error:
        fault = error
    except Exception as error:  # noqa: BLE001 - whatever one stored item holds, the others are read
        fault = Undecodable(f"its item is malformed: {type(error).__name__}")
    extra = {"action": "item_unreadable", "table": table, "key": [item.get(name, {}).get("S") for name in key]}
    log.error("a stored item cannot be read: %s", fault, extra=extra)
    if not isinstance(fault, NewerFormat):
        on_unreadable(fault)
    return fault


def decoded(item: Mapping[str, Any], attribute: str, kind: type[Stored], **names: str) -> Stored:
    """The value in an attribute of an item. `names`: the item's attributes, by the fields that have to say the same.

    Raises NewerFormat, or Undecodable: also for a value that names another item. Otherwise whoever may act on the one
    would act on the other.
    """
    blob = item.get(attribute, {}).get("B")
    if blob is None:
        raise Undecodable(f"its item has no {attribute}")
    value = decode(blob, kind)
    for field, name in names.items():
        if getattr(value, field) != item.get(name, {}).get("S"):
            raise Undecodable(f"its {attribute} has another {name}")
    return value
