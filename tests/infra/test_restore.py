"""The checks of restored tables, and what a restore does not bring back, on an account that gives the answers."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from clockwork.domain import keys
from clockwork.domain.timeline import Shard
from rollout import restore as restoring
from rollout.checks import OK, REFUSED, WARN, may_deploy
from rollout.copies import KEYS, Copy, Move, instant_of_copies, judge_copies, judge_moves, judge_shards, target_of
from rollout.restore import NotRestored, _complete, _described, _go_back, restore
from tests.infra.account import Service, account_of

AT = 1_777_975_200_000
WHOLE = [
    Copy(
        kind=kind,
        table=f"{kind}-copy",
        status="ACTIVE",
        key=key,
        indexes=frozenset({"attention", "runs"} if kind == "executions" else ()),
        restored_at=AT,
        expires=kind != "shards",
        recoverable=True,
        protected=True,
    )
    for kind, key in KEYS.items()
]


def with_(kind: str, **changes: Any) -> list[Copy]:
    return [replace(copy, **changes) if copy.kind == kind else copy for copy in WHOLE]


def test_whole_copies_of_one_instant_are_good() -> None:
    assert instant_of_copies(WHOLE, None) == AT
    assert {row.state for row in judge_copies(WHOLE, AT)} == {OK}


@pytest.mark.parametrize(
    ("copies", "found"),
    [
        (with_("jobs", status=""), "jobs-copy does not exist"),
        (with_("jobs", status="CREATING"), "jobs-copy CREATING"),
        (with_("jobs", key=("jobId",)), "jobs-copy has the key jobId"),
        (with_("executions", indexes=frozenset()), "executions-copy has no index attention and no runs"),
        (with_("executions", indexes=frozenset({"attention"})), "executions-copy has no index runs"),
    ],
)
def test_a_table_that_cannot_be_used_is_refused(copies: list[Copy], found: str) -> None:
    rows = list(judge_copies(copies, AT))
    assert [row.found for row in rows if row.state == REFUSED] == [found]
    assert not may_deploy(rows)


def test_each_copy_is_told_with_the_table_that_it_is_of() -> None:
    (found,) = [row.found for row in judge_copies(with_("jobs", source="Old-StorageJobs"), AT) if row.what == "jobs"]
    assert found == "jobs-copy, a copy of Old-StorageJobs"


@pytest.mark.parametrize("other", [None, AT + 1_000])
def test_tables_of_several_instants_are_refused_unless_one_is_told(other: int | None) -> None:
    copies = with_("shards", restored_at=other)
    assert instant_of_copies(copies, None) is None
    assert [row.what for row in judge_copies(copies, None) if row.state == REFUSED] == ["instant"]
    assert instant_of_copies(copies, AT) == AT


def test_what_a_restore_does_not_bring_back_is_named_and_stops_nobody() -> None:
    copies = with_("timeline", expires=False, recoverable=False, protected=False)
    rows = list(judge_copies(copies, AT))
    assert may_deploy(rows)
    (row,) = (row for row in rows if row.state == WARN)
    assert row.found == "timeline-copy, lacks expiry, point-in-time recovery, protection against deletion"
    # Nothing in the registry of shards expires.
    assert not with_("shards", expires=False)[3].lacks


def test_a_cursor_goes_back_and_never_forward() -> None:
    ahead, behind = (Shard("p000", cursor=keys.edge_key(AT + ms)) for ms in (240_000, -3_600_000))
    assert target_of(ahead, AT, 900_000) == keys.edge_key(AT - 900_000)
    assert target_of(behind, AT, 900_000) is None
    assert target_of(Shard("p000"), AT, 900_000) is None


def test_shards_that_were_polled_after_the_instant_are_in_use() -> None:
    unused = [Shard("p000", horizon=keys.edge_key(AT + 840_000)), Shard("p001")]
    assert judge_shards(unused, AT).state == OK
    assert judge_shards([], AT).state == OK
    used = Shard("p002", horizon=keys.edge_key(AT + 900_001))
    assert judge_shards([*unused, used], AT).state == REFUSED


def test_what_leaves_no_record_is_said_to_come_twice() -> None:
    moves = [Move(partition_id=p, cursor="2", to="1", occurrences=3, unrecorded=n) for p, n in (("p0", 0), ("p1", 2))]
    row = judge_moves(moves, 900)
    assert (row.state, row.found) == (WARN, "2 go back, 6 occurrences come once more, 2 of them without a record")
    assert judge_moves(moves[:1], 900).state == OK


def described(**changes: Any) -> Service:
    table = {
        "TableStatus": "ACTIVE",
        "KeySchema": [
            {"AttributeName": "scheduleTime", "KeyType": "RANGE"},
            {"AttributeName": "partitionId", "KeyType": "HASH"},
        ],
        "RestoreSummary": {
            "SourceTableArn": "arn:aws:dynamodb:us-east-1:123456789012:table/Clockwork-StorageTimeline1A2B3C4D",
            "RestoreDateTime": datetime.fromtimestamp(AT / 1000, UTC),
            "RestoreInProgress": False,
        },
    }
    answers = {
        "describe_table": {"Table": table},
        "describe_time_to_live": {"TimeToLiveDescription": {"TimeToLiveStatus": "DISABLED"}},
        "describe_continuous_backups": {"ContinuousBackupsDescription": {"ContinuousBackupsStatus": "ENABLED"}},
    }
    return Service({**answers, **changes}, [])


def test_a_restored_table_is_read_as_dynamodb_describes_it() -> None:
    source = "Clockwork-StorageTimeline1A2B3C4D"
    assert _described(described(), "timeline", "copy") == Copy(
        kind="timeline", table="copy", status="ACTIVE", key=KEYS["timeline"], source=source, restored_at=AT
    )
    assert _described(described(describe_table="ResourceNotFoundException"), "jobs", "copy") == Copy(
        kind="jobs", table="copy"
    )


def test_what_is_missing_is_set_and_nothing_else() -> None:
    asked: list[str] = []
    calls: dict[str, Any] = {"update_time_to_live": {}, "update_continuous_backups": {}, "update_table": {}}
    _complete(Service(calls, asked), with_("shards", recoverable=False, protected=False, expires=False)[3])
    assert asked == ["update_continuous_backups", "update_table"]
    asked.clear()
    _complete(Service(calls, asked), with_("jobs", expires=False)[1])
    assert asked == ["update_time_to_live"]


def test_a_shard_that_somebody_polls_meanwhile_ends_the_preparation() -> None:
    dynamodb = Service({"update_item": "ConditionalCheckFailedException"}, [])
    with pytest.raises(NotRestored, match="the shard p000 is being polled"):
        _go_back(dynamodb, "shards-copy", Move(partition_id="p000", cursor="2", to="1"))


@pytest.mark.parametrize("tables", [{}, {"timeline": "t"}])
def test_all_five_tables_are_named(tables: dict[str, str]) -> None:
    with pytest.raises(NotRestored, match="all five"):
        restore(account_of(), tables, print, at=None, back=900, check=True)


def test_nothing_is_changed_while_a_table_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(restoring, "_prepare", lambda *_: pytest.fail("something was changed"))
    account = account_of(describe_table="ResourceNotFoundException")
    tables = {kind: f"{kind}-copy" for kind in KEYS}
    assert not restore(account, tables, said.append, at=None, back=900, check=False)
    assert "Nothing was changed" in said[-1]
