"""Fixtures of the tests that use the development server, as whoever follows a page does: one server for all."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.dev.checkout import Checkout, Dev, free_port
from tests.e2e.hooks import Hooks


@pytest.fixture(scope="session")
def webhooks() -> Iterator[Hooks]:
    """The running webhook receiver."""
    with Hooks() as running:
        yield running


@pytest.fixture(scope="session")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A copy of this checkout, for development servers."""
    return Checkout(tmp_path_factory.mktemp("dev") / "clockwork")


@pytest.fixture(scope="session")
def dev(checkout: Checkout) -> Iterator[Dev]:
    """The development server that tests share."""
    port = free_port()
    with checkout.server(port=port) as running:
        yield Dev(checkout, running, port)
