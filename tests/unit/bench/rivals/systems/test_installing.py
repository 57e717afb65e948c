"""A failed installation is told with its reason, and is tried again with the next run; one that succeeded is not."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bench.rivals.systems import installing, postgres
from bench.rivals.systems.base import NotToBeHad


@pytest.fixture(autouse=True)
def _folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pins").mkdir()
    (tmp_path / "pins/empty.lock").write_text("# nothing\n")
    monkeypatch.setattr(installing, "FOLDER", tmp_path / "installed")
    monkeypatch.setattr(installing, "PINS", tmp_path / "pins")


def test_a_command_that_fails_is_the_reason() -> None:
    with pytest.raises(NotToBeHad, match="failed: no such package"):
        installing._call([sys.executable, "-c", "raise SystemExit('no such package')"])


def test_a_command_that_hangs_is_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installing, "INSTALL_SECONDS", 0.2)
    with pytest.raises(NotToBeHad, match=r"took longer than 0\.2 s"):
        installing._call([sys.executable, "-c", "import time; time.sleep(60)"])


def test_an_environment_is_made_once_for_its_pins_and_anew_after_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[list[str]] = []

    def call(command: list[str]) -> None:
        called.append(command)
        (installing.FOLDER / "empty").mkdir(parents=True, exist_ok=True)
        if len(called) == 2:
            raise NotToBeHad("no network")

    monkeypatch.setattr(installing, "_call", call)
    with pytest.raises(NotToBeHad):
        installing.python_environment("empty")
    assert installing.python_environment("empty") == installing.FOLDER / "empty/bin"
    assert [command[2] for command in called] == ["venv", "pip"] * 2
    installing.python_environment("empty")
    assert len(called) == 4
    (installing.PINS / "empty.lock").write_text("other==1\n")
    installing.python_environment("empty")
    assert len(called) == 6


def test_turns_that_begin_at_the_same_time_find_what_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[list[str]] = []

    def call(command: list[str]) -> None:
        called.append(command)
        (installing.FOLDER / "empty").mkdir(parents=True, exist_ok=True)

    monkeypatch.setattr(installing, "_call", call)
    with ThreadPoolExecutor(8) as threads:
        for found in [threads.submit(installing.python_environment, "empty") for _ in range(400)]:
            assert found.result() == installing.FOLDER / "empty/bin"
    assert len(called) == 2


def test_without_npm_packages_of_node_are_not_to_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda _: None)
    with pytest.raises(NotToBeHad, match="no `npm`"):
        installing.node_modules("bullmq")


def test_postgres_is_not_to_be_had_where_nobody_may_install_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("shutil.which", lambda _: None)
    monkeypatch.setattr(postgres, "_DEBIAN", tmp_path)
    with pytest.raises(NotToBeHad, match="PostgreSQL is not installed"):
        postgres.ensure()


def test_postgres_says_that_its_installation_failed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def run(command: list[str], **_: object) -> None:
        raise subprocess.CalledProcessError(100, command)

    monkeypatch.setattr("shutil.which", lambda name: "/usr/bin/apt-get" if name == "apt-get" else None)
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr("subprocess.run", run)
    monkeypatch.setattr(postgres, "_DEBIAN", tmp_path)
    with pytest.raises(NotToBeHad, match="exit status 100"):
        postgres.ensure()


def test_the_newest_postgres_is_taken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for version in ("9.6", "15", "14"):
        (tmp_path / version / "bin").mkdir(parents=True)
        (tmp_path / version / "bin/initdb").touch()
    monkeypatch.setattr("shutil.which", lambda _: None)
    monkeypatch.setattr(postgres, "_DEBIAN", tmp_path)
    assert postgres.programs() == tmp_path / "15/bin"
