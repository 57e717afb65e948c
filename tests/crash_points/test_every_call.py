"""A process may die at any call to AWS, before or after its effect: the invariants hold, and every job ends."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from clockwork.aws.plane.plane import Outcome
from clockwork.aws.stores.table import Item, Table
from infra.table_actions import TABLE_ACTIONS
from tests.crash_points.enumeration import Enumeration, failed
from tests.crash_points.services import Services, services
from tests.crash_points.stage import Point, play_on_moto
from tests.simulation import roles
from tests.simulation.scenes import SCENES


@pytest.fixture(scope="module")
def aws() -> Iterator[Services]:
    with services() as running:
        yield running


def test_the_scenes_make_every_kind_of_call(aws: Services) -> None:
    points: list[Point] = []

    def goes_on(point: Point) -> bool:
        points.append(point)
        return False

    for scene in SCENES:
        assert play_on_moto(aws, scene, goes_on, every=True).watcher.violations == []
    made = {(point.call.split()[0].partition("<")[0], point.call.split()[-1]) for point in points}
    assert made >= {
        ("api", "dynamodb.PutItem"),
        ("api", "dynamodb.BatchWriteItem"),
        ("api", "dynamodb.UpdateItem"),
        ("api", "dynamodb.Query"),
        ("api", "sqs.SendMessageBatch"),
        ("api", "lambda.Invoke"),
        ("ticker", "dynamodb.Scan"),
        ("ticker", "lambda.Invoke"),
        ("poller", "dynamodb.UpdateItem"),
        ("poller", "dynamodb.Query"),
        ("poller", "sqs.SendMessageBatch"),
        ("deliverer", "dynamodb.PutItem"),
        ("deliverer", "dynamodb.UpdateItem"),
        ("deliverer", "sqs.ChangeMessageVisibilityBatch"),
        ("deliverer", "sqs.SendMessageBatch"),
        ("sweeper", "sqs.ReceiveMessage"),
        ("sweeper", "sqs.SendMessageBatch"),
        ("sweeper", "sqs.DeleteMessage"),
        ("sweeper", "dynamodb.BatchWriteItem"),
        ("sweeper", "dynamodb.Scan"),
        ("workers", "dynamodb.PutItem"),
        ("workers", "sqs.SendMessageBatch"),
        ("workers", "sqs.DeleteMessageBatch"),
    }


@pytest.mark.nightly
@pytest.mark.parametrize("scene", SCENES)
def test_the_invariants_hold_wherever_a_process_dies(aws: Services, scene: str) -> None:
    enumeration = Enumeration(aws, scene)
    stage = enumeration.run()
    assert stage.watcher.violations == []
    assert len(enumeration.tried) > 20
    assert list(failed(enumeration.tried)) == []


@pytest.mark.nightly
def test_a_write_in_two_steps_is_found(aws: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    def put(table: Table, item: Item) -> Outcome:
        table.delete(*(item[name]["S"] for name in table._key))
        return table._plane.call("PutItem", TableName=table._name, Item=item)

    monkeypatch.setattr(Table, "_put", lambda table, request: put(table, request["Item"]))
    monkeypatch.setattr(Table, "replace_each", lambda table, _, changes: [put(table, item) for item, _ in changes])
    monkeypatch.setattr(roles, "require", lambda *_: None)  # no role may delete a record
    enumeration = Enumeration(aws, "ordered")
    assert enumeration.run().watcher.violations == [], "as long as nobody dies it does no harm"
    found = list(failed(enumeration.tried))
    assert any("I4" in tried.violations for tried in found)


def test_a_call_that_a_role_does_not_allow_is_found(aws: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TABLE_ACTIONS["poller"], "shards", "GetItem")
    stage = play_on_moto(aws, "far", lambda _: False)
    assert any("the poller may not UpdateItem in shards" in str(violation) for violation in stage.watcher.violations)
