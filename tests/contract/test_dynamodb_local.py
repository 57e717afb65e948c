"""DynamoDB Local as the contract tests start it: nothing of it outlives them, and nobody gets it unasked."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.contract import dynamodb_local as module
from tests.contract.dynamodb_local import DynamoDBLocalFailed, dynamodb_local, free_port, wanted

SECONDS = 60
HOST = """
import time
from tests.contract.dynamodb_local import dynamodb_local
with dynamodb_local() as url:
    print(url, flush=True)
    time.sleep(60)
"""

pytestmark = pytest.mark.usefixtures("folder_of_temporary_files")


@pytest.fixture
def folder_of_temporary_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return tmp_path


def listens(url: str) -> bool:
    """Whether anybody listens at the address of a URL."""
    where = urlsplit(url)
    with socket.socket() as caller:
        return caller.connect_ex((where.hostname, where.port)) == 0


def ends(url: str, folder: Path) -> bool:
    """Waits until nobody listens and no file is left; returns whether that came true in time."""
    deadline = time.monotonic() + SECONDS
    while (left := listens(url) or any(folder.iterdir())) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not left


def test_a_server_that_is_left_properly_leaves_neither_process_nor_file(tmp_path: Path) -> None:
    with dynamodb_local() as url:
        assert listens(url)
        assert any(tmp_path.iterdir())
    assert ends(url, tmp_path)


def test_a_server_whose_tests_are_killed_leaves_neither_process_nor_file(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", HOST], stdout=subprocess.PIPE, text=True) as host:
        assert host.stdout
        url = host.stdout.readline().strip()
        assert listens(url)
        os.kill(host.pid, signal.SIGKILL)
    assert ends(url, tmp_path)


def test_a_port_that_somebody_took_meanwhile_is_left_to_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with socket.create_server(("", 0)) as taken:
        ports = [taken.getsockname()[1], free_port()]
        offered = iter(ports)
        monkeypatch.setattr(module, "free_port", lambda: next(offered))
        monkeypatch.setattr(module, "ANSWER_SECONDS", 0.5)
        # Where Java takes the port of another family of addresses, the one of before answers for as long in its place.
        monkeypatch.setattr(module, "START_SECONDS", 30)
        with dynamodb_local() as url:
            assert url == f"http://127.0.0.1:{ports[1]}"
    assert ends(url, tmp_path)


def test_a_server_that_does_not_start_says_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(module, "free_port", lambda: 70_000)
    with pytest.raises(DynamoDBLocalFailed, match="Invalid Port"), dynamodb_local():
        pass
    assert list(tmp_path.iterdir()) == []


def test_where_it_is_not_installed_the_tests_say_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(module, "FOLDER", tmp_path / "none")
    with pytest.raises(DynamoDBLocalFailed, match=r"`make setup-dev`, or set DYNAMODB_LOCAL=no"), dynamodb_local():
        pass


def test_it_is_left_out_where_somebody_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DYNAMODB_LOCAL", raising=False)
    assert wanted()
    monkeypatch.setenv("DYNAMODB_LOCAL", "no")
    assert not wanted()
