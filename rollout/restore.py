"""Prepares five tables that were restored to one instant, so that a stack which adopts them loses nothing.

A restore brings back rows alone. The queues of that time are gone, or hold later messages, so released jobs without a
delivery would be lost. Cursors therefore go back to before the instant, and pollers release those jobs again. At record
level `full` the records of delivered jobs absorb the duplicates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from botocore.exceptions import ClientError

from clockwork.aws.session import Aws
from clockwork.bootstrap import aws_world
from clockwork.domain.errors import ClockworkError, Unreadable
from clockwork.domain.storage.rows import releases_of
from clockwork.domain.timeline import Shard
from clockwork.flows.world import World
from clockwork.settings import Settings
from rollout import commands
from rollout.account import Account
from rollout.checks import Row, may_deploy
from rollout.copies import (
    KEYS,
    LASTING,
    Copy,
    Move,
    instant_of_copies,
    judge_copies,
    judge_moves,
    judge_shards,
    target_of,
)

Say = Callable[[str], None]
_PAGE = 500
NEXT = """Next: deploy a stack with these tables in the option `adopt`, and queues of its own that are empty. What came
after the instant is not in the tables. What was delivered then is delivered again, what was created then is missing,
and what was changed or cancelled then is as it was."""


class NotRestored(ClockworkError):
    """The tables cannot be prepared; the message says why."""


def restore(account: Account, tables: Mapping[str, str], say: Say, *, at: int | None, back: int, check: bool) -> bool:
    """Print the obstacles and the expected duplicates, and unless `check`, prepare the tables.

    `tables`: the names of all five, by what they hold. `at`: the instant (ms) of the copies, if DynamoDB does not know
    it. `back`: the seconds by which cursors go back before that instant. Returns whether there is no obstacle. May be
    repeated.
    """
    if set(tables) != set(KEYS):
        raise NotRestored(f"adopt.tables must name all five tables: {', '.join(KEYS)}")
    dynamodb = account.client("dynamodb")
    copies = [_described(dynamodb, kind, tables[kind]) for kind in KEYS]
    instant = instant_of_copies(copies, at)
    rows = list(judge_copies(copies, instant))
    moves: list[Move] = []
    if instant is not None and may_deploy(rows):
        world = _world(account, tables)
        shards = world.shards.all()
        rows.append(judge_shards(shards, instant))
        moves = list(_moves(world, shards, instant, back * 1000))
        rows.append(judge_moves(moves, back))
    say(_page(rows))
    if not may_deploy(rows):
        say("Nothing was changed. What is refused above stands in the way.")
        return False
    if not check:
        _prepare(dynamodb, copies, moves)
        say(f"The tables are prepared: {len(moves)} cursors went back.\n\n{NEXT}")
    return True


def _page(rows: list[Row]) -> str:
    return f"Tables that were restored\n\n{commands.table(rows)}\n"


def _world(account: Account, tables: Mapping[str, str]) -> World:
    names = {f"{kind}_table": name for kind, name in tables.items()}
    return aws_world(Settings.for_account().with_(**names), Aws(account.session))


def _described(dynamodb: Any, kind: str, table: str) -> Copy:
    try:
        found = dynamodb.describe_table(TableName=table)["Table"]
    except ClientError as error:
        if error.response["Error"]["Code"] == "ResourceNotFoundException":
            return Copy(kind=kind, table=table)
        raise
    expiry = dynamodb.describe_time_to_live(TableName=table)["TimeToLiveDescription"]
    backups = dynamodb.describe_continuous_backups(TableName=table)["ContinuousBackupsDescription"]
    recovery = backups.get("PointInTimeRecoveryDescription", {})
    summary = found.get("RestoreSummary", {})
    restored = summary.get("RestoreDateTime")
    return Copy(
        kind=kind,
        table=table,
        status=found["TableStatus"],
        key=tuple(one["AttributeName"] for one in sorted(found["KeySchema"], key=lambda one: one["KeyType"])),
        indexes=frozenset(one["IndexName"] for one in found.get("GlobalSecondaryIndexes", ())),
        source=summary.get("SourceTableArn", "").rpartition("/")[2],
        restored_at=None if restored is None else int(restored.timestamp() * 1000),
        expires=expiry.get("TimeToLiveStatus") in ("ENABLED", "ENABLING"),
        recoverable=recovery.get("PointInTimeRecoveryStatus") == "ENABLED",
        protected=bool(found.get("DeletionProtectionEnabled")),
    )


def _moves(world: World, shards: Any, at: int, back_ms: int) -> Iterator[Move]:
    for shard in shards:
        to = target_of(shard, at, back_ms)
        if to is not None:
            move = Move(partition_id=shard.partition_id, cursor=shard.cursor, to=to)
            yield _counted(world, shard, move)


def _counted(world: World, shard: Shard, move: Move) -> Move:
    """The move with the jobs between its two cursors. An unreadable row counts as one job; the poller deals with it."""
    after, occurrences, unrecorded = move.to, 0, 0
    while True:
        page = world.timeline.read(shard.partition_id, after, move.cursor, _PAGE)
        for row in page.rows:
            try:
                levels = [release.occurrence.record for release in releases_of(row)]
            except Unreadable:
                levels = ["full"]
            # A pointer of a named job has no release yet: its fire is recorded.
            occurrences += max(1, len(levels))
            unrecorded += levels.count("none")
        if not page.more:
            return replace(move, occurrences=occurrences, unrecorded=unrecorded)
        after = page.rows[-1].key


def _prepare(dynamodb: Any, copies: list[Copy], moves: list[Move]) -> None:
    for copy in copies:
        _complete(dynamodb, copy)
    (shards,) = (copy.table for copy in copies if copy.kind == "shards")
    for move in moves:
        _go_back(dynamodb, shards, move)


def _complete(dynamodb: Any, copy: Copy) -> None:
    if not copy.expires and copy.kind != LASTING:
        how = {"Enabled": True, "AttributeName": "expiresAt"}
        dynamodb.update_time_to_live(TableName=copy.table, TimeToLiveSpecification=how)
    if not copy.recoverable:
        recovery = {"PointInTimeRecoveryEnabled": True}
        dynamodb.update_continuous_backups(TableName=copy.table, PointInTimeRecoverySpecification=recovery)
    if not copy.protected:
        dynamodb.update_table(TableName=copy.table, DeletionProtectionEnabled=True)


def _go_back(dynamodb: Any, table: str, move: Move) -> None:
    """Write the cursor, which no poller may ever move back, and end the lease of then under another epoch.

    The next poller looks at the quarantine, whatever the copy of the shard's row says: the timeline's may be newer.

    Raises NotRestored if the shard has been polled meanwhile. A repeat finds nothing to do.
    """
    try:
        dynamodb.update_item(
            TableName=table,
            Key={"partitionId": {"S": move.partition_id}},
            UpdateExpression=(
                "SET #cursor = :to, #owner = :nobody, #leaseUntil = :ended ADD #epoch :one, #quarantined :one"
            ),
            ConditionExpression="#cursor = :cursor",
            ExpressionAttributeNames={
                f"#{name}": name for name in ("cursor", "owner", "leaseUntil", "epoch", "quarantined")
            },
            ExpressionAttributeValues={
                ":to": {"S": move.to},
                ":cursor": {"S": move.cursor},
                ":nobody": {"S": ""},
                ":ended": {"N": "0"},
                ":one": {"N": "1"},
            },
        )
    except ClientError as error:
        if error.response["Error"]["Code"] == "ConditionalCheckFailedException":
            raise NotRestored(f"the shard {move.partition_id} is being polled: these tables are in use") from None
        raise
