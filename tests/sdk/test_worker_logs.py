"""A worker's loggers: a line tells where it comes from, and logging that raises stops nobody."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from clockwork_client.worker.logs import Log, logger

NAME = "clockwork_client.worker.a_test_of_logs"


def raising(error: BaseException) -> Callable[[logging.LogRecord], bool]:
    def breaks(_: logging.LogRecord) -> bool:
        raise error

    return breaks


@pytest.fixture
def log() -> Iterator[Log]:
    yield logger(NAME)
    logging.getLogger(NAME).filters.clear()


@pytest.mark.parametrize("how", ["info", "warning", "error", "exception"])
def test_a_line_tells_its_level_and_the_place_it_comes_from(log: Log, how: str, caplog: Any) -> None:
    caplog.set_level(logging.INFO, NAME)
    try:
        raise ValueError("bad")
    except ValueError:
        getattr(log, how)("%s is %d", "one", 1)
    (record,) = caplog.records
    assert record.getMessage() == "one is 1"
    assert record.levelname == {"exception": "ERROR"}.get(how, how.upper())
    assert record.funcName == "test_a_line_tells_its_level_and_the_place_it_comes_from"
    assert bool(record.exc_info) is (how == "exception")


@pytest.mark.parametrize("how", ["info", "warning", "error", "exception"])
@pytest.mark.parametrize("error", [LookupError("request_id"), SystemExit(3), RecursionError()])
def test_logging_that_raises_stops_nobody(log: Log, how: str, error: BaseException) -> None:
    logging.getLogger(NAME).setLevel(logging.INFO)
    logging.getLogger(NAME).addFilter(raising(error))
    getattr(log, how)("a line")
