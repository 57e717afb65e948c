"""Lists of the client and of the command line on a slow store: short and empty pages end nothing."""

from __future__ import annotations

from typing import Any

import pytest

from clockwork.flows.requests import read, redrive
from clockwork.memory.executions import MemoryExecutions
from clockwork.memory.jobs import MemoryJobs
from tests.handlers.handlers import Api
from tests.handlers.test_changes_of_named_jobs import ONCE, failing
from tests.handlers.test_named_api import create, run
from tests.sdk.terminal import Cli


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch) -> Cli:
    """A client with 30 jobs, of which the last one is tagged; two are DEAD. Each read of a store takes 0.6 s."""
    api = Api()
    failing(api)
    create(api, "a-dead", {"delaySeconds": 1}, retryPolicy=ONCE)
    create(api, "z-dead", {"delaySeconds": 2}, retryPolicy=ONCE)
    run(api, 5)
    for number in range(30):
        tags = {"team": "last"} if number == 29 else {}
        create(api, f"job-{number:02}", {"cron": "0 3 * * *", "timezone": "UTC"}, tags=tags)
    for name in ("READ_AT_ONCE", "GROWTH", "READ_FIRST"):
        monkeypatch.setattr(read, name, 2)
    monkeypatch.setattr(redrive, "READ_FIRST", 1)
    for store, name in ((MemoryJobs, "list"), (MemoryExecutions, "dead")):
        slow(api, store, name, monkeypatch)
    return Cli(api)


def slow(api: Api, store: type, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    method = getattr(store, name)

    def reading(self: Any, *args: Any, **kwargs: Any) -> Any:
        api.clockwork.clock.at += 600
        return method(self, *args, **kwargs)

    monkeypatch.setattr(store, name, reading)


def test_the_command_line_goes_on_over_pages_that_are_empty(cli: Cli) -> None:
    found = cli.json("job", "list", "--tag", "team=last", "--limit", "2")
    assert [one["jobKey"] for one in found] == ["job-29"]
    # The last page alone has a job.
    assert len(cli.transport.sent) > 10
    assert len(cli.json("job", "list", "--limit", "100")) == 32
    assert [one["jobKey"] for one in cli.json("dead", "list", "--prefix", "a-")] == ["a-dead"]
