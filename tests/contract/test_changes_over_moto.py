"""The table of changes, cell by cell, on the shipped stores and queues over moto, under virtual time."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.crash_points.services import Services, services
from tests.support import named
from tests.support.on_moto import MotoClockwork
from tests.unit.flows.named import test_what_happens_when as table

#: The table holds over memory in every run of the tests, and each store's contract over moto.
pytestmark = pytest.mark.nightly
CELLS = {name: cell for name, cell in vars(table).items() if name.startswith("test_")}
globals().update(CELLS)


@pytest.fixture(scope="module")
def aws() -> Iterator[Services]:
    with services() as running:
        yield running


@pytest.fixture(autouse=True)
def on_moto(aws: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MotoClockwork, "services", aws, raising=False)
    monkeypatch.setattr(named, "MemoryClockwork", MotoClockwork)


def test_a_cell_is_on_moto() -> None:
    case = table.Case()
    assert isinstance(case.clockwork, MotoClockwork)
    case.run(12)
    kept = case.clockwork.services.aws.client("dynamodb").scan(TableName="executions", ConsistentRead=True)["Items"]
    assert [item["executionId"]["S"] for item in kept] == [one.execution_id for one in case.executions()]
    assert len(CELLS) > 15
