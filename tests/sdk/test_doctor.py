"""`clockwork doctor`: each thing that can be wrong is found, and what to do is said."""

from __future__ import annotations

import json
import socket
import time
from email.utils import formatdate
from typing import Any

import msgspec
import pytest

from clockwork.domain.errors import Unavailable
from clockwork.domain.limits.circuits import Circuit
from clockwork_client.transport import NoAnswer, Request, Response
from tests.handlers.handlers import GLOBEX
from tests.sdk.terminal import Cli, with_dead
from tests.sdk.test_cli import cli
from tests.support.examples import ADMIN, ALICE, BOB

__all__ = ["cli"]


def found(cli: Cli, expected: int, **settings: Any) -> dict[str, dict[str, Any]]:
    ran = cli("--output", "json", "doctor", **settings)
    assert ran.exit_code == expected, ran.output
    return {one["check"]: one for one in json.loads(ran.stdout)}


def with_date(cli: Cli, ahead: float) -> None:
    """The API's answers have a date; this machine's clock is ahead of it by so many seconds."""
    inner = cli.transport

    def dated(request: Request) -> Response:
        answer: Response = inner(request)
        then = formatdate(time.time() - ahead, usegmt=True)
        return answer._replace(headers={**answer.headers, "date": then})

    cli.transport = dated


def test_all_is_well(cli: Cli) -> None:
    with_date(cli, 0)
    findings = found(cli, 0)
    assert list(findings) == [
        *("url", "credentials", "network", "clock", "permission", "client", "parked", "dead"),
        *("ticks", "lag", "quarantine", "queues"),
    ]
    assert all(one["ok"] for one in findings.values())
    assert "NOT OK" not in cli("doctor").stdout


@pytest.mark.parametrize(
    ("ahead", "is_ok", "told"),
    [(5, True, "ahead"), (-5, True, "behind"), (90, False, "90 s ahead"), (-400, False, "AWS refuses signatures")],
)
def test_a_clock_that_is_off_is_found(cli: Cli, ahead: float, is_ok: bool, told: str) -> None:
    with_date(cli, ahead)
    clock = found(cli, 0 if is_ok else 1)["clock"]
    assert clock["ok"] == is_ok
    assert told in clock["found"] or (is_ok and " s " in clock["found"])
    assert is_ok or "NTP" in clock["do"]


def test_without_a_url_nothing_else_is_asked(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CLOCKWORK_URL", raising=False)
    findings = found(cli, 1, url=None)
    assert list(findings) == ["url"]
    assert "CLOCKWORK_URL" in findings["url"]["do"]


def test_without_credentials_the_network_and_clock_are_still_checked(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "nowhere")
    monkeypatch.setenv("AWS_CONFIG_FILE", "nowhere")
    findings = found(cli, 1, credentials=None)
    assert list(findings) == ["url", "credentials", "network", "clock"]
    assert not findings["credentials"]["ok"]
    assert "log in" in findings["credentials"]["do"]


def test_an_api_that_does_not_answer_is_found(cli: Cli) -> None:
    def silent(_: Request) -> Response:
        raise NoAnswer("Name or service not known", was_sent=False)

    cli.transport = silent
    findings = found(cli, 1)
    assert list(findings)[-1] == "network"
    assert "abc123.execute-api.us-east-1.amazonaws.com" in findings["network"]["found"]


def test_it_asks_over_the_real_network_too(cli: Cli) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"
    assert not found(cli, 1, url=url, transport=None, region="us-east-1")["network"]["ok"]


@pytest.mark.parametrize(
    ("message", "advice"),
    [
        ("Forbidden", "execute-api:Invoke"),
        ("The security token included in the request is expired", "log in again"),
        ("Signature expired: 20260101T000000Z is now earlier than", "log in again"),
    ],
)
def test_a_caller_whom_iam_does_not_let_through_is_found(cli: Cli, message: str, advice: str) -> None:
    cli.transport = lambda _: Response(403, {}, json.dumps({"message": message}).encode())
    findings = found(cli, 1)
    assert list(findings)[-1] == "permission"
    assert advice in findings["permission"]["do"]


def test_a_url_that_is_not_clockworks_is_found(cli: Cli) -> None:
    cli.transport = lambda _: Response(200, {}, b"<html>")
    findings = found(cli, 1)
    assert "URL of Clockwork" in findings["permission"]["do"]


def test_a_client_of_others_is_found(cli: Cli) -> None:
    ran = cli("--output", "json", "doctor", caller=BOB)
    (wrong,) = [one for one in json.loads(ran.stdout) if not one["ok"]]
    assert (ran.exit_code, wrong["check"]) == (1, "client")
    assert "--principal" in wrong["do"]


def test_a_caller_without_a_client_is_found(cli: Cli) -> None:
    ran = cli("--output", "json", "doctor", caller="arn:aws:iam::111111111111:user/nobody", client_id=None)
    (wrong,) = [one for one in json.loads(ran.stdout) if not one["ok"]]
    assert (wrong["check"], "--client" in wrong["do"]) == ("client", True)
    assert found(cli, 0, client_id=None)["client"]["ok"]
    cli.api.clockwork.clients.put(msgspec.structs.replace(GLOBEX, principals=(BOB, ALICE)))
    several = found(cli, 1, client_id=None)["client"]
    assert several["found"] == "the caller acts for acme, globex"


def test_a_pause_and_the_dead_are_found(cli: Cli) -> None:
    with_dead(cli, "a", "b")
    assert cli("client", "pause", "acme", "--reason", "load\x1b[2J", caller=ADMIN).exit_code == 0
    findings = found(cli, 1)
    assert findings["pause"]["found"] == "acme is PAUSED: load\x1b[2J"
    assert findings["dead"]["found"] == "2 dead executions"
    told = cli("doctor").stdout
    assert "\x1b" not in told
    assert "clockwork dead list" in told


def test_what_is_parked_and_why_is_found(cli: Cli) -> None:
    now = cli.api.clockwork.clock.at
    assert cli.api.clockwork.regulation.save_circuit(None, Circuit("acme", "example.com", now, now + 400_000, 400_000))
    cli.json("job", "create", "--in", "1s", "https://example.com/hook")
    cli.api.clockwork.run_until(now + 10_000)
    findings = found(cli, 1)
    assert findings["parked"]["found"] == "1 parked executions" and "mend the target" in findings["parked"]["do"]
    assert findings["circuit"]["found"].startswith("example.com fails since")


def test_a_client_that_is_being_deleted_is_found(cli: Cli) -> None:
    assert cli("client", "delete", "acme", "--yes", caller=ADMIN).exit_code == 0
    findings = found(cli, 1)
    assert (findings["pause"]["found"], findings["pause"]["do"]) == ("acme is DELETING", "name another client")


def test_others_than_admins_are_told_what_is_not_checked(cli: Cli) -> None:
    findings = found(cli, 0)
    for check in ("ticks", "lag", "quarantine", "queues"):
        assert findings[check]["ok"] and "only admins" in findings[check]["found"]


def with_shards(cli: Cli) -> None:
    cli.json("job", "create", "--in", "1d", "https://example.com/hook")
    cli.api.clockwork.run_until(cli.api.clockwork.clock.at + 1_000)


def test_fresh_ticks_are_told_from_those_that_stopped(cli: Cli) -> None:
    assert found(cli, 0, caller=ADMIN)["ticks"]["found"].startswith("no shard is used yet")
    cli.api.clockwork.clock.at = int(time.time() * 1000)
    with_shards(cli)
    fresh = found(cli, 0, caller=ADMIN)
    assert "s ahead" in fresh["ticks"]["found"]
    assert fresh["lag"]["found"] == "0 s at most"
    assert fresh["queues"]["found"] == "about 0 messages wait"


def test_ticks_that_stopped_an_hour_ago_are_found_and_so_is_the_lag(cli: Cli) -> None:
    cli.api.clockwork.clock.at = int((time.time() - 3_600) * 1000)
    with_shards(cli)
    cli.api.clockwork.clock.at = int(time.time() * 1000)
    findings = found(cli, 1, caller=ADMIN)
    assert "no further than 35" in findings["ticks"]["found"] and "ticker" in findings["ticks"]["do"]
    assert "s behind" in findings["lag"]["found"] and "poller" in findings["lag"]["do"]


def test_what_is_in_quarantine_is_found(cli: Cli) -> None:
    cli.api.clockwork.clock.at = int(time.time() * 1000)
    with_shards(cli)
    assert found(cli, 0, caller=ADMIN)["quarantine"]["found"] == "nothing is in quarantine"
    shards, now = cli.api.clockwork.shards, cli.api.clockwork.clock.at
    shard = next(one for one in shards.all() if one.lease_until < now)
    lease = shards.acquire(shard.partition_id, "poller", now, now, shard.horizon)
    assert lease is not None
    assert shards.commit(msgspec.structs.replace(lease, quarantined=3))
    findings = found(cli, 1, caller=ADMIN)
    assert findings["quarantine"]["found"] == f"about 3 rows are in quarantine, most of them of {shard.partition_id}"


def test_a_shard_that_was_never_polled_is_found(cli: Cli) -> None:
    cli.json("job", "create", "--in", "1d", "https://example.com/hook")
    findings = found(cli, 1, caller=ADMIN)
    assert "never polled" in findings["ticks"]["found"]


def test_a_queue_that_is_full_is_found_and_one_that_does_not_answer_hides_nothing(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli.api.clockwork.clock.at = int(time.time() * 1000)
    with_shards(cli)
    monkeypatch.setattr(type(cli.api.clockwork.queue), "waiting", lambda _: 40_000)
    assert found(cli, 1, caller=ADMIN)["queues"]["found"] == "about 40,000 messages wait"
    assert "About 40,000 due messages wait" in cli("shards", caller=ADMIN).stderr

    def silent(_: object) -> int:
        raise Unavailable("no answer")

    monkeypatch.setattr(type(cli.api.clockwork.queue), "waiting", silent)
    findings = found(cli, 0, caller=ADMIN)
    assert findings["queues"]["found"] == "not counted just now" and findings["ticks"]["ok"]
