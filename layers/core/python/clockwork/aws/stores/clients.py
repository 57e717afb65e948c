"""The clients table in DynamoDB: the clients, and for each principal the clients that list it.

`CachedClients` keeps clients for a moment, so that not every job costs a read of its client.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from clockwork.aws.apart import decoded
from clockwork.aws.errors import Throttled, ask
from clockwork.aws.session import Aws
from clockwork.aws.stores.table import Item, Table, written
from clockwork.domain.clients import ADMINS, Client, ClientUnreadable, standing_of
from clockwork.domain.errors import Unavailable, Unreadable
from clockwork.domain.storage.codec import encode
from clockwork.ports import Clients as ClientsPort
from clockwork.ports import Clock

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

PUT_ROUNDS = 6
_ITEM = "client"
#: Prefix of a principal's ARN in the attribute `clientId`; no clientId begins with it.
_PRINCIPAL = "#"
_ADMINS_ITEM = "admins"
#: How old an answer of `CachedClients.admins` may be (ms).
ADMINS_AGE_MS = 60_000


class AwsClients:
    """`ports.Clients` on a table with the key `clientId` / `item`.

    A client is the item `client`: its definition, and its standing once more, which outlives a damage to the first.
    Each of its principals has a row {clientId: "#" + ARN, item: clientId}, so that the clients of one principal are one
    partition. The admins are one item with their ARNs, and spaces between them. One put changes at most 99 principals,
    the limit of one transaction:
    https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
    """

    def __init__(self, aws: Aws, table: str) -> None:
        self._name = table
        self._table = Table(aws, table, "clientId", "item")
        self._dynamodb: DynamoDBClient = aws.client_later("dynamodb")
        self._backoff = aws.backoff

    def get(self, client_id: str, *, fresh: bool = False) -> Client | None:  # noqa: ARG002 - always fresh
        item = self._table.get(client_id, _ITEM)
        return None if item is None else self._whole(item)

    def _whole(self, item: Item) -> Client:
        """The client of an item. Raises ClientUnreadable, with as much of its standing as can be read."""
        client = self._table.apart(_from_item, item)
        if not isinstance(client, Unreadable):
            return client
        raise ClientUnreadable(item["clientId"]["S"], str(client), self._standing(item))

    def _standing(self, item: Item) -> Client:
        standing = self._table.apart(partial(_from_item, attribute="standing"), item)
        return Client(client_id=item["clientId"]["S"]) if isinstance(standing, Unreadable) else standing

    def _left_of(self, stored: Item | None) -> Client | None:
        """The stored client, or what is left of it."""
        try:
            return None if stored is None else self._whole(stored)
        except ClientUnreadable as fault:
            return fault.standing

    def put(self, client: Client, *, replaces: int | None = None) -> bool:
        """Replace the client and its principals in one transaction.

        Two puts at the same time leave the principals of one of them, never a mixture. A put that DynamoDB refuses for
        now is planned anew, at most PUT_ROUNDS times; then the caller gets Unavailable.
        """
        refusal: Throttled | None = None
        for _ in self._backoff.rounds(PUT_ROUNDS):
            stored = self._table.get(client.client_id, _ITEM)
            before = self._left_of(stored)
            if replaces is not None and not _replaces(before, client, replaces):
                return False
            try:
                ask(self._dynamodb.transact_write_items, TransactItems=self._changes(stored, before, client))
            except Throttled as error:
                refusal = error  # another put may have come between the read and this one: read again
            else:
                return True
        raise Unavailable(f"client {client.client_id} was not stored in {PUT_ROUNDS} rounds") from refusal

    def of_principal(self, principal: str) -> Sequence[str]:
        return [item["item"]["S"] for item in self._table.query_all(_PRINCIPAL + principal)]

    def admins(self) -> frozenset[str]:
        item = self._table.get(ADMINS, _ADMINS_ITEM)
        found = frozenset[str]() if item is None else self._table.apart(_admins_of, item)
        return frozenset() if isinstance(found, Unreadable) else found

    def name_admins(self, principals: Sequence[str]) -> None:
        self._table.store(written(clientId=ADMINS, item=_ADMINS_ITEM, principals=" ".join(principals)))

    def _changes(self, stored: Item | None, replaced: Client | None, client: Client) -> list[Any]:
        before = set() if replaced is None else set(replaced.principals)
        after = set(client.principals)
        links = [{"Put": {"TableName": self._name, "Item": _link(p, client.client_id)}} for p in sorted(after - before)]
        cuts = [
            {"Delete": {"TableName": self._name, "Key": _link(p, client.client_id)}} for p in sorted(before - after)
        ]
        return [{"Put": self._replacement(stored, client)}, *links, *cuts]

    def _replacement(self, stored: Item | None, client: Client) -> Any:
        """The put of the client in place of the stored item, whatever that holds."""
        definition, standing = encode(client), encode(standing_of(client))
        item = written(clientId=client.client_id, item=_ITEM, definition=definition, standing=standing)
        if stored is not None and "definition" not in stored:
            return self._table.putting(item, "attribute_exists(#clientId) AND attribute_not_exists(#definition)")
        return self._table.replacement(item, "definition", None if stored is None else stored["definition"])

    def list(self, limit: int, behind: str | None) -> Sequence[tuple[str, Client | Unreadable]]:
        """A scan, from the item of `behind` on: the rows of principals and regulation are filtered at the table."""
        found: list[tuple[str, Client | Unreadable]] = []
        start = None if behind is None else (behind, _ITEM)
        for items in self._table.scan_behind(start, "#item = :item", item=_ITEM):
            found += [(item["clientId"]["S"], self._table.apart(_from_item, item)) for item in items]
            if len(found) >= limit:
                break
        return found[:limit]


def _from_item(item: Item, attribute: str = "definition") -> Client:
    return decoded(item, attribute, Client, client_id="clientId")


def _admins_of(item: Item) -> frozenset[str]:
    return frozenset(item["principals"]["S"].split())


def _replaces(before: Client | None, client: Client, revision: int) -> bool:
    """Whether the stored client is the one to replace, or the put of before, whose answer was lost, is done."""
    return before == client or revision == (0 if before is None else before.revision)


def _link(principal: str, client_id: str) -> Item:
    return written(clientId=_PRINCIPAL + principal, item=client_id)


#: The most clients that are kept; the one read longest ago makes room.
CAPACITY = 1_000


class CachedClients:
    """`ports.Clients` with a cache: the answer of `get` may be `seconds` old, and that of `admins` a minute.

    The absence of a client is never cached, and neither is the list of a principal's clients: an old list would hide a
    new client. A request that names its client does not read that list.
    """

    def __init__(self, inner: ClientsPort, clock: Clock, seconds: float, capacity: int = CAPACITY) -> None:
        self._inner = inner
        self._clock = clock
        self._age_ms = seconds * 1000
        self._capacity = capacity
        self._read: dict[str, tuple[int, Client]] = {}
        self._admins: tuple[int, frozenset[str]] | None = None

    def get(self, client_id: str, *, fresh: bool = False) -> Client | None:
        read_at, client = self._read.get(client_id, (0, None))
        if client is not None and not fresh and 0 <= self._clock.now() - read_at < self._age_ms:
            return client
        now = self._clock.now()
        client = self._inner.get(client_id)
        self._read.pop(client_id, None)
        if client is not None:
            self._read[client_id] = (now, client)
            if len(self._read) > self._capacity:
                # A poller of several shards uses this cache in several threads: another one may have changed it.
                self._read.pop(next(iter(list(self._read)), ""), None)
        return client

    def list(self, limit: int, behind: str | None) -> Sequence[tuple[str, Client | Unreadable]]:
        return self._inner.list(limit, behind)

    def put(self, client: Client, *, replaces: int | None = None) -> bool:
        try:
            return self._inner.put(client, replaces=replaces)
        finally:
            self._read.pop(client.client_id, None)

    def of_principal(self, principal: str) -> Sequence[str]:
        return self._inner.of_principal(principal)

    def admins(self) -> frozenset[str]:
        now = self._clock.now()
        if self._admins is None or not 0 <= now - self._admins[0] < ADMINS_AGE_MS:
            self._admins = now, self._inner.admins()
        return self._admins[1]

    def name_admins(self, principals: Sequence[str]) -> None:
        self._admins = None
        self._inner.name_admins(principals)
