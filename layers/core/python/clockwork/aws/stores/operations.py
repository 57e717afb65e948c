"""The operations of clients in the clients table: a record for each, and the lists of those that are open."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import suppress

import msgspec

from clockwork.aws.apart import decoded
from clockwork.aws.errors import ConditionFailed
from clockwork.aws.session import Aws
from clockwork.aws.stores.table import Item, Table, seconds, written
from clockwork.domain.errors import NewerFormat, Unavailable, Undecodable, Unreadable
from clockwork.domain.requests.operations import Open, Operation
from clockwork.domain.storage.codec import encode

log = logging.getLogger(__name__)

#: Prefix of a record's sort key, beside the client.
_RECORD = "operation#"
#: The partition of all lists, in place of a clientId, and the prefix of their sort keys. No clientId begins with `#`.
_OPEN, _OF = "#operations", "of#"


class AwsOperations:
    """`ports.Operations` on a table with the key `clientId` / `item` and TTL on `expiresAt`."""

    def __init__(self, aws: Aws, table: str) -> None:
        self._table = Table(aws, table, "clientId", "item")

    def find(self, client_id: str, operation_id: str) -> Operation | Unreadable | None:
        item = self._table.get(client_id, _RECORD + operation_id)
        return None if item is None else self._table.apart(_operation, item)

    def save(self, before: Operation | None, after: Operation) -> bool:
        item = written(
            clientId=after.client_id,
            item=_RECORD + after.operation_id,
            revision=after.revision,
            operation=encode(after),
            expiresAt=seconds(after.expires_at),
        )
        try:
            if before is None:
                self._table.replace(item, "clientId", None)
            else:
                self._table.replace(item, "revision", before.revision)
        except ConditionFailed as refused:
            return refused.item is not None and refused.item.get("operation") == item["operation"]
        return True

    def list(self, client_id: str, limit: int, before: str | None) -> Sequence[tuple[str, Operation | Unreadable]]:
        """The range includes `before` itself, which is left out."""
        # "~" sorts behind every id.
        last = _RECORD + ("~" if before is None else before)
        found = self._table.query_all(client_id, limit + 1, between=(_RECORD, last), newest_first=True)
        items = {item["item"]["S"].removeprefix(_RECORD): item for item in found}
        items.pop(before or "", None)
        return [(one, self._table.apart(_operation, item)) for one, item in list(items.items())[:limit]]

    def open(self) -> Sequence[Open]:
        """A list that cannot be read, and whose records give no answer, is left out: the other clients' are read."""
        found = list[Open]()
        for item in self._table.query_all(_OPEN):
            try:
                found.append(self._open_in(item))
            except Unavailable as error:
                extra = {"action": "open_not_read", "clientId": _client_of(item)}
                log.warning("a damaged list of operations is not made anew: %s", error, extra=extra)
        return found

    def open_of(self, client_id: str) -> Open:
        item = self._table.get(_OPEN, _OF + client_id)
        return Open(client_id) if item is None else self._open_in(item)

    def put_open(self, before: Open, after: Open) -> bool:
        """One conditional write. A list that is empty is not stored, so it is deleted where there was one."""
        place = (_OPEN, _OF + after.client_id)
        if not after.since:
            self._table.delete_if(place, "#open = :before", before=_encoded(before))
            return not self.open_of(after.client_id).since
        item = written(clientId=place[0], item=place[1], open=_encoded(after))
        try:
            if before.since:
                self._table.put(item, "#open = :before", before=_encoded(before))
            else:
                self._table.put(item, "attribute_not_exists(#clientId)")
        except ConditionFailed as refused:
            return refused.item is not None and refused.item.get("open") == item["open"]
        return True

    def _open_in(self, item: Item) -> Open:
        """The list in an item. If it cannot be read, it is made anew from the records, in place of those very bytes."""
        found = self._table.apart(_open, item)
        if not isinstance(found, Unreadable):
            return found
        client_id, damaged = _client_of(item), item.get("open")
        records = self._table.query_all(client_id, between=(_RECORD, _RECORD + "~"))
        read = {one["item"]["S"].removeprefix(_RECORD): self._table.apart(_operation, one) for one in records}
        made = Open(client_id, {name: 0 for name, one in read.items() if _may_go_on(one)})
        condition = "attribute_not_exists(#open)" if damaged is None else "#open = :damaged"
        values = {} if damaged is None else {"damaged": damaged}
        if made.since:
            with suppress(ConditionFailed):
                self._table.put({**item, **written(open=_encoded(made))}, condition, **values)
        else:
            self._table.delete_if((_OPEN, item["item"]["S"]), condition, **values)
        return made


def _operation(item: Item) -> Operation:
    return decoded(item, "operation", Operation, client_id="clientId")


def _encoded(one: Open) -> bytes:
    return msgspec.msgpack.encode(one)


def _open(item: Item) -> Open:
    found = msgspec.msgpack.decode(item["open"]["B"], type=Open)
    if found.client_id != _client_of(item):
        raise Undecodable("it is the list of another client")
    return found


def _client_of(item: Item) -> str:
    """The client of a list."""
    return str(item["item"]["S"]).removeprefix(_OF)


def _may_go_on(one: Operation | Unreadable) -> bool:
    """Whether a call of an operation may begin. A newer version knows that of its own records."""
    return not one.is_over if isinstance(one, Operation) else isinstance(one, NewerFormat)
