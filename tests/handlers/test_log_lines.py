"""The lines of logs: those of Powertools for AWS Lambda, with its keys and its level, and with nothing of an event."""

from __future__ import annotations

import json
import logging
import os
import sys
import traceback
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from clockwork import bootstrap, telemetry
from clockwork.flows.containment import Faults, InvocationFailed, why
from clockwork.memory.world import MemoryClockwork
from tests.support.events import LambdaContext
from tests.support.logs import logging_as_in_lambda, new_environment

log = logging.getLogger("clockwork.test")


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    """Logging is afterwards as it was before."""
    with new_environment("Billing"):
        yield


def lines_of(output: str) -> list[dict[str, Any]]:
    """The lines of the output."""
    return [json.loads(line) for line in output.splitlines()]


def handler_of(monkeypatch: pytest.MonkeyPatch) -> bootstrap.Handler:
    """A Lambda of the stack Billing that logs a line in each invocation, and fails if its event says so."""
    monkeypatch.setenv("AWS_LAMBDA_FUNCTION_NAME", "f")
    monkeypatch.setenv("STACK_NAME", "Billing")
    monkeypatch.setattr(bootstrap, "_wire", lambda _: bootstrap.App(MemoryClockwork().world))

    def made(_: bootstrap.App) -> bootstrap.Handler:
        def handle(event: dict[str, Any], _: Any) -> None:
            log.info("done", extra={"action": "tested", "shard": "p000"})
            if event.get("fails"):
                raise ValueError(event["payload"])

        return handle

    return bootstrap.entry_point(made)


def test_a_line_has_the_keys_of_powertools_and_its_own_fields(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("_X_AMZN_TRACE_ID", "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1")
    # As documented, the time is UTC's, wherever the machine is.
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    context = LambdaContext(aws_request_id="request-1")
    before = datetime.now(UTC)
    handler_of(monkeypatch)({}, context)
    (line,) = lines_of(capsys.readouterr().out)
    at = datetime.fromisoformat(line.pop("timestamp"))
    assert at.utcoffset() == timedelta(0)
    assert abs((at - before).total_seconds()) < 60
    assert line.pop("location").startswith("handle:")
    assert line == {
        "level": "INFO",
        "message": "done",
        "service": "Billing",
        "name": "clockwork.test",
        "cold_start": True,
        "function_name": context.function_name,
        "function_memory_size": context.memory_limit_in_mb,
        "function_arn": context.invoked_function_arn,
        "function_request_id": "request-1",
        "xray_trace_id": "1-5759e988-bd862e3fe1be46a994272793",
        "action": "tested",
        "shard": "p000",
    }


def test_only_the_first_invocation_of_an_environment_is_a_cold_start_and_a_failed_one_leaves_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    handle = handler_of(monkeypatch)
    with pytest.raises(InvocationFailed):
        handle({"fails": True, "payload": ""}, LambdaContext(aws_request_id="request-0"))
    for number in (1, 2):
        handle({}, LambdaContext(aws_request_id=f"request-{number}"))
    found = [
        (line["cold_start"], line["function_request_id"], "xray_trace_id" in line)
        for line in lines_of(capsys.readouterr().out)
        if line["message"] == "done"
    ]
    assert found == [(True, "request-0", False), (False, "request-1", False), (False, "request-2", False)]


def test_no_line_tells_an_event_whatever_the_environment_asks_for(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POWERTOOLS_LOGGER_LOG_EVENT", "true")
    handler_of(monkeypatch)({"payload": "s3cr3t"}, LambdaContext())
    captured = capsys.readouterr()
    assert len(captured.out.splitlines()) == 1
    assert "s3cr3t" not in captured.out + captured.err


def test_neither_a_line_nor_lambda_tells_the_text_of_a_defect_that_ends_an_invocation(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lambda's runtime writes what an invocation raises, with its text."""
    handle, text = handler_of(monkeypatch), "s3cr3t"
    with pytest.raises(InvocationFailed, match=r"^internal fault: ValueError$") as raised:
        handle({"fails": True, "payload": text}, LambdaContext())
    captured = capsys.readouterr()
    line = lines_of(captured.out)[-1]
    assert (line["action"], line["error"]) == ("invocation_failed", "ValueError")
    assert line["where"][-1].endswith(" handle")
    assert text not in captured.out + captured.err + "".join(traceback.format_exception(raised.value))


def test_an_endless_recursion_is_told_by_its_end_alone(capsys: pytest.CaptureFixture[str]) -> None:
    def deeper() -> None:
        deeper()

    with logging_as_in_lambda():
        try:
            deeper()
        except RecursionError as error:
            why(Faults(), error)
    (line,) = lines_of(output := capsys.readouterr().out)
    assert line["where"][-1].endswith(" deeper")
    assert len(output) < 10_000


@pytest.mark.parametrize(
    "name",
    [
        "POWERTOOLS_DEV",
        "POWERTOOLS_DEBUG",
        "POWERTOOLS_LOGGER_SAMPLE_RATE",
        "POWERTOOLS_LOGGER_LOG_EVENT",
        "POWERTOOLS_LOG_DEDUPLICATION_DISABLED",
        "POWERTOOLS_METRICS_DISABLED",
        "POWERTOOLS_METRICS_FUNCTION_NAME",
    ],
)
@pytest.mark.parametrize("value", ["", "1", "true", "strange"])
@pytest.mark.filterwarnings("error")
def test_no_other_variable_of_powertools_changes_or_stops_the_lines(
    name: str, value: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = set()
    for given in (None, value):
        if given is not None:
            monkeypatch.setenv(name, given)
        with new_environment("Billing"):
            handler_of(monkeypatch)({"payload": "s3cr3t"}, LambdaContext())
        captured = capsys.readouterr()
        (line,) = lines_of(captured.out)
        keys.add((*line.keys(), captured.err))
    assert len(keys) == 1


def test_a_line_from_before_the_first_invocation_names_none(capsys: pytest.CaptureFixture[str]) -> None:
    with logging_as_in_lambda():
        log.warning("early")
    (line,) = lines_of(capsys.readouterr().out)
    assert not {"cold_start", "function_request_id"} & line.keys()
    assert line["level"] == "WARNING"


@pytest.mark.parametrize("stack", ["clockwork", "c", "botocore", "root", "Clockwork"])
def test_each_line_is_written_once_whatever_the_stack_is_called(stack: str, capsys: pytest.CaptureFixture[str]) -> None:
    with new_environment(stack):
        # As Lambda's runtime has it.
        logging.getLogger().addHandler(logging.StreamHandler(sys.stdout))
        telemetry.make_logger(stack, {})
        log.info("ours")
        logging.getLogger("botocore.session").warning("a library's")
    lines = lines_of(capsys.readouterr().out)
    assert [(line["message"], line["service"]) for line in lines] == [("ours", stack), ("a library's", stack)]


def test_a_line_is_written_even_with_a_text_that_utf_8_has_no_bytes_for(capfdbinary: Any) -> None:
    with logging_as_in_lambda():
        log.info("of %s", "\ud800", extra={"jobId": "\udfff"})
    captured = capfdbinary.readouterr()
    assert captured.err == b""
    assert json.loads(captured.out)["jobId"] == "\udfff"


def test_an_exception_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    with logging_as_in_lambda():
        try:
            raise ValueError("quoted")
        except ValueError:
            log.exception("failed")
    (line,) = lines_of(output := capsys.readouterr().out)
    assert (line["exception_name"], output.count("quoted"), "stack_trace" in line) == ("ValueError", 2, False)


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
def test_the_level_is_that_of_powertools(
    asked: str | None, level: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if asked is not None:
        monkeypatch.setenv("POWERTOOLS_LOG_LEVEL", asked)
    with new_environment():
        telemetry.make_logger("Clockwork", os.environ)
        for each in (logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR):
            log.log(each, "said")
    written = [line["level"] for line in lines_of(capsys.readouterr().out)]
    levels = (logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR)
    assert written == [logging.getLevelName(each) for each in levels if each >= level]


@pytest.mark.filterwarnings("error")
def test_the_level_that_is_asked_for_goes_before_that_of_the_functions_configuration(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_LAMBDA_LOG_LEVEL", "DEBUG")
    monkeypatch.setenv("LOG_LEVEL", "DEBUG")
    with logging_as_in_lambda("ERROR"):
        log.warning("held back")
        log.error("told")
    assert [line["message"] for line in lines_of(capsys.readouterr().out)] == ["told"]
