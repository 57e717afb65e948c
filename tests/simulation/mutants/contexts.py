"""A pytest plugin that measures which lines of the package each test takes; each test is a coverage context."""

from __future__ import annotations

from collections.abc import Iterator

import coverage
import pytest

import clockwork


class Contexts:
    """Measures coverage from the collection of tests to their end."""

    def __init__(self, destination: str) -> None:
        (package,) = clockwork.__path__
        self._coverage = coverage.Coverage(
            data_file=destination, include=f"{package}/*", config_file=False, messages=False
        )
        self._coverage.start()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._coverage.switch_context(item.nodeid)
        try:
            return (yield)
        finally:
            self._coverage.switch_context("")

    def pytest_unconfigure(self) -> None:
        self._coverage.stop()
        self._coverage.save()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--contexts-into", required=True, help="the file to leave what was measured in")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Contexts(config.getoption("--contexts-into")))
