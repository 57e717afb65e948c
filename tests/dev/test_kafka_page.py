"""docs/howto/kafka.md, word for word, beside a server with its broker; and the broker ends with the server."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from infra import ROOT
from local.dev.server import BROKER_OFFSET
from tests.dev.checkout import Checkout, Dev, free_port
from tests.dev.pages import run_page
from tests.e2e.waiting import await_value

pytestmark = pytest.mark.nightly

PAGE = ROOT / "docs/howto/kafka.md"


@pytest.fixture(scope="module")
def with_kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dev]:
    """A server of its own, from a checkout of its own, as `make dev KAFKA=1` starts it."""
    own = Checkout(tmp_path_factory.mktemp("kafka") / "clockwork")
    port = free_port()
    with own.started("make", "dev", "KAFKA=1", f"PORT={port}") as running:
        running.await_said("What arrives in the inbox shows here")
        yield Dev(own, running, port)


def test_the_page_does_what_it_says(with_kafka: Dev) -> None:
    assert f"kafka        127.0.0.1:{with_kafka.port + BROKER_OFFSET} has the topic demo" in with_kafka.running.said
    assert run_page(PAGE.read_text(encoding="utf-8"), with_kafka) == 8


def test_a_taken_port_is_told_and_nothing_is_started(tmp_path: Path) -> None:
    other = Checkout(tmp_path / "clockwork")
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1] - BROKER_OFFSET
        with other.started("make", "dev", "KAFKA=1", f"PORT={port}") as second:
            said = second.await_said("The server cannot run")
            assert re.search(rf"port {port + BROKER_OFFSET} of 127\.0\.0\.1.* cannot be had", said)
            assert second.ended() != 0


def test_the_broker_ends_with_ctrl_c(with_kafka: Dev) -> None:
    with_kafka.running.press_ctrl_c()
    address = ("127.0.0.1", with_kafka.port + BROKER_OFFSET)

    def has_ended() -> bool | None:
        try:
            socket.create_connection(address, timeout=1).close()
        except OSError:
            return True
        return None

    await_value(has_ended, "the broker has ended", 10)
