"""One DynamoDB table: strong reads, and conditional writes whose refusal carries the stored item.

Every expression writes an attribute's name as `#name`, since many plain names are reserved words
(https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ReservedWords.html), and the argument `name` of the
same call as `:name`. `Table` resolves both.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Literal, TypeVar

from clockwork.aws.apart import read_apart
from clockwork.aws.errors import ConditionFailed, answer_of, ask, told, try_write
from clockwork.aws.metering import Item as Item
from clockwork.aws.metering import Key, TableMeter
from clockwork.aws.plane.plane import Outcome
from clockwork.aws.repeats import batches
from clockwork.aws.session import Aws
from clockwork.domain.errors import Unavailable, Unreadable

T = TypeVar("T")

#: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchGetItem.html
KEYS_PER_BATCH_GET = 100
BATCH_GET_ROUNDS = 6
_TELL_WHAT_IS_STORED = {"ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
_ALIAS = re.compile(r"#(\w+)")


def written(**values: str | int | bytes | frozenset[int] | Mapping[str, Any]) -> Item:
    """The item with these attributes, as DynamoDB writes it."""
    return {name: _written(value) for name, value in values.items()}


def values_of(item: Item) -> Mapping[str, Any]:
    """The values of an item whose attributes are text and whole numbers, by the names of the attributes."""
    return {name: int(value["N"]) if "N" in value else value.get("S") for name, value in item.items()}


def seconds(at: int) -> int:
    """An instant (ms) as TTL needs it: epoch seconds, rounded up so that no item expires early."""
    return -(-at // 1000)


class Table:
    """One table, given by its name and the names of its key attributes (all of type text)."""

    def __init__(self, aws: Aws, name: str, *key: str) -> None:
        self._name = name
        self._key = key
        self._plane = aws.plane("dynamodb")
        self._backoff = aws.backoff
        self._aws = aws
        self.meter = TableMeter(aws, name, key)

    def apart(self, read: Callable[[Item], T], item: Item) -> T | Unreadable:
        """The content of an item, or the reason why the item cannot be read, which is logged and counted.

        A call that answers with several items reads each in this way: whatever one of them holds, the others are read.
        """
        return read_apart(read, item, self._name, self._key, self._aws.on_unreadable)

    def readable(self, read: Callable[[Item], T], items: Iterable[Item]) -> list[T]:
        """The contents of these items, without those that cannot be read."""
        found = (self.apart(read, item) for item in items)
        return [one for one in found if not isinstance(one, Unreadable)]

    def get(self, *key: str) -> Item | None:
        """The item under a key, None if there is none."""
        answer = ask(self._plane.call, "GetItem", TableName=self._name, Key=self._key_item(key), ConsistentRead=True)
        item: Item | None = answer.get("Item")
        self.meter.got([key], [] if item is None else [item])
        return item

    def get_all(self, keys: Sequence[Key]) -> dict[Key, Item]:
        """The items under these keys, by key, of those that there are. Raises Unavailable, as for unanswered keys."""
        distinct = list(dict.fromkeys(keys))
        if len(distinct) == 1:
            item = self.get(*distinct[0])
            return {} if item is None else {distinct[0]: item}
        return {tuple(item[name]["S"] for name in self._key): item for item in self._get_batches(distinct)}

    def query(self, partition: str, between: tuple[str, str], limit: int) -> tuple[list[Item], bool]:
        """One page of the items `between` two sort keys, both included, in key order, and whether there may be more.

        A page holds at most `limit` items and 1 MB. DynamoDB may answer with an empty page and a key to go on from.
        Then the next page is read, so that an empty one is the last.
        """
        page, more = list[Item](), True
        pages = self._pages("Query", limit, ConsistentRead=True, **range_of(self._key, partition, between))
        while more and not page:
            page, more = next(pages)
        return page, more

    def query_all(
        self,
        partition: str,
        limit: int | None = None,
        *,
        between: tuple[str, str] | None = None,
        before: str | None = None,
        newest_first: bool = False,
    ) -> list[Item]:
        """The items of a partition, `between` two sort keys or `before` one, at most `limit`, read page after page."""
        wanted = range_of(self._key, partition, between, before)
        return self._all("Query", limit, ConsistentRead=True, ScanIndexForward=not newest_first, **wanted)

    def scan(self, *attributes: str) -> list[Item]:
        """The given attributes of every item, all of them if none is given; for small tables only."""
        names = ", ".join(f"#{attribute}" for attribute in attributes)
        wanted = _expressions({}, ProjectionExpression=names) if names else {}
        return self._all("Scan", ConsistentRead=True, **wanted)

    def scan_part(self, part: int, parts: int, condition: str) -> Iterator[list[Item]]:
        """The items of part number `part`, counted from 0, of `parts` even, disjoint parts of the table, page by page.

        Items for which the condition does not hold stay at the table, so a page may be empty.
        """
        wanted = _expressions({}, FilterExpression=condition)
        for items, _ in self._pages("Scan", None, ConsistentRead=True, Segment=part, TotalSegments=parts, **wanted):
            yield items

    def scan_behind(self, key: Key | None, condition: str, /, **values: Any) -> Iterator[list[Item]]:
        """The items of the table behind a key, page by page, in the table's own order; all of them without a key.

        Items for which the condition does not hold stay at the table, so a page may be empty.
        """
        wanted = _expressions(values, FilterExpression=condition)
        if key is not None:
            wanted["ExclusiveStartKey"] = self._key_item(key)
        for items, _ in self._pages("Scan", None, ConsistentRead=True, **wanted):
            yield items

    def store(self, item: Item) -> None:
        """Store the whole item, whatever is stored under its key."""
        self.meter.put(item)
        self._put({"TableName": self._name, "Item": item})

    def put_new(self, item: Item) -> bool:
        """Store an item unless there is one under its key; False if there is one."""
        return try_write(self.replace, item, self._key[0], None)

    def put(self, item: Item, condition: str, /, **values: Any) -> None:
        """Store the whole item if the condition holds; raises ConditionFailed if not."""
        self._put(self.putting(item, condition, **values))

    def replace(self, item: Item, attribute: str, before: str | int | None) -> None:
        """Compare-and-set: store the whole item if the stored one's attribute is `before` (None: if none is stored).

        Raises ConditionFailed if not.
        """
        self._put(self.replacement(item, attribute, before))

    def replacement(self, item: Item, attribute: str, before: str | int | Item | None) -> dict[str, Any]:
        """The request of `replace` to DynamoDB, for a transaction; `before` may be as DynamoDB wrote it."""
        if before is None:
            return self.putting(item, f"attribute_not_exists(#{self._key[0]})")
        return self.putting(item, f"#{attribute} = :before", before=before)

    def put_each_new(self, items: Sequence[Item]) -> list[Outcome]:
        """`put_new` for several items; for `answer_of` to read, in order."""
        return self.replace_each(self._key[0], [(item, None) for item in items])

    def replace_each(self, attribute: str, changes: Iterable[tuple[Item, str | int | None]]) -> list[Outcome]:
        """`replace` for several items, each with what its attribute was before; for `answer_of` to read, in order."""
        requests = (self.replacement(item, attribute, before) for item, before in changes)
        return self._plane.call_all("PutItem", ({**request, **_TELL_WHAT_IS_STORED} for request in requests))

    def delete(self, *key: str) -> None:
        """Delete an item; a missing item is no error."""
        ask(self._plane.call, "DeleteItem", TableName=self._name, Key=self._key_item(key))

    def delete_if(self, key: Key, condition: str, /, **values: Any) -> None:
        """Delete an item if the condition holds; otherwise it stays."""
        expressions = _expressions(values, ConditionExpression=condition)
        with suppress(ConditionFailed):
            ask(self._plane.call, "DeleteItem", TableName=self._name, Key=self._key_item(key), **expressions)

    def update(self, key: Key, change: str, condition: str, /, **values: Any) -> bool:
        """Change an item if the condition holds; whether it held."""
        return try_write(self._update, key, "NONE", values, UpdateExpression=change, ConditionExpression=condition)

    def update_and_read(self, key: Key, change: str, condition: str, /, **values: Any) -> Item:
        """Change an item if the condition holds; the whole item after the change. Raises ConditionFailed if not."""
        return self._update(key, "ALL_NEW", values, UpdateExpression=change, ConditionExpression=condition)

    def _update(
        self, key: Key, answer: Literal["NONE", "ALL_NEW"], values: Mapping[str, Any], **expressions: str
    ) -> Item:
        self.meter.changed(key)
        stored = ask(
            self._plane.call,
            "UpdateItem",
            TableName=self._name,
            Key=self._key_item(key),
            ReturnValues=answer,
            **_TELL_WHAT_IS_STORED,
            **_expressions(values, **expressions),
        )
        return {} if answer == "NONE" else told(stored, "Attributes")

    def _put(self, request: dict[str, Any]) -> None:
        ask(self._plane.call, "PutItem", **request, **_TELL_WHAT_IS_STORED)

    def putting(self, item: Item, condition: str, /, **values: Any) -> dict[str, Any]:
        """The request of `put` to DynamoDB, for a transaction."""
        self.meter.put(item)
        return {"TableName": self._name, "Item": item, **_expressions(values, ConditionExpression=condition)}

    def _all(self, operation: str, limit: int | None = None, **request: Any) -> list[Item]:
        items: list[Item] = []
        for page, _ in self._pages(operation, limit, **request):
            items += page
            if limit is not None and len(items) >= limit:
                break
        return items[:limit]

    def _pages(self, operation: str, limit: int | None, **request: Any) -> Iterator[tuple[list[Item], bool]]:
        """The pages of a query or a scan, each with at most `limit` items, and whether there may be more behind it."""
        request |= {"TableName": self._name} if limit is None else {"TableName": self._name, "Limit": limit}
        while True:
            answer = ask(self._plane.call, operation, **request)
            behind, items = answer.get("LastEvaluatedKey"), told(answer, "Items")
            self.meter.queried(request, items)
            yield items, bool(behind)
            if not behind:
                return
            request["ExclusiveStartKey"] = behind

    def _get_batches(self, keys: Sequence[Key]) -> list[Item]:
        items: list[Item] = []
        waiting: list[Any] = [
            {"Keys": [self._key_item(key) for key in batch], "ConsistentRead": True}
            for batch in batches(keys, KEYS_PER_BATCH_GET)
        ]
        for _ in self._backoff.rounds(BATCH_GET_ROUNDS):
            asked = [{"RequestItems": {self._name: batch}} for batch in waiting]
            answers = [answer_of(outcome) for outcome in self._plane.call_all("BatchGetItem", asked)]
            waiting = []
            for answer in answers:
                items += told(answer, "Responses").get(self._name, ())
                if unanswered := told(answer, "UnprocessedKeys").get(self._name):
                    waiting.append(unanswered)
            if not waiting:
                self.meter.got(keys, items)
                return items
        unanswered_keys = sum(len(batch["Keys"]) for batch in waiting)
        raise Unavailable(f"{unanswered_keys} of {len(keys)} keys of {self._name} went unanswered")

    def _key_item(self, key: Key) -> Item:
        return written(**dict(zip(self._key, key, strict=True)))


def range_of(
    key: Key,
    partition: str,
    between: tuple[str, str] | None = None,
    before: str | None = None,
    after: str | None = None,
) -> dict[str, Any]:
    """The condition of a query on the sort keys of a partition: both ends of `between` included, the others not."""
    condition, values = f"#{key[0]} = :partition", {"partition": partition}
    if between is not None:
        condition += f" AND #{key[1]} BETWEEN :first AND :last"
        values |= {"first": between[0], "last": between[1]}
    if before is not None:
        condition += f" AND #{key[1]} < :before"
        values["before"] = before
    if after is not None:
        condition += f" AND #{key[1]} > :after"
        values["after"] = after
    return _expressions(values, KeyConditionExpression=condition)


def _expressions(values: Mapping[str, Any], **expressions: str) -> dict[str, Any]:
    """Expressions of a request, in which `#name` is an attribute, and `:name` is one of `values`."""
    names = {f"#{name}": name for name in _ALIAS.findall(" ".join(expressions.values()))}
    request: dict[str, Any] = {**expressions, "ExpressionAttributeNames": names}
    if values:
        request["ExpressionAttributeValues"] = written(**{f":{name}": value for name, value in values.items()})
    return request


def _written(value: str | int | bytes | frozenset[int] | Mapping[str, Any]) -> Mapping[str, Any]:
    if isinstance(value, frozenset):
        return {"NS": [str(number) for number in sorted(value)]}
    if isinstance(value, Mapping):
        return value  # as DynamoDB writes it
    return {"S": value} if isinstance(value, str) else {"B": value} if isinstance(value, bytes) else {"N": str(value)}
