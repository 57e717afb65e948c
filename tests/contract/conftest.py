"""Runs each contract test against the worlds that keep the test's rule: two by day, all by night.

The simulator and the handlers' tests stand on memory, and the emulator is the reference. Moto and dynalite are further
opinions on AWS, which a change of an adapter seldom needs.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from local.emulator import Emulator, emulator
from tests.contract import programs
from tests.contract.leniencies import DYNALITE, DYNAMODB_LOCAL, EMULATOR, MEMORY, MOTO, NOT_KEPT, OF_STORES
from tests.contract.worlds import AwsWorld, MemoryWorld, World
from tests.support.moto_in_turn import moto_in_turn

#: By fixture: the worlds that it stands for.
_WORLDS = {
    "world": (MEMORY, MOTO, DYNALITE, DYNAMODB_LOCAL, EMULATOR),
    "aws_world": (MOTO, DYNALITE, DYNAMODB_LOCAL, EMULATOR),
    "emulated": (EMULATOR,),
}
_BY_DAY = frozenset({MEMORY, EMULATOR})
#: A world that has stores and nothing else -> the fixture that runs it.
_PROGRAMS = {DYNALITE: "running_dynalite", DYNAMODB_LOCAL: "running_dynamodb_local"}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    for fixture, worlds in _WORLDS.items():
        if fixture in metafunc.fixturenames:
            kept = [pytest.param(w, marks=_marks(w)) for w in worlds if _keeps(w, metafunc)]
            metafunc.parametrize(fixture, kept, indirect=True)


def _marks(world: str) -> list[pytest.MarkDecorator]:
    by_day = world in _BY_DAY or world == DYNAMODB_LOCAL
    return [] if by_day else [pytest.mark.nightly]


def _keeps(world: str, test: pytest.Metafunc) -> bool:
    if world == DYNAMODB_LOCAL and not programs.dynamodb_local_wanted():
        return False
    if world in _PROGRAMS and test.module.__name__.rpartition(".")[2] not in OF_STORES:
        return False
    return test.function.__name__ not in NOT_KEPT.get(world, {})


@pytest.fixture(scope="session")
def running_dynalite() -> Iterator[str]:
    with programs.running(programs.DYNALITE) as url:
        yield url


@pytest.fixture(scope="session")
def running_dynamodb_local() -> Iterator[str]:
    with programs.running(programs.DYNAMODB_LOCAL) as url:
        yield url


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
        with moto_in_turn():
            world = AwsWorld(endpoint_url=None)
            yield world
            world.close()
    elif request.param in _PROGRAMS:
        world = AwsWorld(request.getfixturevalue(_PROGRAMS[request.param]))
        yield world
        world.close()
    else:
        running: Emulator = request.getfixturevalue("running_emulator")
        world = AwsWorld(running.endpoint_url, account=str(random.randrange(10**11, 10**12)))
        yield world
        world.close()
