"""The address: taken at once, and who has it otherwise."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from local.dev import address
from local.dev.faults import ServerFailed
from local.receiver import Answer, Post, Receiver


class Stranger(Receiver):
    """Some other program: it answers everything with what is no JSON."""

    def answer(self, post: Post) -> Answer:
        return Answer(200, b"hello")


def test_another_program_at_the_port_is_told_from_a_server() -> None:
    with Stranger() as stranger, pytest.raises(ServerFailed, match="another program") as raised:
        address.take(stranger.port, Path.cwd())
    assert str(raised.value).endswith(f"make dev PORT={stranger.port + 1}")


def test_a_program_that_never_answers_does_not_hold_up_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(address, "ANSWER_SECONDS", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(ServerFailed, match="another program"):
        address.take(silent.getsockname()[1], Path.cwd())


def test_the_checkout_that_runs_already_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(address, "owner_of", lambda port: {"folder": str(Path.cwd()), "process": "17"})
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(ServerFailed, match="process 17"):
        address.take(taken.getsockname()[1], Path.cwd())
