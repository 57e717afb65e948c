"""Programs as the contract tests start them: nothing of them outlives the tests, and DynamoDB Local is asked for."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.contract import programs as module
from tests.contract.programs import (
    DYNALITE,
    DYNAMODB_LOCAL,
    Program,
    ProgramFailed,
    dynamodb_local_wanted,
    free_port,
    running,
)

SECONDS = 60
HOST = """
import time
from tests.contract.programs import DYNALITE, running
with running(DYNALITE) as url:
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
    with running(DYNALITE) as url:
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
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ports = [taken.getsockname()[1], free_port()]
        offered = iter(ports)
        monkeypatch.setattr(module, "free_port", lambda: next(offered))
        monkeypatch.setattr(module, "ANSWER_SECONDS", 0.5)
        with running(DYNALITE) as url:
            assert url == f"http://127.0.0.1:{ports[1]}"
    assert ends(url, tmp_path)


def test_a_server_that_does_not_start_says_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(module, "free_port", lambda: 70_000)
    with pytest.raises(ProgramFailed, match="ERR_SOCKET_BAD_PORT"), running(DYNALITE):
        pass
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("program", "command"), [(DYNALITE, "make setup-dev"), (DYNAMODB_LOCAL, "make contract-dynamodb-local")]
)
def test_where_it_is_not_installed_the_tests_say_what_to_do(program: Program, command: str, tmp_path: Path) -> None:
    absent = replace(program, file=tmp_path / "none")
    with pytest.raises(ProgramFailed, match=f"run `{command}`"), running(absent):
        pass


def test_dynamodb_local_runs_only_where_somebody_asks_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CONTRACT_DYNAMODB_LOCAL", raising=False)
    assert not dynamodb_local_wanted()
    monkeypatch.setenv("CONTRACT_DYNAMODB_LOCAL", "yes")
    assert dynamodb_local_wanted()
