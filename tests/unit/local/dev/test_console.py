"""The console beside the development server: it has a link at once, and leaves nothing behind."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import urllib3

from infra import ROOT
from local.dev.announce import announcement
from local.dev.console import console, free_from

NOWHERE = {
    "CLOCKWORK_URL": "http://127.0.0.1:9",
    "CLOCKWORK_CLIENT_ID": "demo",
    "AWS_ACCESS_KEY_ID": "key",
    "AWS_SECRET_ACCESS_KEY": "secret",
    "AWS_REGION": "us-east-1",
    "PYTHONPATH": os.pathsep.join(map(str, (ROOT, ROOT / "layers/core/python", ROOT / "sdk/python"))),
}


@pytest.fixture
def port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        found: int = listener.getsockname()[1]
    yield found


@pytest.mark.long
def test_its_link_opens_it_and_it_ends_with_the_block(port: int) -> None:
    with console(NOWHERE, port, lambda _: None) as said:
        link = re.search(r"http://127\.0\.0\.1:\d+/enter\?token=\S+", said)
        assert link is not None, said
        answer = urllib3.request("GET", link[0], retries=False)
        assert answer.status == 200
        cookie = answer.headers["set-cookie"].partition(";")[0]
        page = urllib3.request(
            "GET", f"http://127.0.0.1:{port}/", headers={"cookie": cookie}, retries=False, timeout=20
        )
        assert "The API cannot be reached" in page.data.decode()
    with socket.create_server(("127.0.0.1", port)):
        pass  # nobody has the port any more


def test_it_takes_another_port_if_its_own_is_taken(port: int) -> None:
    with socket.create_server(("127.0.0.1", port)):
        assert free_from(port) != port
    assert free_from(port) == port


def test_it_ends_if_the_server_is_killed(port: int) -> None:
    program = [sys.executable, "-m", "local.dev.console", str(port)]
    child = subprocess.Popen(
        program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, **NOWHERE}, text=True, bufsize=1
    )
    assert child.stdin is not None
    assert child.stdout is not None
    assert "token=" in child.stdout.readline()
    child.stdin.write("p\n")
    child.stdout.readline()
    assert "token=" in child.stdout.readline()  # p prints another link
    began = time.monotonic()
    child.stdin.close()
    child.wait(10)
    child.stdout.close()
    assert time.monotonic() - began < 5


def test_a_console_that_cannot_start_is_told_and_the_server_stays() -> None:
    with console({**NOWHERE, "CLOCKWORK_URL": "nothing"}, 0, lambda _: None) as said:
        assert said.startswith("the console did not start: 'nothing' is no URL")


def test_the_announcement_has_the_link() -> None:
    ready: Any = SimpleNamespace(url="http://a", kafka=None)
    said = "The console of http://a is at http://c/enter?token=t"
    told = announcement(ready, "http://b", said, ROOT, seconds=1, state=None)
    assert "  console      http://c/enter?token=t shows" in told


@pytest.mark.parametrize(("kafka", "line"), [(None, ""), ("127.0.0.1:4795", "127.0.0.1:4795 has the topic demo")])
def test_the_announcement_has_the_broker_if_there_is_one(kafka: str | None, line: str) -> None:
    ready: Any = SimpleNamespace(url="http://a", kafka=kafka)
    told = announcement(ready, "http://b", "", ROOT, seconds=1, state=None)
    assert (line in told, "  kafka " in told) == (True, kafka is not None)
