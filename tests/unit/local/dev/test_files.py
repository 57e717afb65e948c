"""The environment that a shell sources, and the facts of a server that has ended."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from local.dev import files
from local.dev.faults import ServerFailed


@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_a_shell_gets_the_environment_of_demo_and_a_way_to_act_as_the_admin(tmp_path: Path, shell: str) -> None:
    folder = tmp_path / "it's a folder" / ".clockwork"
    folder.mkdir(parents=True)
    (folder / "dev.env").write_text(files.environment(folder, "http://127.0.0.1:4780", "http://127.0.0.1:4790"))
    shown = 'echo "$CLOCKWORK_URL $AWS_ACCESS_KEY_ID ${AWS_PROFILE-none} $AWS_CA_BUNDLE"'
    script = f'. "$1"; . "$1"; {shown}; as_admin env; echo "$PATH"'
    said = subprocess.run(
        [shell, "-e", "-c", script, "sh", str(folder / "dev.env")],
        env={"PATH": os.environ["PATH"], "AWS_PROFILE": "work", "AWS_SESSION_TOKEN": "of another account"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    assert said[0] == f"http://127.0.0.1:4780 CLOCKWORKDEVDEMO0000 none {folder}/ca.pem"
    assert "AWS_ACCESS_KEY_ID=CLOCKWORKDEVADMIN000" in said
    assert [line for line in said if line.startswith("AWS_SESSION_TOKEN")] == []
    assert said[-1] == f"{folder}/bin:{os.environ['PATH']}"


def told(folder: Path, **of: object) -> None:
    rest: dict[str, object] = {"endpoint_url": "", "ca_bundle": "", "log": "", "functions": {}, "state": None}
    (folder / files.FACTS).write_text(json.dumps({**rest, **of}))


def test_a_server_that_was_killed_runs_no_more_even_if_its_process_id_is_anothers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner: dict[str, str] | None = None
    monkeypatch.setattr("local.dev.address.owner_of", lambda port: owner if port == 4780 else None)
    for _ in range(2):
        files.check_alone(tmp_path)
        with pytest.raises(files.NoServer, match="make dev"):
            files.facts(tmp_path)
        told(tmp_path, process=os.getpid(), port=4780)
    owner = {"folder": str(tmp_path), "process": "17"}
    files.check_alone(tmp_path)
    told(tmp_path, process=17, port=4780)
    assert files.facts(tmp_path).process == 17
    with pytest.raises(ServerFailed, match=r"already runs at http://127\.0\.0\.1:4780"):
        files.check_alone(tmp_path)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"process": 1, "port": 2, "more": 3}'])
def test_a_file_that_is_none_of_this_version_is_no_server(tmp_path: Path, text: str) -> None:
    (tmp_path / files.FACTS).write_text(text)
    with pytest.raises(files.NoServer):
        files.facts(tmp_path)
