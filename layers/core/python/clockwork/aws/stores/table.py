"""One DynamoDB table: strong reads, and conditional writes whose refusal carries the stored item.

Every expression writes an attribute's name as `#name`, and `Table` resolves it: many plain names are reserved words
(https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ReservedWords.html).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal

from clockwork.aws.errors import ConditionFailed, ask
from clockwork.aws.repeats import batches
from clockwork.aws.session import Aws
from clockwork.domain.errors import Unavailable

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

#: Attributes by name, as DynamoDB writes them: {"S": "text"}, {"N": "1"}, {"B": b"bytes"}, {"NS": ["1"]}.
Item = Mapping[str, Any]
Key = tuple[str, ...]

#: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchGetItem.html
KEYS_PER_BATCH_GET = 100
BATCH_GET_ROUNDS = 6
_ALIAS = re.compile(r"#(\w+)")


def number(value: int) -> Item:
    """A number as DynamoDB writes it."""
    return {"N": str(value)}


def seconds(at: int) -> Item:
    """An instant (ms) as TTL needs it: epoch seconds, rounded up so that no item expires early."""
    return number(-(-at // 1000))


class Table:
    """One table, given by its name and the names of its key attributes (all of type text)."""

    def __init__(self, aws: Aws, name: str, *key: str) -> None:
        self._name = name
        self._key = key
        self._client: DynamoDBClient = aws.client("dynamodb")
        self._parallel = aws.parallel
        self._backoff = aws.backoff

    def get(self, *key: str) -> Item | None:
        """The item under a key, None if there is none."""
        return ask(self._client.get_item, TableName=self._name, Key=self._written(key), ConsistentRead=True).get("Item")

    def get_all(self, keys: Sequence[Key]) -> dict[Key, Item]:
        """The items under these keys, by key; a key without an item is left out.

        Raises Unavailable if DynamoDB leaves keys unanswered for BATCH_GET_ROUNDS rounds.
        """
        distinct = list(dict.fromkeys(keys))
        if len(distinct) == 1:
            item = self.get(*distinct[0])
            return {} if item is None else {distinct[0]: item}
        found = self._parallel.map(self._get_batch, batches(distinct, KEYS_PER_BATCH_GET))
        return {tuple(item[name]["S"] for name in self._key): item for items in found for item in items}

    def query(
        self, condition: str, values: Item, limit: int | None = None, newest_first: bool = False
    ) -> tuple[list[Item], bool]:
        """One page in key order (at most `limit` items and 1 MB), and whether there may be more."""
        pages = self._pages(condition, values, limit, newest_first)
        return next(pages)

    def query_index(self, index: str, condition: str, values: Item, limit: int) -> list[Item]:
        """The keys of up to `limit` items of an index, in descending order.

        The index lags behind the table for moments.
        """
        request: dict[str, Any] = {
            "TableName": self._name,
            "IndexName": index,
            "KeyConditionExpression": condition,
            "ExpressionAttributeNames": _aliases(condition),
            "ExpressionAttributeValues": values,
            "ScanIndexForward": False,
        }
        items: list[Item] = []
        while len(items) < limit:
            answer = ask(self._client.query, **request, Limit=limit - len(items))
            items += answer["Items"]
            if not answer.get("LastEvaluatedKey"):
                break
            request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]
        return items

    def query_all(
        self, condition: str, values: Item, limit: int | None = None, newest_first: bool = False
    ) -> list[Item]:
        """All items in the range, at most `limit`, read page after page."""
        items: list[Item] = []
        for page, _ in self._pages(condition, values, limit, newest_first):
            items += page
            if limit is not None and len(items) >= limit:
                return items[:limit]
        return items

    def scan(self, *attributes: str) -> list[Item]:
        """The given attributes of every item; for small tables only."""
        wanted = ", ".join(f"#{attribute}" for attribute in attributes)
        return self._scan(ProjectionExpression=wanted, ExpressionAttributeNames=_aliases(wanted))

    def scan_part(self, part: int, parts: int) -> list[Item]:
        """The items of part number `part`, counted from 0, of `parts` even, disjoint parts of the table."""
        return self._scan(Segment=part, TotalSegments=parts)

    def put_new(self, item: Item) -> bool:
        """Store an item unless there is one under its key; False if there is one."""
        try:
            self.put(item, f"attribute_not_exists(#{self._key[0]})")
        except ConditionFailed:
            return False
        return True

    def put(self, item: Item, condition: str, values: Item | None = None) -> None:
        """Store the whole item if the condition holds; raises ConditionFailed if not."""
        request: dict[str, Any] = {"ExpressionAttributeValues": values} if values else {}
        ask(
            self._client.put_item,
            TableName=self._name,
            Item=item,
            ConditionExpression=condition,
            ExpressionAttributeNames=_aliases(condition),
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
            **request,
        )

    def replace(self, item: Item) -> None:
        """Store the whole item without a condition, in place of any stored one."""
        ask(self._client.put_item, TableName=self._name, Item=item)

    def delete(self, *key: str) -> None:
        """Delete an item; a missing item is no error."""
        ask(self._client.delete_item, TableName=self._name, Key=self._written(key))

    def delete_if(self, key: Key, condition: str, values: Item) -> None:
        """Delete an item if the condition holds; otherwise it stays."""
        with suppress(ConditionFailed):
            ask(
                self._client.delete_item,
                TableName=self._name,
                Key=self._written(key),
                ConditionExpression=condition,
                ExpressionAttributeNames=_aliases(condition),
                ExpressionAttributeValues=values,
            )

    def update(
        self, key: Key, change: str, condition: str, values: Item, answer: Literal["NONE", "ALL_NEW"] = "NONE"
    ) -> Item:
        """Change an item if the condition holds; raises ConditionFailed if not.

        Returns the whole item after the change if `answer` is ALL_NEW, and an empty one otherwise.
        """
        return ask(
            self._client.update_item,
            TableName=self._name,
            Key=self._written(key),
            UpdateExpression=change,
            ConditionExpression=condition,
            ExpressionAttributeNames=_aliases(change + condition),
            ExpressionAttributeValues=values,
            ReturnValues=answer,
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        ).get("Attributes", {})

    def _scan(self, **request: Any) -> list[Item]:
        request |= {"TableName": self._name, "ConsistentRead": True}
        items: list[Item] = []
        while True:
            answer = ask(self._client.scan, **request)
            items += answer["Items"]
            if not answer.get("LastEvaluatedKey"):
                return items
            request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]

    def _pages(
        self, condition: str, values: Item, limit: int | None, newest_first: bool
    ) -> Iterator[tuple[list[Item], bool]]:
        request: dict[str, Any] = {
            "TableName": self._name,
            "ConsistentRead": True,
            "KeyConditionExpression": condition,
            "ExpressionAttributeNames": _aliases(condition),
            "ExpressionAttributeValues": values,
            "ScanIndexForward": not newest_first,
        }
        if limit is not None:
            request["Limit"] = limit
        while True:
            answer = ask(self._client.query, **request)
            behind = answer.get("LastEvaluatedKey")
            yield list(answer["Items"]), bool(behind)
            if not behind:
                return
            request["ExclusiveStartKey"] = behind

    def _get_batch(self, keys: Sequence[Key]) -> list[Item]:
        waiting: Any = {"Keys": [self._written(key) for key in keys], "ConsistentRead": True}
        items: list[Item] = []
        for _ in self._backoff.rounds(BATCH_GET_ROUNDS):
            answer = ask(self._client.batch_get_item, RequestItems={self._name: waiting})
            items += answer["Responses"].get(self._name, [])
            waiting = answer["UnprocessedKeys"].get(self._name)
            if not waiting:
                return items
        raise Unavailable(f"{len(waiting['Keys'])} of {len(keys)} keys of {self._name} went unanswered")

    def _written(self, key: Key) -> dict[str, Any]:
        return {name: {"S": value} for name, value in zip(self._key, key, strict=True)}


def _aliases(expression: str) -> dict[str, str]:
    return {f"#{name}": name for name in _ALIAS.findall(expression)}
