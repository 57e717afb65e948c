"""Damages stored items at random, straight in the tables of the deployed stack."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from clockwork.domain import keys
from tests.contract.schema import KEYS
from tests.e2e.deployment import Deployment
from tests.e2e.waiting import await_value

Item = Mapping[str, Any]
#: Values that no version writes, of each type that an attribute may have.
ODD_VALUES: Sequence[Item] = (
    {"B": b""},
    {"B": b"\x01garbage"},
    {"S": "odd"},
    {"S": "p000"},
    {"N": "1.5"},
    {"N": "-1"},
    {"N": "9" * 38},
    {"NS": ["1", "-3", "1e30"]},
    {"SS": ["a", "b"]},
    {"BS": [b"a"]},
    {"L": []},
    {"M": {"odd": {"S": "odd"}}},
    {"BOOL": True},
    {"NULL": True},
)
#: Ids in the shards table that name no shard.
STRAYS = ("p", "p1", "x001", "note", "ordered2", "p00٣", "P000", " p000", "p-01", "p" + "9" * 600, "\U0010ffff")
#: Names of shards that this deployment does not have: pollers visit them, and nobody's job is in them.
SURPLUS = ("p901", "p902", "o777")
#: A prefix of the attributes that are put beside the real ones of a shard.
BESIDE = "oddNote"
#: The outputs of the stack that name a queue in which messages of releases lie.
_HOLDS_RELEASES = re.compile("ReleaseQueue|DeadLetterQueue")
#: Nothing comes any more once nothing has come for so long.
QUIET_SECONDS = 3.0
#: How many items a call to DynamoDB deletes at most.
MOST_IN_BATCH = 25


def flipped(rng: random.Random, blob: bytes) -> bytes:
    """The blob with one to four other bits."""
    changed = bytearray(blob or b"\x00")
    for _ in range(rng.randint(1, 4)):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def damaged(rng: random.Random, item: Item, key: Sequence[str]) -> dict[str, Any]:
    """The item with one damage: of a blob, of an attribute, or of its sort key, which makes an extra row."""
    rest = [name for name in item if name not in key]
    blobs = [name for name in rest if "B" in item[name]]
    # DynamoDB refuses an item in whose index attributes there is another type.
    others = [name for name in rest if not name.startswith("attention")]
    ways: list[Callable[[], dict[str, Any]]] = [lambda: {**item, "odd": rng.choice(ODD_VALUES)}]
    if rest:
        ways.append(lambda: {name: item[name] for name in item if name != dropped})
        dropped = rng.choice(rest)
    if others:
        ways.append(lambda: {**item, rng.choice(others): rng.choice(ODD_VALUES)})
    if len(key) > 1:
        ways.append(lambda: {**item, key[1]: {"S": _another(rng, item[key[1]]["S"])}})
    for name in blobs:
        blob = item[name]["B"]
        ways += [
            lambda name=name, blob=blob: {**item, name: {"B": flipped(rng, blob)}},  # type: ignore[misc]
            lambda name=name, blob=blob: {**item, name: {"B": flipped(rng, blob)}},  # type: ignore[misc]
            lambda name=name, blob=blob: {**item, name: {"B": bytes([rng.randrange(256)]) + blob[1:]}},  # type: ignore[misc]
            lambda name=name, blob=blob: {**item, name: {"B": blob[: rng.randrange(len(blob) + 1)]}},  # type: ignore[misc]
        ]
    return rng.choice(ways)()


def _another(rng: random.Random, sort_key: str) -> str:
    """Another sort key near this one: most of them no version makes."""
    at = rng.randrange(1, len(sort_key) + 1)
    return rng.choice(
        (sort_key[:at], sort_key[:at] + "!" + sort_key[at:], "1!" + sort_key, f"{sort_key}\u00e9", "0 odd")
    )


class Vandal:
    """Damages what belongs to one client, or to nobody. `made` counts the mutations of each table.

    Each mutation damages an item as it was when first seen. One turn in five writes an item as it was: so the client's
    work goes on, and meets the damages.
    """

    def __init__(self, deployment: Deployment, client_id: str, rng: random.Random) -> None:
        self.made = dict.fromkeys(KEYS, 0)
        self._deployment = deployment
        self._client_id = client_id
        self._rng = rng
        self._dynamodb = deployment.stack.client("dynamodb")
        self._names = {kind: deployment.stack.outputs[f"{kind.capitalize()}Table"] for kind in KEYS}
        self._seen: dict[str, dict[tuple[str, ...], Item]] = {kind: {} for kind in KEYS}
        self._shards: list[str] = []
        self._written: set[tuple[str, tuple[str, ...]]] = set()

    @property
    def total(self) -> int:
        """How many mutations there were so far."""
        return sum(self.made.values())

    def look(self) -> None:
        """Notes the items of the client that have come since, and the shards that are in use."""
        real = set(keys.plain_partitions(16))
        self._shards = sorted(real & {item["partitionId"]["S"] for item in self._all("shards")})
        for kind in ("timeline", "jobs", "executions", "clients"):
            for item in self._all(kind):
                if self._is_of_client(item):
                    self._seen[kind].setdefault(_place(kind, item), item)

    def damage_one(self, kind: str) -> None:
        """Damages an item of a table, if there is one of the client's in it."""
        if kind == "shards":
            self._damage_shards()
        elif seen := self._seen[kind]:
            item = self._rng.choice(list(seen.values()))
            if self._rng.random() < 0.2:
                self._put(kind, [dict(item)])
            else:
                self._count(kind, [damaged(self._rng, item, KEYS[kind])])

    def damage_partition(self, partition_id: str) -> None:
        """Damages every timeline row of the client in a shard."""
        query = {
            "KeyConditionExpression": "partitionId = :id",
            "ExpressionAttributeValues": {":id": {"S": partition_id}},
        }
        pages = self._dynamodb.get_paginator("query").paginate(TableName=self._names["timeline"], **query)
        found = [item for page in pages for item in page["Items"] if self._is_of_client(item)]
        self._count("timeline", [damaged(self._rng, item, KEYS["timeline"]) for item in found])

    def clean(self, shards: Collection[str]) -> None:
        """Deletes what was damaged, what the client has, the rows of these shards, and all messages of releases.

        Waits until nothing of that comes any more: a Lambda under way may write, or send, once more.
        """
        queues = [url for name, url in self._deployment.stack.outputs.items() if _HOLDS_RELEASES.search(name)]
        for shard in self._all("shards"):
            if beside := [name for name in shard if name.startswith(BESIDE)]:
                self._update_shard(shard["partitionId"]["S"], "REMOVE " + ", ".join(beside))
        self._written |= {("shards", (shard,)) for shard in shards}
        quiet_since = time.monotonic()

        def is_quiet() -> bool | None:
            nonlocal quiet_since
            if self._delete_all() + self._purge(queues):
                quiet_since = time.monotonic()
            return True if time.monotonic() > quiet_since + QUIET_SECONDS else None

        await_value(is_quiet, "nothing comes any more of what was damaged", every_seconds=0.5)

    def _delete_all(self) -> int:
        """Deletes what was damaged and what the client has; returns how many items there were."""
        found = [(kind, item) for kind in KEYS for item in self._all(kind)]
        ours = [one for one in found if (one[0], _place(*one)) in self._written or self._is_of_client(one[1])]
        for at in range(0, len(ours), MOST_IN_BATCH):
            requests: dict[str, list[Item]] = {}
            for kind, item in ours[at : at + MOST_IN_BATCH]:
                key = {name: item[name] for name in KEYS[kind]}
                requests.setdefault(self._names[kind], []).append({"DeleteRequest": {"Key": key}})
            self._dynamodb.batch_write_item(RequestItems=requests)
        return len(ours)

    def _purge(self, queues: Sequence[str]) -> int:
        """Deletes all messages of the queues; returns how many there were."""
        depths = {url: self._deployment.depth(url) for url in queues}
        for url in (url for url, depth in depths.items() if depth):
            self._deployment.stack.client("sqs").purge_queue(QueueUrl=url)
        return sum(depths.values())

    def _damage_shards(self) -> None:
        """Damages a row that is no real shard's, or puts an attribute beside the real ones of a shard."""
        self.made["shards"] += 1
        turn = self._rng.randrange(4)
        if turn == 0 and self._shards:
            shard = self._rng.choice(self._shards)
            note = f"{BESIDE}{self._rng.randrange(8)}"
            self._update_shard(shard, f"SET {note} = :odd", {":odd": self._rng.choice(ODD_VALUES)})
            return
        name = self._rng.choice(SURPLUS if turn == 1 else STRAYS)
        row = {
            "partitionId": {"S": name},
            "epoch": {"N": "0"},
            "leaseUntil": {"N": "0"},
            "owner": {"S": ""},
            "cursor": {"S": keys.BEGINNING},
            "horizon": {"S": keys.BEGINNING},
            "standing": {"S": "used"},
        }
        self._put("shards", [damaged(self._rng, row, KEYS["shards"])])

    def _update_shard(self, partition_id: str, expression: str, values: Item | None = None) -> None:
        more: dict[str, Any] = {"ExpressionAttributeValues": values} if values else {}
        self._dynamodb.update_item(
            TableName=self._names["shards"],
            Key={"partitionId": {"S": partition_id}},
            UpdateExpression=expression,
            ConditionExpression="attribute_exists(partitionId)",
            **more,
        )

    def _count(self, kind: str, items: Sequence[Item]) -> None:
        self._put(kind, items)
        self.made[kind] += len(items)

    def _put(self, kind: str, items: Sequence[Item]) -> None:
        for item in items:
            self._dynamodb.put_item(TableName=self._names[kind], Item=item)
            self._written.add((kind, _place(kind, item)))

    def _all(self, kind: str) -> list[Item]:
        pages = self._dynamodb.get_paginator("scan").paginate(TableName=self._names[kind], ConsistentRead=True)
        return [item for page in pages for item in page["Items"]]

    def _is_of_client(self, item: Item) -> bool:
        name = self._client_id
        return any(name in value.get("S", "") or name.encode() in value.get("B", b"") for value in item.values())


def _place(kind: str, item: Item) -> tuple[str, ...]:
    return tuple(item[name]["S"] for name in KEYS[kind])
