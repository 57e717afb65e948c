"""The command `clockwork` as somebody at a terminal meets it: a real process, and the pictures that it prints."""

from __future__ import annotations

import json
import os
import socket
import subprocess

import click
import pytest
from rich.cells import cell_len

from clockwork_client.transport import Urllib3
from infra import ROOT
from tests.handlers.handlers import Api
from tests.sdk import pictures
from tests.sdk.terminal import Cli
from tests.support.promptness import promptly

COMMAND = str(ROOT / ".venv/bin/clockwork")
KEYS = {"AWS_ACCESS_KEY_ID": "AKIAIOSFODNN7EXAMPLE", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1"}
#: The longest that a user waits to hear that nothing is there (s), with the start of the command.
SOON = 1.5


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command as a shell does."""
    given = {**os.environ, **KEYS, **environment}
    return subprocess.run([COMMAND, *arguments], env=given, capture_output=True, text=True, check=False)


@pytest.fixture
def nowhere() -> str:
    """A URL of this machine at which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as closed:
        return f"http://127.0.0.1:{closed.getsockname()[1]}"


def test_a_server_that_is_not_there_is_not_waited_for(nowhere: str) -> None:
    cli = Cli(Api())
    cli.transport = Urllib3(nowhere)
    ran = cli("job", "list", url=nowhere, region="us-east-1")
    assert (ran.exit_code, ran.stdout) == (1, "")
    assert f"nothing listens at {nowhere}. `make dev` starts" in ran.stderr
    assert "Nothing was done." in ran.stderr
    assert 0 < sum(cli.hands.slept) < 0.5
    assert cli("job", "list", "--deadline", "9", url=nowhere, region="us-east-1").exit_code == 1
    assert sum(cli.hands.slept) > 5, "a user who names a deadline waits for a server that comes"


@pytest.mark.nightly
def test_a_server_that_is_not_there_is_told_at_once(nowhere: str) -> None:
    url = nowhere
    ran, seconds = promptly(lambda: run("--url", url, "--client", "demo", "job", "list"), SOON)
    assert (ran.returncode, ran.stdout) == (1, "")
    assert f"nothing listens at {url}. `make dev` starts" in ran.stderr
    assert seconds <= SOON


@pytest.fixture(scope="module")
def cli() -> Cli:
    return pictures.shop()


@pytest.mark.parametrize("width", pictures.WIDTHS)
@pytest.mark.parametrize("name", pictures.COMMANDS)
def test_commands_print_their_pictures_within_the_terminal(cli: Cli, name: str, width: int) -> None:
    drawn = pictures.picture(cli, name, width)
    assert drawn == pictures.kept(name, width).read_text(encoding="utf-8"), "python -m tests.sdk.pictures"
    # A command line, facts and notes are as long as they are. Tables are as wide as the terminal.
    if name not in pictures.FACTS:
        assert max(cell_len(line) for line in table_of(drawn)) <= width


def table_of(picture: str) -> list[str]:
    """The lines of the table in a picture."""
    return [line for line in picture.splitlines()[1:] if not line.endswith(".")]


def test_every_picture_is_of_a_command() -> None:
    kept = {pictures.kept(name, width).name for name in pictures.COMMANDS for width in pictures.WIDTHS}
    assert {one.name for one in pictures.FOLDER.iterdir()} == kept
    assert len(pictures.COMMANDS) >= 10


def listed(cli: Cli, *arguments: str, width: int = 80) -> str:
    """A list of jobs on a terminal, with its colours."""
    with pictures.terminal(width, pictures.NOW):
        return cli("job", "list", *arguments, color=True).stdout


def test_states_have_colours_and_words_on_a_terminal_alone(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    lit = listed(cli)
    assert "\x1b[32mACTIVE\x1b[0m" in lit and "\x1b[33mPAUSED\x1b[0m" in lit
    assert "\x1b[31mDEAD  \x1b[0m" in lit, "that fired once"
    for name, value in (("NO_COLOR", "1"), ("TERM", "dumb")):
        with monkeypatch.context() as given, pictures.terminal(80, pictures.NOW):
            given.setenv(name, value)
            assert "\x1b" not in cli("job", "list", color=True).stdout
    assert "\x1b" not in cli("job", "list", color=True).stdout, "into a pipe"


def test_where_no_terminal_is_nothing_is_cut_or_left_out(cli: Cli) -> None:
    head, *lines = cli("job", "list").stdout.splitlines()
    assert head.split("  ")[0] == "KEY" and "TARGET" in head
    assert "kundenübersicht-für-das-team-in-der-zentrale" in lines[1]
    assert "shop.example.com/hooks/customers" in lines[1]


def test_a_narrow_terminal_has_fewer_columns_and_never_a_wrapped_line(cli: Cli) -> None:
    for width in (30, 40, 50, 60, 70, 90, 100):
        lines = listed(cli, width=width).splitlines()
        assert len(lines) == 5
        plain = [click.unstyle(line) for line in lines]
        # The columns that stay are those without which a row says nothing.
        assert max(map(cell_len, plain)) <= max(width, 24 + 2 + 9 + 2 + 22), plain


def test_each_output_has_its_form(cli: Cli) -> None:
    keys = [one["jobKey"] for one in json.loads(cli("job", "list", "--json").stdout)]
    assert keys == [json.loads(line)["jobKey"] for line in cli("job", "list", "-o", "jsonl").stdout.splitlines()]
    assert json.loads(cli("-ojson", "job", "list").stdout) == json.loads(cli("job", "list", "-o=json").stdout)
    whole = cli("job", "list", "-o", "wide")
    assert "nMS9hY21lL25pZ2h0bHktcmVwb3J0" in whole.stdout
    recent = cli("exec", "list", "-o", "jsonl").stdout.splitlines()
    assert {json.loads(line)["state"] for line in recent} >= {"SUCCEEDED", "DEAD"}
    assert json.loads(cli("whoami", "--output", "jsonl").stdout)["clientIds"] == ["acme"]
    assert cli("job", "list", "-o", "yaml").exit_code == 2


def test_a_list_without_rows_says_so(cli: Cli) -> None:
    with pictures.terminal(80, pictures.NOW):
        ran = cli("job", "list", "--prefix", "nothing")
    assert (ran.stdout, ran.stderr) == ("", "Nothing was found.\n")
    assert cli("job", "list", "--prefix", "nothing").stdout.split() == ["KEY", "STATE", *["NEXT", "FIRE"],
                                                                        "SCHEDULE", "TARGET"]  # fmt: skip
