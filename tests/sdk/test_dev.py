"""`clockwork dev`: which checkout's server it starts."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from clockwork_client.cli.app import clockwork
from clockwork_client.cli.dev import checkout
from clockwork_client.errors import NotConfigured
from infra import ROOT


def made(folder: Path, *, set_up: bool = True) -> Path:
    for name in ("local/dev/__main__.py", *([".venv/.complete"] if set_up else [])):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    return folder


def test_the_checkout_that_the_client_lies_in_goes_before_the_current_folder(tmp_path: Path) -> None:
    one, other = made(tmp_path / "one"), made(tmp_path / "other")
    assert checkout(other, one / "sdk/python/clockwork_client/cli/dev.py") == one
    assert checkout(other, tmp_path / "site-packages/clockwork_client/cli/dev.py") == other


def test_a_folder_above_is_not_searched(tmp_path: Path) -> None:
    (made(tmp_path / "one") / "docs").mkdir()
    with pytest.raises(NotConfigured, match="no checkout"):
        checkout(tmp_path / "one/docs", tmp_path / "elsewhere/dev.py")


def test_a_checkout_that_is_not_set_up_is_told_so(tmp_path: Path) -> None:
    with pytest.raises(NotConfigured, match="make setup"):
        checkout(made(tmp_path, set_up=False), tmp_path / "elsewhere/dev.py")


def test_the_command_becomes_the_server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    started: list[tuple[str, list[str]]] = []
    monkeypatch.setattr(os, "execv", lambda program, arguments: started.append((str(program), arguments)))
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(clockwork, ["dev", "--port", "4781", "--state", "kept"])
    assert done.exit_code == 0, done.output
    command = [".venv/bin/python", "-m", "local.dev", "--port=4781", f"--state={tmp_path / 'kept'}"]
    assert started == [(".venv/bin/python", command)]
    assert Path.cwd() == ROOT
