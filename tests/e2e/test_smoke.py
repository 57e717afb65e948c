"""`make smoke` on the stack that all these tests share, with the upgrade in the midst of its load."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from local.stack import LocalStack
from tests.chaos.target import target
from tests.smoke.__main__ import judged
from tests.smoke.judging.checks import NOT_HERE, OK
from tests.smoke.places import local
from tests.support.kafka.cluster import KafkaCluster

pytestmark = pytest.mark.nightly


@pytest.fixture
def place(stack: LocalStack, options: dict[str, str], kafka: KafkaCluster, tmp_path: Path) -> Iterator[local.Local]:
    """The shared stack, which keeps the version that the smoke deploys: it differs in a file that nobody reads."""
    with target(tmp_path) as http:
        yield local.Local(stack, stack.synthesize(options), http, kafka, tmp_path, ends=False)


@pytest.mark.timeout(600)
def test_every_check_that_can_be_made_here_is_ok(place: local.Local, capsys: pytest.CaptureFixture[str]) -> None:
    status = judged(place, random.Random(17), keep=False)
    told = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert {name: said for name, said in told["checks"].items() if said != OK} == dict.fromkeys(
        local.NOT_HERE, NOT_HERE
    )
    assert status == 0
    assert (told["stage"], told["lost"], told["early"]) == ("local", 0, 0)
    assert told["jobs"] >= 200
    assert sum(said == OK for said in told["checks"].values()) >= 10
