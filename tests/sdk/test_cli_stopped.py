"""Commands that are interrupted, or leave something undone: what they say, and how their user goes on."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from clockwork.domain.errors import RevisionConflict
from clockwork.flows.named import write
from clockwork_client.transport import Request, Response
from tests.handlers.handlers import Api
from tests.sdk.terminal import HOOK, Cli, with_dead

LONG = "k" * 250


@pytest.fixture
def cli() -> Cli:
    return Cli(Api())


def _interrupts(cli: Cli, when: Callable[[Request], bool]) -> None:
    """Ctrl-C comes while the answer to such a request is under way; the request was done."""
    inner = cli.transport

    def interrupted(request: Request) -> Response:
        answer: Response = inner(request)
        if when(request):
            raise KeyboardInterrupt
        return answer

    cli.transport = interrupted


def test_a_create_that_was_interrupted_is_repeated_under_its_key_and_makes_one_job(cli: Cli) -> None:
    inner = cli.transport
    _interrupts(cli, lambda _: True)
    ran = cli("job", "create", "--in", "5m", HOOK)
    assert ran.exit_code == 3
    assert "POST /v1/jobs was sent" in ran.stderr
    key = ran.stderr.partition("--idempotency-key ")[2].rstrip(".\n")
    cli.transport = inner
    once = cli.json("job", "create", "--in", "5m", HOOK, "--idempotency-key", key)
    assert cli.json("job", "create", "--in", "5m", HOOK, "--idempotency-key", key)["jobId"] == once["jobId"]
    assert len(cli.json("upcoming")) == 1


def test_what_only_reads_is_interrupted_as_any_command_is(cli: Cli) -> None:
    _interrupts(cli, lambda _: True)
    ran = cli("whoami")
    assert ran.exit_code == 1
    assert ran.stderr.strip() == "Aborted!"


def test_after_a_refusal_nothing_is_uncertain(cli: Cli) -> None:
    ran = cli("job", "create", "--in", "5m", "http://localhost/")
    assert ran.exit_code == 1
    assert "Not certain" not in ran.stderr


def test_the_token_to_go_on_with_is_shown_whole(cli: Cli) -> None:
    cli.api.clockwork.clock.at = int(time.time() * 1000)
    with_dead(cli, *(f"{LONG}{number}" for number in range(4)))
    inner, calls = cli.transport, []

    def two_at_once(request: Request) -> Response:
        if request.url.endswith("/discard"):
            calls.append(request)
            if len(calls) == 2:
                raise KeyboardInterrupt
            body = json.dumps({**json.loads(request.body or b"{}"), "limit": 2}).encode()
            request = request._replace(body=body)
        answer: Response = inner(request)
        return answer

    cli.transport = two_at_once
    ran = cli("dead", "discard", "--yes")
    assert ran.exit_code == 3
    token = ran.stderr.partition("--next-token ")[2].split()[0]
    assert len(token) > 400
    cli.transport = inner
    assert cli.json("dead", "discard", "--yes", "--next-token", token) == {"matched": 2, "changed": 2}


def test_a_job_that_was_passed_makes_the_status_1_and_is_named(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(3):
        cli.json("job", "create", "--every", "1h", "--key", f"a{number}", "--tag", "a=b", HOOK)
    change = write.change

    def conflicting(world: Any, job: Any, *more: Any) -> Any:
        if job.job_key == "a1":
            raise RevisionConflict("the job was changed meanwhile")
        return change(world, job, *more)

    monkeypatch.setattr(write, "change", conflicting)
    ran = cli("--output", "json", "job", "cancel", "--tag", "a=b", "--yes", "--reason", "incident 7")
    assert ran.exit_code == 1
    told = json.loads(ran.stdout)
    assert (told["matched"], told["changed"]) == (3, 2)
    assert [(one["jobKey"], one["reason"]) for one in told["passed"]] == [("a1", "the job was changed meanwhile")]
    (noted,) = [one for one in cli.json("audit") if one["action"] == "cancelJobs"]
    assert noted["reason"] == "incident 7"


@pytest.mark.parametrize("empty", [["--key-prefix", ""], ["--tag", ""]])
def test_an_empty_filter_is_refused_and_not_left_out(cli: Cli, empty: list[str]) -> None:
    cli.json("job", "create", "--every", "1h", "--key", "a", "--tag", "a=b", HOOK)
    others = ["--tag", "a=b"] if empty[0] == "--key-prefix" else []
    ran = cli("job", "cancel", *others, *empty, "--yes")
    assert ran.exit_code == 1
    assert cli.json("job", "get", "--key", "a")["state"] == "ACTIVE"
