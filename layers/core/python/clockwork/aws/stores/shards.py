"""The shards table in DynamoDB: each step of a poller is one conditional update of its shard's row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from clockwork.aws.errors import ConditionFailed
from clockwork.aws.session import Aws
from clockwork.aws.stores.table import Item, Table, number
from clockwork.domain.timeline import Shard, ShardStatus
from clockwork.ports import Lease

_TAKE = "SET #owner = :owner, #epoch = #epoch + :one, #leaseUntil = :until"


class AwsShards:
    """`ports.Shards` on a table with the key `partitionId`.

    The caller gives a new owner's name with every call of `acquire`: by this name, a repeat finds its own lease.
    """

    def __init__(self, aws: Aws, table: str) -> None:
        self._table = Table(aws, table, "partitionId")

    def list(self) -> Sequence[str]:
        items = self._table.scan("partitionId", "standing")
        return sorted(item["partitionId"]["S"] for item in items if _status_of(item) is not ShardStatus.LEFT)

    def all(self) -> Sequence[Shard]:
        return sorted(map(_from_item, self._table.scan_part(0, 1)), key=lambda one: one.partition_id)

    def register(self, partition_id: str, status: ShardStatus = ShardStatus.USED) -> None:
        self._table.put_new(_to_item(Shard(partition_id, status=status)))

    def change(self, shard: Shard, status: ShardStatus) -> bool:
        # A row has no `changes` before its first change.
        unchanged = "#changes = :seen" if shard.changes else "attribute_not_exists(#changes)"
        values: Item = {":standing": {"S": status.value}, ":changes": number(shard.changes + 1)}
        if shard.changes:
            values = {**values, ":seen": number(shard.changes)}
        try:
            self._table.update(
                (shard.partition_id,),
                "SET #standing = :standing, #changes = :changes",
                f"attribute_exists(#partitionId) AND {unchanged}",
                values,
            )
        except ConditionFailed:
            return False
        return True

    def get(self, partition_ids: Sequence[str]) -> Mapping[str, Shard]:
        items = self._table.get_all([(partition_id,) for partition_id in partition_ids])
        unregistered = {p: Shard(p, status=ShardStatus.LEFT) for p in partition_ids}
        return {p: _from_item(items[p,]) if (p,) in items else unregistered[p] for p in partition_ids}

    def acquire(self, partition_id: str, owner: str, now: int, until: int, horizon: str) -> Lease | None:
        """One conditional update, or two if the stored horizon is ahead of `horizon`."""
        try:
            return self._take_and_publish(partition_id, owner, now, until, horizon)
        except ConditionFailed as refused:
            stored = _stored(refused)
        if stored is None or stored.lease_until >= now:
            return _own(stored, owner, until)
        # The lease has ended, yet the condition failed: the last poller's clock was ahead of ours, or its lookahead.
        try:
            return self._take_as_published(stored, owner, now, until)
        except ConditionFailed as refused:
            return _own(_stored(refused), owner, until)

    def commit(self, lease: Lease) -> bool:
        """One conditional update, which also refuses to move the cursor or the horizon back.

        Without that, an update that was delayed on its way could undo later ones.
        """
        try:
            self._table.update(
                (lease.partition_id,),
                "SET #cursor = :cursor, #horizon = :horizon, #leaseUntil = :until, #released = :released",
                "#owner = :owner AND #epoch = :epoch AND #cursor <= :cursor AND #horizon <= :horizon",
                {
                    ":owner": {"S": lease.owner},
                    ":epoch": number(lease.epoch),
                    ":cursor": {"S": lease.cursor},
                    ":horizon": {"S": lease.horizon},
                    ":until": number(lease.until),
                    ":released": number(lease.released),
                },
            )
        except ConditionFailed:
            return False
        return True

    def _take_and_publish(self, partition_id: str, owner: str, now: int, until: int, horizon: str) -> Lease:
        item = self._table.update(
            (partition_id,),
            f"{_TAKE}, #horizon = :horizon",
            "#leaseUntil < :now AND #horizon <= :horizon",
            {**_taking(owner, now, until), ":horizon": {"S": horizon}},
            answer="ALL_NEW",
        )
        return _lease(_from_item(item))

    def _take_as_published(self, stored: Shard, owner: str, now: int, until: int) -> Lease:
        item = self._table.update(
            (stored.partition_id,),
            _TAKE,
            "#leaseUntil < :now AND #epoch = :epoch",
            {**_taking(owner, now, until), ":epoch": number(stored.epoch)},
            answer="ALL_NEW",
        )
        return _lease(_from_item(item))


def _taking(owner: str, now: int, until: int) -> Item:
    return {":owner": {"S": owner}, ":one": number(1), ":until": number(until), ":now": number(now)}


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
    return Lease(shard.partition_id, shard.owner, shard.epoch, shard.lease_until, shard.cursor, shard.horizon)


def _to_item(shard: Shard) -> Item:
    return {
        "partitionId": {"S": shard.partition_id},
        "owner": {"S": shard.owner},
        "epoch": number(shard.epoch),
        "leaseUntil": number(shard.lease_until),
        "cursor": {"S": shard.cursor},
        "horizon": {"S": shard.horizon},
        "standing": {"S": shard.status.value},
    }


def _from_item(item: Item) -> Shard:
    return Shard(
        partition_id=item["partitionId"]["S"],
        owner=item["owner"]["S"],
        epoch=int(item["epoch"]["N"]),
        lease_until=int(item["leaseUntil"]["N"]),
        cursor=item["cursor"]["S"],
        horizon=item["horizon"]["S"],
        status=_status_of(item),
        changes=int(item["changes"]["N"]) if "changes" in item else 0,
        released=int(item["released"]["N"]) if "released" in item else None,
    )


def _status_of(item: Item) -> ShardStatus:
    return ShardStatus(item["standing"]["S"]) if "standing" in item else ShardStatus.USED
