"""Runs each contract test against every world that keeps the test's rule."""

from __future__ import annotations

import random
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
from moto import mock_aws

from local.emulator import Emulator, emulator
from tests.contract.leniencies import EMULATOR, MEMORY, MOTO, NOT_KEPT
from tests.contract.worlds import AwsWorld, MemoryWorld, World

#: By fixture: the worlds that it stands for.
_WORLDS = {"world": (MEMORY, MOTO, EMULATOR), "aws_world": (MOTO, EMULATOR), "emulated": (EMULATOR,)}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    for fixture, worlds in _WORLDS.items():
        if fixture in metafunc.fixturenames:
            kept = [w for w in worlds if metafunc.function.__name__ not in NOT_KEPT.get(w, {})]
            metafunc.parametrize(fixture, kept, indirect=True)


@pytest.fixture(scope="session")
def running_emulator() -> Iterator[Emulator]:
    with emulator(secure=False) as running:
        yield running


@pytest.fixture
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    if request.param == MEMORY:
        yield MemoryWorld()
    else:
        yield from _aws_world(request)


@pytest.fixture
def aws_world(request: pytest.FixtureRequest) -> Iterator[AwsWorld]:
    yield from _aws_world(request)


@pytest.fixture
def emulated(request: pytest.FixtureRequest) -> Iterator[AwsWorld]:
    yield from _aws_world(request)


@pytest.fixture(autouse=True)
def no_ambient_aws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the environment's AWS endpoint and profile from the tests; moto would not intercept a given endpoint."""
    for name in ("AWS_ENDPOINT_URL", "AWS_PROFILE", "AWS_CA_BUNDLE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def no_pauses_of_botocore(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let botocore's own repeats come at once."""
    monkeypatch.setattr("botocore.endpoint.time", SimpleNamespace(sleep=lambda _: None))


def _aws_world(request: pytest.FixtureRequest) -> Iterator[AwsWorld]:
    if request.param == MOTO:
        with mock_aws():
            world = AwsWorld(endpoint_url=None)
            yield world
            world.close()
    else:
        running: Emulator = request.getfixturevalue("running_emulator")
        world = AwsWorld(running.endpoint_url, account=str(random.randrange(10**11, 10**12)))
        yield world
        world.close()
