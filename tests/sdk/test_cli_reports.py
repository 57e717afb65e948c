"""`clockwork exec complete` and `fail`: the token comes by the environment or a file, never by argument."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from clockwork.domain.executions import State
from tests.handlers.handlers import Api
from tests.sdk.terminal import HOOK, Cli

CALLBACK = '{"mode": "callback"}'


class Work:
    """An attempt whose receiver is at work."""

    def __init__(self) -> None:
        self.api = Api()
        self.cli = Cli(self.api)
        made = self.cli("job", "create", "--in", "1s", HOOK, "--completion", CALLBACK)
        assert made.exit_code == 0, made.output
        self.api.clockwork.run_until(self.api.clockwork.clock.at + 5_000)
        (delivery,) = self.api.clockwork.targets.delivered
        self.execution_id, self.token = delivery.execution_id, str(delivery.token)

    def state(self) -> Any:
        (record,) = self.api.clockwork.executions.all()
        return record.state


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Work:
    monkeypatch.delenv("CLOCKWORK_TOKEN", raising=False)
    return Work()


def test_a_token_of_the_environment(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLOCKWORK_TOKEN", f" {work.token}\n")
    ran = work.cli("exec", "complete", work.execution_id, "--result", "1")
    assert (ran.exit_code, work.state()) == (0, State.SUCCEEDED), ran.output


@pytest.mark.parametrize("more", [("complete",), ("fail", "--error", "out of paper", "--final")])
@pytest.mark.parametrize("by", ["file", "-"])
def test_a_token_of_a_file_or_of_standard_input_goes_before_that_of_the_environment(
    work: Work, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, by: str, more: tuple[str, ...]
) -> None:
    monkeypatch.setenv("CLOCKWORK_TOKEN", "another")
    file = tmp_path / "token"
    file.write_text(work.token + "\n")
    ran = work.cli(
        "exec", *more, "--token-file", str(file) if by == "file" else "-", work.execution_id, text=work.token + "\n"
    )
    assert ran.exit_code == 0, ran.output
    work.api.clockwork.run_until(work.api.clockwork.clock.at + 5_000)
    assert work.state() is (State.SUCCEEDED if more == ("complete",) else State.DEAD)


@pytest.mark.parametrize("what", ["complete", "fail"])
def test_without_a_token_the_command_says_how_to_give_it(work: Work, what: str) -> None:
    error = ("--error", "e") if what == "fail" else ()
    ran = work.cli("exec", what, work.execution_id, *error)
    assert ran.exit_code == 2
    assert "CLOCKWORK_TOKEN" in ran.output and "--token-file" in ran.output
    assert work.cli("exec", what, work.execution_id, work.token, *error).exit_code == 2
    assert work.state() is State.RUNNING


@pytest.mark.parametrize("content", [None, b"", b" \n", b"\xff\xfe", b"SECRET" * 1_000])
def test_a_file_that_holds_no_token_is_named_and_nothing_of_it_is_shown(
    work: Work, tmp_path: Path, content: bytes | None
) -> None:
    file = tmp_path / "token"
    if content is not None:
        file.write_bytes(content)
    ran = work.cli("exec", "complete", work.execution_id, "--token-file", str(file))
    assert ran.exit_code == 2
    assert str(file) in ran.output.replace("\n", "") and "SECRET" not in ran.output
