"""Completion: of commands, options, states, and of keys, clients and pools, which the API is asked for."""

from __future__ import annotations

import json
import os
import subprocess
import time

import pytest
from click.testing import CliRunner

from clockwork_client.cli.app import clockwork
from clockwork_client.cli.state import State
from clockwork_client.transport import NoAnswer, Request, Response
from infra import ROOT
from tests.handlers.handlers import Api
from tests.sdk.edge import CREDENTIALS, URL
from tests.sdk.hostile import Hostile, answer
from tests.sdk.terminal import HOOK, Cli, Quiet
from tests.sdk.test_terminal import KEYS
from tests.support.examples import ADMIN, ALICE

SHELLS = ("bash", "zsh", "fish")


@pytest.fixture
def cli() -> Cli:
    found = Cli(Api())
    for key in ("report", "reminders", "übersicht", "a key"):
        found.json("job", "create", "--every", "1h", "--key", key, HOOK)
    return found


def completed(cli: Cli, typed: str, shell: str = "bash", caller: str = ALICE) -> list[str]:
    """The words that a shell is told for a line, whose last word is not finished."""
    if isinstance(cli.transport, Quiet):
        cli.transport.caller = caller
    state = State(url=URL, client_id="acme", credentials=CREDENTIALS, transport=cli.transport)
    place = str(typed.count(" "))
    line = {"COMP_WORDS": typed, "COMP_CWORD": place if shell != "fish" else typed.rpartition(" ")[2]}
    ran = CliRunner().invoke(
        clockwork, [], obj=state, prog_name="clockwork", env={"_CLOCKWORK_COMPLETE": f"{shell}_complete", **line}
    )
    assert ran.exit_code == 0 and ran.stderr == "", ran.output
    if shell == "zsh":
        return ran.stdout.splitlines()[1::3]
    return [one.partition(",")[2].partition("\t")[0] for one in ran.stdout.splitlines() if "," in one]


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    "typed",
    ["clockwork job get re", "clockwork job pause --key re", "clockwork exec get re", "clockwork tail --prefix re"],
)
def test_keys_stand_where_jobs_are_named(cli: Cli, typed: str, shell: str) -> None:
    assert completed(cli, typed, shell) == ["reminders", "report"]


def test_clients_and_pools(cli: Cli) -> None:
    assert completed(cli, "clockwork --client ") == ["acme"]
    assert completed(cli, "clockwork client get ", caller=ADMIN) == ["acme", "globex"]
    assert completed(cli, "clockwork pools show ", caller=ADMIN) == []


def test_pools_are_completed_by_name(cli: Cli) -> None:
    pool = {"name": "etl", "revision": 1, "queueUrls": {}, "leaseSeconds": 60, "handlers": [], "principals": []}
    cli.transport = lambda _: Response(200, {}, json.dumps({"items": [pool]}).encode())
    assert completed(cli, "clockwork pools show e") == ["etl"]
    assert completed(cli, "clockwork pools show x") == []


def test_states_commands_and_options(cli: Cli) -> None:
    assert completed(cli, "clockwork job list --state p") == ["PAUSED"]
    assert completed(cli, "clockwork job l") == ["list"]
    assert completed(cli, "clockwork job list --wa") == ["--watch"]


def test_an_option_before_the_word_is_known(cli: Cli) -> None:
    assert completed(cli, "clockwork job get --output json re") == ["reminders", "report"]
    assert completed(cli, "clockwork --client globex job get re") == []


@pytest.mark.parametrize("failure", [NoAnswer("away", was_sent=False), NoAnswer("lost")])
def test_an_api_that_is_away_completes_nothing_soon_and_silently(cli: Cli, failure: NoAnswer) -> None:
    def lose(_: Request) -> Response:
        raise failure

    cli.transport = lose
    began = time.monotonic()
    assert completed(cli, "clockwork job get re") == []
    assert time.monotonic() - began < 5
    cli.transport = lambda _: Response(403, {}, b'{"message": "Forbidden"}')
    assert completed(cli, "clockwork job get re") == []
    cli.transport = lambda _: Response(200, {}, b"[]")
    assert completed(cli, "clockwork job get re") == []


def test_without_a_url_nothing_is_completed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CLOCKWORK_URL", raising=False)
    ran = CliRunner().invoke(
        clockwork, [], prog_name="clockwork",
        env={"_CLOCKWORK_COMPLETE": "bash_complete", "COMP_WORDS": "clockwork job get re", "COMP_CWORD": "3"},
    )  # fmt: skip
    assert (ran.exit_code, ran.output.strip()) == (0, "")


#: By shell, a script that asks for the completions of two lines and prints these.
SCRIPTS = {
    "bash": """
        eval "$(clockwork completion bash)"
        for line in "clockwork job ge" "clockwork job get re"; do
            COMP_WORDS=($line); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); COMPREPLY=()
            _clockwork_completion clockwork
            printf '%s\\n' "${COMPREPLY[@]}"
        done
    """,
    "fish": """
        clockwork completion fish | source
        complete -C "clockwork job ge" | cut -f 1
        complete -C "clockwork job get re" | cut -f 1
    """,
    # zsh completes in its line editor alone: here its two functions that take the words print them.
    "zsh": """
        autoload -Uz compinit; compinit -D
        eval "$(clockwork completion zsh)"
        _describe() { for one in ${(P)3}; do print -r -- ${one%%:*}; done }
        compadd() { print -rl -- ${(P)5} }
        for line in "clockwork job ge" "clockwork job get re"; do
            words=(${=line}); CURRENT=$#words
            _clockwork_completion
        done
    """,
}


def test_bash_completes_commands_and_keys() -> None:
    assert completed_by(["bash", "--norc"], SCRIPTS["bash"]) == ["get", "report"]


@pytest.mark.nightly
@pytest.mark.parametrize("shell", [["zsh", "-f"], ["fish", "--no-config"]], ids=lambda shell: shell[0])
def test_other_shells_complete_commands_and_keys(shell: list[str]) -> None:
    """Debian has them as packages: `apt-get install zsh fish`."""
    assert completed_by(shell, SCRIPTS[shell[0]]) == ["get", "report"]


def completed_by(shell: list[str], script: str) -> list[str]:
    """The words that a real shell prints, which asks an API that has one job."""
    job = {"jobId": "j", "clientId": "acme", "state": "ACTIVE", "jobKey": "report"}
    with Hostile(answer(200, {"items": [job]})) as server:
        environment = {
            **os.environ, **KEYS, "PATH": f"{ROOT / '.venv/bin'}:{os.environ['PATH']}",
            "CLOCKWORK_URL": server.url, "CLOCKWORK_CLIENT_ID": "acme",
        }  # fmt: skip
        ran = subprocess.run([*shell, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert ran.stderr == ""
    assert "GET /v1/jobs?clientId=acme&prefix=re" in server.requests[-1]
    return ran.stdout.split()
