"""The server's state belongs to one server at a time, and its port leaves room for the inbox."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from local.dev import __main__ as dev
from local.dev.faults import ServerFailed
from local.dev.server import own


def test_two_servers_do_not_keep_their_jobs_in_one_folder(tmp_path: Path) -> None:
    state = tmp_path / "kept"
    with own(state), pytest.raises(ServerFailed, match="another STATE=folder"), own(state):
        pass
    with own(state):
        pass


@pytest.mark.parametrize("port", ["70000", "65530", "-1", "http"])
def test_a_port_that_is_none_is_wrong_use(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], port: str
) -> None:
    monkeypatch.setattr(sys, "argv", ["dev", f"--port={port}"])
    with pytest.raises(SystemExit) as ended:
        dev.main()
    assert ended.value.code == 2
    assert "--port" in capsys.readouterr().err
