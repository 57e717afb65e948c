"""Whatever is wrong with one stored item, calls that read several answer for the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
import pytest

from clockwork.domain import keys
from clockwork.domain.clients import Client
from clockwork.domain.errors import NewerFormat, Unreadable
from clockwork.domain.executions import Execution, State
from clockwork.domain.limits.circuits import Circuit
from clockwork.domain.pools.presence import Present
from clockwork.domain.requests.trail import Entry
from clockwork.domain.storage.codec import encode
from clockwork.domain.timeline import Shard, ShardStatus
from clockwork.ports import Regulation
from tests.contract.examples import DUE, execution, occurrence, row
from tests.contract.schema import KEYS
from tests.contract.test_jobs import job
from tests.contract.worlds import AwsWorld
from tests.support.examples import ACME, like

#: Each store has three of a kind. This one is damaged.
DAMAGED = "1"
NAMES = ("0", DAMAGED, "2")
OTHERS = {"0", "2"}


class Case(NamedTuple):
    """How a kind of item is stored by its name, and the names that a call reads of all."""

    table: str
    store: Callable[[AwsWorld, str], object]
    read: Callable[[AwsWorld], Sequence[str]]
    #: A part of the key of the item that is damaged.
    key: str = DAMAGED


def record(name: str) -> Execution:
    """A record that needs attention."""
    due = DUE + int(name)
    return like(execution(due_at=due), state=State.DEAD, occurrence=occurrence(), dead_at=due)


def of_records(records: Sequence[object]) -> list[str]:
    return [str(one.due_at - DUE) for one in records if isinstance(one, Execution)]


def refs() -> list[tuple[str, str]]:
    return [(record(name).job_id, record(name).execution_id) for name in NAMES]


def regulated(change: Callable[[Regulation, str], object]) -> Callable[[AwsWorld, str], object]:
    return lambda world, name: change(world.regulation, name)


def noted(regulation: Regulation, name: str) -> None:
    regulation.note_parked(name, DUE)


def client(name: str) -> Client:
    return msgspec.structs.replace(ACME, client_id=f"client-{name}", principals=())


def entry(name: str) -> Entry:
    return Entry(
        client_id="acme", at=DUE, entry_id=name, principal="arn:aws:iam::1:role/x", action="pauseJob", expires_at=DUE
    )


def known(found: Sequence[tuple[str, object]]) -> list[str]:
    return [name[-1] for name, one in found if not isinstance(one, Unreadable)]


CASES: Mapping[str, Case] = {
    "shards.list": Case(
        "shards", lambda w, n: w.shards.register(f"p00{n}"), lambda w: [p[-1] for p in w.shards.list()]
    ),
    "shards.all": Case(
        "shards",
        lambda w, n: w.shards.register(f"p00{n}"),
        lambda w: [shard.partition_id[-1] for shard in w.shards.all()],
    ),
    "timeline.read": Case(
        "timeline",
        lambda w, n: w.timeline.put([row(row_id=n)]),
        lambda w: [one.key[-1] for one in w.timeline.read("p000", "0", "~", 10).rows],
        f"#{DAMAGED}",
    ),
    "timeline.find": Case(
        "timeline",
        lambda w, n: w.timeline.put([row(row_id=n)]),
        lambda w: [one.key[-1] for one in w.timeline.find([("p000", row(row_id=n).key) for n in NAMES]) if one],
        f"#{DAMAGED}",
    ),
    "executions.get": Case(
        "executions",
        lambda w, n: w.executions.save([(None, record(n))]),
        lambda w: of_records(w.executions.get(refs())),
        record(DAMAGED).execution_id,
    ),
    "executions.list": Case(
        "executions",
        lambda w, n: w.executions.save([(None, record(n))]),
        lambda w: of_records(w.executions.list(record("0").job_id, 10, None)),
        record(DAMAGED).execution_id,
    ),
    "executions.dead": Case(
        "executions",
        lambda w, n: w.executions.save([(None, record(n))]),
        lambda w: of_records(w.executions.dead("acme", 10, None).executions),
        record(DAMAGED).execution_id,
    ),
    "jobs.list": Case(
        "jobs",
        lambda w, n: w.jobs.save(None, job(n)),
        lambda w: known(w.jobs.list("acme", None, None, 10).jobs),
    ),
    "jobs.get": Case(
        "jobs",
        lambda w, n: w.jobs.save(None, job(n)),
        lambda w: known(list(zip(NAMES, w.jobs.get([("acme", n) for n in NAMES]), strict=True))),
    ),
    "jobs.scan": Case(
        "jobs",
        lambda w, n: w.jobs.save(None, job(n)),
        lambda w: [one.job_key for page in w.jobs.scan(0, 1) for one in page if not isinstance(one, Unreadable)],
    ),
    "clients.list": Case(
        "clients", lambda w, n: w.clients.put(client(n)), lambda w: known(w.clients.list(10, None)), f"client-{DAMAGED}"
    ),
    "workers.list": Case(
        "executions",
        lambda w, n: w.workers.note(Present(pool="etl", worker_id=n, seen_at=DUE)),
        lambda w: [one.worker_id for one in w.workers.list("etl", 10) if isinstance(one, Present)],
        f"/{DAMAGED}/",
    ),
    "trail.list": Case(
        "executions",
        lambda w, n: w.trail.note(entry(n)),
        lambda w: [one.entry_id for one in w.trail.list("acme", 10, None).entries if isinstance(one, Entry)],
        entry(DAMAGED).key,
    ),
    "regulation.parked": Case(
        "clients",
        regulated(noted),
        lambda w: [one.client_id for one in w.regulation.parked()],
    ),
    "regulation.circuits": Case(
        "clients",
        regulated(lambda one, n: one.save_circuit(None, Circuit("acme", f"{n}.example.com", DUE, DUE, 1))),
        lambda w: [host[0] for host in w.regulation.circuits("acme")],
        f"circuit#{DAMAGED}",
    ),
    "regulation.taken": Case(
        "clients",
        regulated(lambda one, n: one.lease("acme", int(n), "me", DUE, DUE + 1)),
        lambda w: [str(block) for block in w.regulation.taken("acme", DUE)],
        f"permits#{DAMAGED}",
    ),
}


def damages(item: Mapping[str, Any], table: str) -> Iterator[dict[str, Any]]:
    """The item without each of its attributes but the key, with another type of each, and with other bytes of each."""
    for name, value in item.items():
        if name in KEYS[table] or name.startswith(("attention", "runs")):
            continue
        yield {key: one for key, one in item.items() if key != name}
        yield {**item, name: {"L": []}}
        for kind, odd in (("B", b"\x01garbage"), ("B", b""), ("S", "odd"), ("N", "1.5")):
            if kind in value:
                yield {**item, name: {kind: odd}}


@pytest.mark.parametrize("name", CASES)
def test_whatever_is_wrong_with_an_item_the_others_are_read(aws_world: AwsWorld, name: str) -> None:
    case = CASES[name]
    for one in NAMES:
        case.store(aws_world, one)
    (item,) = [one for one in aws_world.raw(case.table) if any(case.key in one[key]["S"] for key in KEYS[case.table])]
    assert {*case.read(aws_world)} >= OTHERS
    dynamodb, told = aws_world.aws.client("dynamodb"), list[Exception]()
    aws_world.aws.on_unreadable = told.append
    tried = 0
    for damaged in damages(item, case.table):
        dynamodb.put_item(TableName=aws_world.table(case.table), Item=damaged)
        aws_world.regulation._read.clear()  # type: ignore[attr-defined]
        assert {*case.read(aws_world)} >= OTHERS, damaged
        tried += 1
    assert tried >= 2
    # What is wrong is told each time, but where the call has an answer for it without reading the attribute.
    assert name in ("shards.list", "jobs.list", "jobs.get", "jobs.scan") or told


def test_a_page_of_records_is_as_long_as_it_was_asked_for(aws_world: AwsWorld) -> None:
    for name in NAMES:
        aws_world.executions.save([(None, record(name))])
    assert of_records(aws_world.executions.list(record("0").job_id, 2, None)) == ["2", DAMAGED]
    (item,) = [one for one in aws_world.raw("executions") if one["executionId"]["S"] == record(DAMAGED).execution_id]
    damaged = {**item, "record": {"B": b"\x01garbage"}}
    aws_world.aws.client("dynamodb").put_item(TableName=aws_world.table("executions"), Item=damaged)
    assert of_records(aws_world.executions.list(record("0").job_id, 2, None)) == ["2", "0"]
    assert of_records(aws_world.executions.list(record("0").job_id, 1, record("2").execution_id)) == ["0"]
    assert of_records(aws_world.executions.list(record("0").job_id, 3, None)) == ["2", "0"]
    ends = (record("0").execution_id, record("2").execution_id)
    assert of_records(aws_world.executions.between(record("0").job_id, *ends, 2)) == ["0", "2"]
    assert of_records(aws_world.executions.between(record("0").job_id, *ends, 3)) == ["0", "2"]


def test_a_shard_whose_row_cannot_be_read_is_polled_and_one_that_is_none_is_not(aws_world: AwsWorld) -> None:
    for partition_id in ("p000", "o001"):
        aws_world.shards.register(partition_id)
    dynamodb, table = aws_world.aws.client("dynamodb"), aws_world.table("shards")
    dynamodb.put_item(TableName=table, Item={"partitionId": {"S": "p000"}, "standing": {"S": "of a later version"}})
    for stray in ("p1", "x001", "note", "p" + "9" * 600):
        dynamodb.put_item(TableName=table, Item={"partitionId": {"S": stray}})
    assert aws_world.shards.list() == ["o001", "p000"]
    assert aws_world.shards.all() == [Shard("o001"), Shard("p000")]
    with pytest.raises(Unreadable, match="ValidationError"):
        aws_world.shards.get(["o001", "p000"])


@pytest.mark.parametrize("odd", [{"N": "1.5"}, {"N": "1e30"}, {"B": b"odd"}, {"L": []}, {"S": "odd"}, {"NULL": True}])
def test_whatever_the_standing_of_a_shard_is_the_others_are_listed(aws_world: AwsWorld, odd: Any) -> None:
    aws_world.shards.register("p000")
    aws_world.shards.register("p001", ShardStatus.LEFT)
    (item,) = [one for one in aws_world.raw("shards") if one["partitionId"] == {"S": "p000"}]
    damaged = {**item, "partitionId": {"S": "p002"}, "standing": odd}
    aws_world.aws.client("dynamodb").put_item(TableName=aws_world.table("shards"), Item=damaged)
    assert aws_world.shards.list() == ["p000", "p002"]


@pytest.mark.parametrize("odd", [{"N": "1.5"}, {"N": "1e30"}, {"B": b"odd"}, {"L": []}, {"S": "odd"}, {"NULL": True}])
def test_whatever_stands_beside_the_attributes_of_a_shard_it_is_polled(aws_world: AwsWorld, odd: Any) -> None:
    aws_world.shards.register("p000")
    (item,) = aws_world.raw("shards")
    aws_world.aws.client("dynamodb").put_item(TableName=aws_world.table("shards"), Item={**item, "oddNote": odd})
    assert aws_world.shards.get(["p000"])["p000"].cursor == keys.BEGINNING
    lease = aws_world.shards.acquire("p000", "me", DUE, DUE + 1, keys.edge_key(DUE))
    assert lease is not None
    assert aws_world.shards.commit(msgspec.structs.replace(lease, cursor=keys.edge_key(DUE)))
    assert [one.cursor for one in aws_world.shards.all()] == [keys.edge_key(DUE)]


def test_a_record_of_a_later_version_is_not_passed_over_where_it_may_run(aws_world: AwsWorld) -> None:
    for name in NAMES:
        aws_world.executions.save([(None, record(name))])
    later = {"record": {"B": b"\x7f" + encode(record(DAMAGED))[1:]}}
    (item,) = [one for one in aws_world.raw("executions") if one["executionId"]["S"] == record(DAMAGED).execution_id]
    aws_world.aws.client("dynamodb").put_item(TableName=aws_world.table("executions"), Item={**item, **later})
    told: list[Exception] = []
    aws_world.aws.on_unreadable = told.append
    with pytest.raises(NewerFormat):
        aws_world.executions.list(record("0").job_id, 10, None)
    assert of_records(aws_world.executions.dead("acme", 10, None).executions) == ["2", "0"]
    assert not told


def test_a_circuit_that_cannot_be_read_is_replaced(aws_world: AwsWorld) -> None:
    opened = Circuit("acme", "a.example.com", DUE, DUE, 1)
    assert aws_world.regulation.save_circuit(None, opened)
    assert not aws_world.regulation.save_circuit(None, opened)
    (item,) = aws_world.raw("clients")
    damaged = {**item, "circuit": {"B": b"\xc1"}}
    aws_world.aws.client("dynamodb").put_item(TableName=aws_world.table("clients"), Item=damaged)
    assert aws_world.regulation.circuits("acme") == {}
    assert aws_world.regulation.save_circuit(None, opened)
    assert aws_world.regulation.circuits("acme") == {"a.example.com": opened}


def test_a_note_that_cannot_be_read_is_told_anew_by_whoever_directs_it(aws_world: AwsWorld) -> None:
    aws_world.regulation.note_parked("acme", DUE)
    (before,) = aws_world.regulation.parked()
    (item,) = aws_world.raw("clients")
    damaged = {**item, "parked": {"B": b"\xc1"}}
    aws_world.aws.client("dynamodb").put_item(TableName=aws_world.table("clients"), Item=damaged)
    aws_world.regulation.note_parked("acme", DUE + 1)
    assert aws_world.regulation.parked() == []
    assert aws_world.regulation.direct_parked(before)
    assert [one.client_id for one in aws_world.regulation.parked()] == ["acme"]


@pytest.mark.parametrize("made", [{}, {"madeWith": {"S": "16"}}, {"madeWith": {"N": "1.5"}}, {"madeWith": {"N": "-1"}}])
def test_a_number_of_ordered_shards_that_cannot_be_read_is_written_again(
    aws_world: AwsWorld, made: dict[str, Any]
) -> None:
    dynamodb, table = aws_world.aws.client("dynamodb"), aws_world.table("shards")
    assert aws_world.shards.ordered_count(16) == 16
    dynamodb.put_item(TableName=table, Item={"partitionId": {"S": "ordered"}, **made})
    assert aws_world.shards.ordered_count(4) == 4
    assert aws_world.shards.ordered_count(16) == 4
