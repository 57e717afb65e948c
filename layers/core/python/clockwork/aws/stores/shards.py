"""The shards table in DynamoDB: each step of a poller is one conditional update of its shard's row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from clockwork.aws.errors import ConditionFailed
from clockwork.aws.session import Aws
from clockwork.aws.stores.table import Item, Table, values_of, written
from clockwork.domain import keys
from clockwork.domain.errors import Undecodable, Unreadable, readable
from clockwork.domain.timeline import Shard, ShardStatus
from clockwork.ports import Lease

#: The key of the row that holds the number of ordered shards; no shard has such a partitionId.
_ORDERED = "ordered"
#: The attributes of a shard's row.
_ATTRIBUTES = Shard.__struct_encode_fields__
#: Those that a row has from its first change of status and its first commit on.
_NOT_AT_FIRST = ("changes", "released", "quarantined")


class AwsShards:
    """`ports.Shards` on a table with the key `partitionId`.

    The caller gives a new owner's name with every call of `acquire`: by this name, a repeat finds its own lease.
    """

    def __init__(self, aws: Aws, table: str) -> None:
        self._table = Table(aws, table, "partitionId")

    def list(self) -> Sequence[str]:
        left = {"S": ShardStatus.LEFT.value}
        items = self._of_shards("partitionId", "standing")
        return sorted(item["partitionId"]["S"] for item in items if item.get("standing") != left)

    def all(self) -> Sequence[Shard]:
        """A shard whose row cannot be read is returned as one that nobody has visited: whoever visits it fails."""
        return sorted(map(self._visited, self._of_shards()), key=lambda one: one.partition_id)

    def register(self, partition_id: str, status: ShardStatus = ShardStatus.USED) -> None:
        fields = msgspec.to_builtins(Shard(partition_id, status=status))
        self._table.put_new(written(**{name: one for name, one in fields.items() if name not in _NOT_AT_FIRST}))

    def ordered_count(self, first: int) -> int:
        """The row is written if it is missing. A caller that comes second reads the row of the first."""
        made = written(partitionId=_ORDERED, madeWith=first)
        item = self._table.get(_ORDERED)
        if item is None:
            item = made if self._table.put_new(made) else self._table.get(_ORDERED) or made
        count = self._table.apart(_count, item)
        if isinstance(count, Unreadable):
            self._table.store(made)
            return first
        return count

    def change(self, shard: Shard, status: ShardStatus) -> bool:
        # A row has no `changes` before its first change.
        unchanged = "#changes = :seen" if shard.changes else "attribute_not_exists(#changes)"
        return self._table.update(
            (shard.partition_id,),
            "SET #standing = :standing, #changes = :changes",
            f"attribute_exists(#partitionId) AND {unchanged}",
            standing=status.value,
            changes=shard.changes + 1,
            **({"seen": shard.changes} if shard.changes else {}),
        )

    def get(self, partition_ids: Sequence[str]) -> Mapping[str, Shard]:
        items = self._table.get_all([(partition_id,) for partition_id in partition_ids])
        unregistered = {p: Shard(p, status=ShardStatus.LEFT) for p in partition_ids}
        registered = {p: self._table.apart(_from_item, items[p,]) for p in partition_ids if (p,) in items}
        return {p: readable(registered.get(p, unregistered[p])) for p in partition_ids}

    def acquire(self, partition_id: str, owner: str, now: int, until: int, horizon: str) -> Lease | None:
        """One conditional update, or two if the stored horizon is ahead of `horizon`."""
        try:
            return self._take(
                partition_id, owner, now, until, ", #horizon = :horizon", "#horizon <= :horizon", horizon=horizon
            )
        except ConditionFailed as refused:
            stored = _stored(refused)
        if stored is None or stored.lease_until >= now:
            return _own(stored, owner, until)
        # The lease has ended, yet the condition failed: the last poller's clock was ahead of ours, or its lookahead.
        try:
            return self._take(partition_id, owner, now, until, "", "#epoch = :epoch", epoch=stored.epoch)
        except ConditionFailed as refused:
            return _own(_stored(refused), owner, until)

    def commit(self, lease: Lease) -> bool:
        """One conditional update, which also refuses to move the cursor or the horizon back.

        Without that, an update that was delayed on its way could undo later ones.
        """
        return self._table.update(
            (lease.partition_id,),
            "SET #cursor = :cursor, #horizon = :horizon, #leaseUntil = :until, #released = :released, "
            "#quarantined = :quarantined",
            "#owner = :owner AND #epoch = :epoch AND #cursor <= :cursor AND #horizon <= :horizon",
            owner=lease.owner,
            epoch=lease.epoch,
            cursor=lease.cursor,
            horizon=lease.horizon,
            until=lease.until,
            released=lease.released,
            quarantined=lease.quarantined,
        )

    def _of_shards(self, *attributes: str) -> Iterator[Item]:
        return (item for item in self._table.scan(*attributes) if keys.is_shard(item["partitionId"]["S"]))

    def _visited(self, item: Item) -> Shard:
        shard = self._table.apart(_from_item, item)
        return Shard(item["partitionId"]["S"]) if isinstance(shard, Unreadable) else shard

    def _take(
        self, partition_id: str, owner: str, now: int, until: int, change: str, condition: str, **values: str | int
    ) -> Lease:
        """Take the lease, and change more besides, if it has ended and the condition holds; raises ConditionFailed."""
        item = self._table.update_and_read(
            (partition_id,),
            f"SET #owner = :owner, #epoch = #epoch + :one, #leaseUntil = :until{change}",
            f"#leaseUntil < :now AND {condition}",
            owner=owner,
            one=1,
            until=until,
            now=now,
            **values,
        )
        return _lease(_from_item(item))


def _stored(refused: ConditionFailed) -> Shard | None:
    return None if refused.item is None else _from_item(refused.item)


def _own(stored: Shard | None, owner: str, until: int) -> Lease | None:
    """The stored lease if this call of `acquire` has taken it; None if it is another's.

    It is this call's own if an answer was lost: the repeat was refused since the first try had taken the lease.
    """
    if stored is None or (stored.owner, stored.lease_until) != (owner, until):
        return None
    return _lease(stored)


def _lease(shard: Shard) -> Lease:
    place = shard.cursor, shard.horizon
    return Lease(shard.partition_id, shard.owner, shard.epoch, shard.lease_until, *place, quarantined=shard.quarantined)


def _from_item(item: Item) -> Shard:
    # Whatever stands beside the attributes of a shard, its row is read: all clients of the shard need it.
    return msgspec.convert(values_of({name: item[name] for name in _ATTRIBUTES if name in item}), Shard)


def _count(item: Item) -> int:
    count = int(item["madeWith"]["N"])
    if count < 0:
        raise Undecodable("a number of shards below 0")
    return count
