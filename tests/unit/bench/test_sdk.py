"""The cost of the client beside what it cannot do without. As in test_budgets, each bound is tried several times."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import partial

import pytest

from bench import sdk
from bench.stubbed.interleaved import Cost
from infra import ROOT
from tests.unit.bench.test_budgets import best

STARTS = 4


@pytest.mark.nightly
@pytest.mark.parametrize(("name", "bound"), [("import", 1.5), ("help", 2.0)])
def test_it_starts_as_fast_as_what_it_is_made_of(name: str, bound: float) -> None:
    assert best(lambda: sdk.imports(name, STARTS).ratio, bound) <= bound


@pytest.mark.nightly
def test_a_create_adds_little_to_a_request_that_is_signed_and_sent_by_hand() -> None:
    assert best(lambda: sdk.creates(chunks=40).ratio, 1.15) <= 1.15


def test_both_ways_make_the_same_job() -> None:
    with sdk.both_ways() as (ours, bare):
        assert ours() == bare() == sdk.CREATED["jobId"]


def test_it_prints_one_object() -> None:
    cost = partial(Cost, 3.0, 2.0)
    assert sdk.result({"import": cost(), "help": cost(), "create": cost()}) == {
        "importRatio": 1.5,
        "helpRatio": 1.5,
        "createUs": 3.0,
        "bareSignedUs": 2.0,
    }


def test_help_loads_no_botocore() -> None:
    command = [sys.executable, "-X", "importtime", "-c", "from clockwork_client.cli import main; main(['--help'])"]
    ran = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    loaded = {line.rpartition("|")[2].strip() for line in ran.stderr.splitlines() if line.startswith("import time:")}
    assert "Usage: clockwork" in ran.stdout
    assert "click" in loaded
    assert {name.partition(".")[0] for name in loaded} & {"botocore", "urllib3", "rich"} == set()


@pytest.mark.nightly
def test_the_module_runs_as_a_command() -> None:
    command = [sys.executable, "-m", "bench.sdk", "--json", "--chunks", "1"]
    ran = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    assert set(json.loads(ran.stdout)) == {"importRatio", "helpRatio", "createUs", "bareSignedUs"}
    assert ran.stderr == ""
