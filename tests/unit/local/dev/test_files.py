"""The environment that a shell sources, and the facts of a server that has ended."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from local.dev import files


@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_a_shell_gets_the_environment_of_demo_and_a_way_to_act_as_the_admin(tmp_path: Path, shell: str) -> None:
    folder = tmp_path / "it's a folder" / ".clockwork"
    folder.mkdir(parents=True)
    (folder / "dev.env").write_text(files.environment(folder, "http://127.0.0.1:4780", "http://127.0.0.1:4790"))
    script = '. "$1"; . "$1"; echo "$CLOCKWORK_URL $AWS_ACCESS_KEY_ID ${AWS_PROFILE-none}"; as_admin env; echo "$PATH"'
    said = subprocess.run(
        [shell, "-e", "-c", script, "sh", str(folder / "dev.env")],
        env={"PATH": os.environ["PATH"], "AWS_PROFILE": "work", "AWS_SESSION_TOKEN": "of another account"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    assert said[0] == "http://127.0.0.1:4780 CLOCKWORKDEVDEMO0000 none"
    assert "AWS_ACCESS_KEY_ID=CLOCKWORKDEVADMIN000" in said
    assert [line for line in said if line.startswith("AWS_SESSION_TOKEN")] == []
    assert said[-1] == f"{folder}/bin:{os.environ['PATH']}"


def test_a_server_that_was_killed_runs_no_more(tmp_path: Path) -> None:
    with pytest.raises(files.NoServer, match="make dev"):
        files.facts(tmp_path)
    with subprocess.Popen(["true"]) as ended:
        pass
    told: dict[str, object] = {"endpoint_url": "", "ca_bundle": "", "log": "", "functions": {}, "state": None}
    (tmp_path / files.FACTS).write_text(json.dumps({"process": ended.pid, **told}))
    with pytest.raises(files.NoServer, match="make dev"):
        files.facts(tmp_path)
    (tmp_path / files.FACTS).write_text(json.dumps({"process": os.getpid(), **told}))
    assert files.facts(tmp_path).process == os.getpid()
