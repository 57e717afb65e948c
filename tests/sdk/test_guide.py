"""docs/sdk.md: its Python runs, from top to bottom, against the shipped edge."""

from __future__ import annotations

import base64
import re
import shlex
import subprocess
import time
from typing import Any

import pytest

from clockwork.targets.web.webhooks import headers_for
from clockwork_client import Clockwork, __version__
from clockwork_client.cli.app import clockwork
from clockwork_client.cli.commands import GROUPS
from infra import ROOT
from tests.handlers.handlers import Api
from tests.sdk.edge import CREDENTIALS, URL, Hands, InMemory
from tests.sdk.terminal import Cli
from tests.sdk.test_webhooks import delivered
from tests.unit.test_docs import fenced

GUIDE = ROOT / "docs/sdk.md"


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """The names that the guide's programs leave behind, and what they print."""
    api = Api()

    def client(client_id: str) -> Clockwork:
        return Clockwork(URL, client_id, credentials=CREDENTIALS, transport=InMemory(api), machine=Hands().machine)

    found: dict[str, Any] = {"api": api}
    for program in fenced(GUIDE, "python"):
        found["Clockwork"] = client
        exec(program.replace("import Clockwork, ", "import "), found)
    found["printed"] = capsys.readouterr().out
    return found


def test_the_programs_run_and_do_what_the_text_says(place: dict[str, Any]) -> None:
    api, cw = place["api"], place["cw"]
    assert {job.job_key: job.state for job in cw.jobs} == {
        "nightly": "ACTIVE",
        "poll-stock": "ACTIVE",
        "report": "ACTIVE",
    }
    assert cw.jobs.get(cw.jobs.find("nightly").job_id).schedule.cron == "0 4 * * *"
    assert "cancelled" in place["printed"]
    api.clockwork.run_until(api.clockwork.clock.at + 3_700_000)
    bodies = [one.occurrence.payload.body for one in api.clockwork.targets.delivered]
    assert {b'{"order":17}', b'{"order":18}', b'{"order":19}'} <= set(bodies)


def test_the_receiver_of_the_guide_tells_real_from_false(place: dict[str, Any]) -> None:
    delivery, _ = delivered(b"1", [])
    secret = "whsec_" + base64.b64encode(b"secret of the client").decode()
    headers = headers_for(delivery.message, int(time.time() * 1000), [secret])
    assert place["receive"](headers, b"1")[0] == 200
    assert place["receive"](headers, b"2")[0] == 401


def test_the_commands_run_one_after_the_other() -> None:
    cli = Cli(Api())
    (commands,) = [block for block in fenced(GUIDE, "sh") if block.startswith("clockwork ")]
    for line in commands.splitlines():
        program, *arguments = shlex.split(line)
        ran = cli(*arguments)
        assert (program, ran.exit_code) == ("clockwork", 0), f"{line}: {ran.output}"
    assert cli.json("job", "get", "--key", "nightly")["schedule"]["cron"] == "0 4 * * *"


def test_make_setup_makes_the_command() -> None:
    ran = subprocess.run([ROOT / ".venv/bin/clockwork", "--version"], capture_output=True, text=True, check=True)
    assert ran.stdout == f"clockwork, version {__version__}\n"


def test_the_list_of_commands_is_that_of_the_command() -> None:
    text = GUIDE.read_text(encoding="utf-8").partition("## The command line")[2]
    told = {group: set(names.split("|")) for group, names in re.findall(r"`(\w+) ([a-z]+(?:\|[a-z]+)+)`", text)}
    assert told == {name: set(group().commands) for name, (group, _) in GROUPS.items()}
    assert {name for name in clockwork.commands if f"`{name}`" in text} == set(clockwork.commands)
