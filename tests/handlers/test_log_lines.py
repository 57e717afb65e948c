"""The lines of logs: JSON with the keys that Powertools for AWS Lambda made common, and a level that can be set."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from clockwork import bootstrap, telemetry
from clockwork.memory.world import MemoryClockwork
from tests.support.events import LambdaContext

log = logging.getLogger("clockwork.test")


@pytest.fixture(autouse=True)
def as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No invocation is under way, and logging is as it was afterwards."""
    monkeypatch.setattr(telemetry, "_invocation", {})
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


def told(output: str) -> dict[str, Any]:
    """The one line of the output."""
    (line,) = output.splitlines()
    read: dict[str, Any] = json.loads(line)
    return read


def handler_of(monkeypatch: pytest.MonkeyPatch) -> bootstrap.Handler:
    """A Lambda that logs a line in each invocation."""
    monkeypatch.setenv("AWS_LAMBDA_FUNCTION_NAME", "f")
    monkeypatch.setattr(bootstrap, "_wire", lambda _: bootstrap.App(MemoryClockwork().world))

    def made(_: bootstrap.App) -> bootstrap.Handler:
        return lambda _event, _context: log.info("done", extra={"action": "tested", "shard": "p000"})

    return bootstrap.entry_point(made)


def test_a_line_has_the_keys_of_powertools_and_its_own_fields(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("_X_AMZN_TRACE_ID", "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1")
    handle = handler_of(monkeypatch)
    telemetry.configure_logging("Billing")
    before = datetime.now(UTC)
    handle({}, LambdaContext(aws_request_id="request-1"))
    line = told(capsys.readouterr().out)
    assert abs((datetime.fromisoformat(line.pop("timestamp")) - before).total_seconds()) < 60
    assert line == {
        "level": "INFO",
        "message": "done",
        "service": "Billing",
        "logger": "clockwork.test",
        "cold_start": True,
        "function_request_id": "request-1",
        "xray_trace_id": "1-5759e988-bd862e3fe1be46a994272793",
        "action": "tested",
        "shard": "p000",
    }


def test_only_the_first_invocation_of_an_environment_is_a_cold_start(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    handle = handler_of(monkeypatch)
    telemetry.configure_logging("Billing")
    found = []
    for number in range(3):
        handle({}, LambdaContext(aws_request_id=f"request-{number}"))
        line = told(capsys.readouterr().out)
        found.append((line["cold_start"], line["function_request_id"], "xray_trace_id" in line))
    assert found == [(True, "request-0", False), (False, "request-1", False), (False, "request-2", False)]


def test_a_line_from_before_the_first_invocation_names_none(capsys: pytest.CaptureFixture[str]) -> None:
    telemetry.configure_logging("Billing")
    log.warning("early")
    line = told(capsys.readouterr().out)
    assert not {"cold_start", "function_request_id"} & line.keys()
    assert line["level"] == "WARNING"


@pytest.mark.parametrize(
    ("asked", "level"),
    [
        (None, logging.INFO),
        ("DEBUG", logging.DEBUG),
        ("warning", logging.WARNING),
        (" ERROR ", logging.ERROR),
        ("loud", logging.INFO),
        ("", logging.INFO),
    ],
)
def test_the_level_is_that_of_powertools(asked: str | None, level: int) -> None:
    assert telemetry.level_asked({} if asked is None else {"POWERTOOLS_LOG_LEVEL": asked}) == level
