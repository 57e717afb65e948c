"""The emulator as suites share it: started when the first test asks, gone when the session ends."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from local.emulator import Credentials, Emulator
    from local.stack import LocalStack

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def emulator() -> Iterator[Emulator]:
    """An emulator without IAM, over HTTP: for the adapters, which it judges."""
    from local.emulator import emulator

    with emulator(secure=False) as running:
        yield running


@pytest.fixture
def account() -> Credentials:
    """An account of the emulator that no other test has used: empty, and invisible to the others."""
    from local.emulator import Credentials

    return Credentials.root(f"{next(_numbers):012d}")


@pytest.fixture(scope="session")
def stack() -> Iterator[LocalStack]:
    """The deployed stack, with IAM and TLS: for tests from end to end."""
    from local.stack import LocalStack

    with LocalStack.start() as running:
        running.deploy()
        yield running
