"""Commands that wait: `--wait`, `--watch` and `tail`, through failures and outages, until an end or Ctrl-C."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from clockwork.domain.executions import Outcome, State
from clockwork_client.transport import NoAnswer, Request, Response
from tests.handlers.handlers import Api
from tests.sdk import pictures
from tests.sdk.terminal import HOOK, Cli, with_dead

ONCE = '{"maxAttempts": 1}'


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch) -> Cli:
    """A terminal beside a Clockwork whose time passes while a command sleeps."""
    monkeypatch.setenv("TZ", "UTC")
    api = Api()
    api.clockwork.clock.at = int(datetime.now(UTC).timestamp() * 1000)
    found = Cli(api)
    plain = found.hands.sleep

    def sleep(seconds: float) -> None:
        plain(seconds)
        api.clockwork.run_until(api.clockwork.clock.at + int(seconds * 1000))

    found.hands.sleep = sleep  # type: ignore[method-assign]
    return found


def interrupted(cli: Cli, after: int) -> None:
    """Press Ctrl-C in the pause after so many looks."""
    sleep, pauses = cli.hands.sleep, iter(range(after - 1))

    def until(seconds: float) -> None:
        if next(pauses, None) is None:
            raise KeyboardInterrupt
        sleep(seconds)

    cli.hands.sleep = until  # type: ignore[method-assign]


def failing(cli: Cli) -> None:
    def fail(_: object) -> Outcome:
        at = cli.api.clockwork.clock.at
        return Outcome(State.FAILED, at, at, error="HTTP 500")

    cli.api.clockwork.targets._answer = fail


class TestWait:
    def test_a_create_waits_until_the_job_has_run(self, cli: Cli) -> None:
        ran = cli("job", "create", "--in", "20s", HOOK, "--wait")
        assert ran.exit_code == 0, ran.output
        assert "SUCCEEDED" in ran.stdout and "is created" in ran.stderr
        assert 20 <= sum(cli.hands.slept) < 40
        found = cli.json("job", "create", "--in", "2s", "--key", "k", HOOK, "--wait")
        assert (found["state"], found["jobKey"]) == ("SUCCEEDED", "k")

    def test_an_end_that_is_no_success_is_status_1(self, cli: Cli) -> None:
        failing(cli)
        ran = cli("job", "create", "--in", "1s", HOOK, "--retry", ONCE, "--wait")
        assert (ran.exit_code, "DEAD" in ran.stdout) == (1, True)

    def test_a_run_and_a_redrive_wait(self, cli: Cli) -> None:
        cli("job", "create", "--every", "1h", "--key", "report", HOOK, "--retry", ONCE)
        assert cli.json("job", "run", "report", "--wait")["state"] == "SUCCEEDED"
        failing(cli)
        ran = cli("job", "run", "report", "--wait", "--json")
        assert (ran.exit_code, json.loads(ran.stdout)["state"]) == (1, "DEAD")
        cli.api.clockwork.targets._answer = lambda _: Outcome(
            State.SUCCEEDED, cli.api.clockwork.clock.at, cli.api.clockwork.clock.at
        )
        which = json.loads(ran.stdout)["executionId"]
        assert cli.json("exec", "redrive", which, "--wait")["state"] == "SUCCEEDED"

    def test_a_wait_that_has_a_bound_ends_with_it_uncertain(self, cli: Cli) -> None:
        ran = cli("job", "create", "--in", "1h", HOOK, "--at-most", "30s")
        assert (ran.exit_code, ran.stdout) == (3, "")
        assert "Not ended within 30 s." in ran.stderr
        assert sum(cli.hands.slept) <= 30

    def test_a_long_wait_looks_less_often(self, cli: Cli) -> None:
        assert cli("job", "create", "--in", "1h", HOOK, "--wait").exit_code == 0
        assert len(cli.hands.slept) < 200
        assert max(cli.hands.slept) == 30

    def test_what_leaves_no_record_is_not_waited_for(self, cli: Cli) -> None:
        for more in (["--record", "none"], ["--dry-run"]):
            assert cli("job", "create", "--in", "1s", HOOK, "--wait", *more).exit_code == 2
        assert cli("job", "create", "--every", "1h", "--key", "k", HOOK, "--wait").exit_code == 2
        assert cli.transport.sent == []

    def test_an_outage_is_told_once_and_the_wait_goes_on(self, cli: Cli) -> None:
        inner, reads = cli.transport, iter(range(40))

        def away(request: Request) -> Response:
            if request.method == "GET" and "/executions" in request.url and next(reads, None) is not None:
                raise NoAnswer("no route", was_sent=False)
            answer: Response = inner(request)
            return answer

        cli.transport = away
        ran = cli("job", "create", "--in", "5s", HOOK, "--wait")
        assert (ran.exit_code, ran.stderr.count("No answer")) == (0, 1)


class TestWatch:
    def test_a_list_is_drawn_anew_as_it_changes_until_ctrl_c(self, cli: Cli) -> None:
        cli("job", "create", "--in", "3s", "--key", "once", HOOK)
        interrupted(cli, 5)
        ran = cli("job", "list", "--watch", "--every", "1", "-o", "wide")
        assert ran.exit_code == 0, ran.output
        assert ran.stdout.index("ACTIVE") < ran.stdout.index("COMPLETED")
        assert ran.stdout.count("KEY") == ran.stdout.count("once\n") + ran.stdout.count("once  ") >= 2

    def test_a_terminal_is_cleared_before_each_drawing(self, cli: Cli) -> None:
        cli("job", "create", "--every", "1h", "--key", "report", HOOK)
        interrupted(cli, 3)
        with pictures.terminal(80, datetime.now(UTC)):
            ran = cli("job", "list", "-w", color=True)
        assert ran.stdout.count("\x1b[H\x1b[2J") == ran.stdout.count("report") == 1, "nothing has changed"

    def test_a_refusal_ends_it_and_an_outage_does_not(self, cli: Cli) -> None:
        assert cli("exec", "list", "nothing", "--watch").exit_code == 1
        inner, looks = cli.transport, iter([True, False, False])

        def away(request: Request) -> Response:
            if next(looks, True):
                answer: Response = inner(request)
                return answer
            raise NoAnswer("lost", was_sent=False)

        cli.transport = away
        interrupted(cli, 6)
        ran = cli("job", "list", "--watch", "--deadline", "0.1")
        assert (ran.exit_code, ran.stderr.count("No answer")) == (0, 1)

    @pytest.mark.parametrize(
        "command", [("exec", "list"), ("dead", "list"), ("upcoming",), ("operation", "list"), ("job", "list")]
    )
    def test_lists_can_be_watched(self, cli: Cli, command: tuple[str, ...]) -> None:
        interrupted(cli, 2)
        ran = cli(*command, "--watch", "--json")
        assert ran.exit_code == 0, ran.output


class TestTail:
    def test_ends_are_printed_once_as_they_come(self, cli: Cli) -> None:
        cli("job", "create", "--every", "10s", "--key", "beat", HOOK)
        cli("job", "create", "--in", "15s", "--key", "once", HOOK)
        interrupted(cli, 20)
        ran = cli("tail", "-n", "0")
        assert ran.exit_code == 0, ran.output
        lines = [line.split() for line in ran.stdout.splitlines()]
        assert [line[2] for line in lines] == ["beat", "once", "beat", "beat"]
        assert {line[1] for line in lines} == {"SUCCEEDED"}

    def test_filters_and_json_lines(self, cli: Cli) -> None:
        with_dead(cli, "a1", "b1")
        for which, keys in ((["--state", "dead"], {"a1", "b1"}), (["--prefix", "a"], {"a1"}), (["-n", "1"], None)):
            interrupted(cli, 1)
            ran = cli("tail", "--json", *which)
            found = [json.loads(line)["jobKey"] for line in ran.stdout.splitlines()]
            assert set(found) == keys if keys else len(found) == 1
        interrupted(cli, 1)
        assert cli("tail", "--state", "SUCCEEDED").stdout == ""
        assert "runsIndex" in cli("tail", "--all").stderr

    def test_a_redriven_execution_ends_once_more(self, cli: Cli) -> None:
        failing(cli)
        cli("job", "create", "--in", "1s", "--key", "k", HOOK, "--retry", ONCE)
        sleep, pauses = cli.hands.sleep, iter(range(12))

        def redrives(seconds: float) -> None:
            at = next(pauses, None)
            if at is None:
                raise KeyboardInterrupt
            if at == 4:
                cli.api.clockwork.targets._answer = lambda _: Outcome(
                    State.SUCCEEDED, cli.api.clockwork.clock.at, cli.api.clockwork.clock.at
                )
                assert cli("exec", "redrive", "k").exit_code == 0
            sleep(seconds)

        cli.hands.sleep = redrives  # type: ignore[method-assign]
        states = [json.loads(line)["state"] for line in cli("tail", "-o", "jsonl").stdout.splitlines()]
        assert states == ["DEAD", "SUCCEEDED"]

    def test_lines_fit_the_terminal(self, cli: Cli) -> None:
        with_dead(cli, "a-key-that-is-longer-than-most-keys-of-people")
        for width in (60, 80, 120):
            interrupted(cli, 1)
            with pictures.terminal(width, datetime.fromtimestamp(cli.api.clockwork.clock.at / 1000, UTC)):
                head, line = cli("tail").stdout.splitlines()
            assert len(line) <= width and "DEAD" in line and "…" in line
            assert head.split()[:3] == ["DUE", "STATE", "JOB"] and line.index("DEAD") == head.index("STATE")
        interrupted(cli, 1)
        assert "a-key-that-is-longer-than-most-keys-of-people" in cli("tail").stdout


@pytest.mark.parametrize("command", [["tail"], ["job", "list", "--watch"]])
def test_a_first_look_that_reaches_nothing_ends_the_command(cli: Cli, command: list[str]) -> None:
    def away(_: Request) -> Response:
        raise NoAnswer("nothing listens", was_sent=False)

    cli.transport = away
    interrupted(cli, 9)
    ran = cli(*command, "--deadline", "0.1")
    assert (ran.exit_code, ran.stdout) == (1, "")
    assert "no connection after 1 try: nothing listens" in ran.stderr


def test_no_execution_is_waited_for_after_a_refusal(cli: Cli) -> None:
    ran = cli("exec", "redrive", "nothing", "--wait")
    assert (ran.exit_code, cli.hands.slept) == (1, [])
