"""The development server, as somebody uses it from another terminal: `make dev`, and a first job within a minute."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
import urllib3
from botocore.credentials import Credentials

from clockwork_client import Clockwork, NotAllowed, http, verify_webhook
from local.dev.keys import DEMO, KEYS, WEBHOOK_SECRET
from tests.dev.checkout import Checkout, Dev, free_port
from tests.e2e.hooks import Hooks
from tests.e2e.waiting import await_value


def client(dev: Dev) -> Clockwork:
    key = KEYS[DEMO]
    return Clockwork(dev.url, DEMO, region="us-east-1", credentials=Credentials(key.access_key, key.secret_key))


def in_inbox(dev: Dev, path: str) -> str:
    """The inbox's line about a path, once there is one."""
    said = dev.running.await_said(f"  {path}  ")
    return next(line for line in said.splitlines() if f"  {path}  " in line)


def printed(dev: Dev) -> tuple[str, str]:
    """The commands that the server prints: those of the command line, and that of curl."""
    said = dev.running.said
    command_line = re.search(r"^source .*?\nclockwork job create .*?$", said, re.M)
    curl = re.search(r"^curl .*?\\\n.*?\\\n.*?$", said, re.M)
    assert command_line and curl, said
    return command_line[0], curl[0]


def test_the_first_job_by_the_command_line_as_printed_arrives(dev: Dev) -> None:
    command_line, _ = printed(dev)
    assert "/dev.env\nclockwork job create --in 2s " in command_line
    done = dev.checkout.shell(command_line.replace("/hello", "/by-command-line"))
    assert done.returncode == 0, done.stderr
    assert re.search(r"^state +(SCHEDULED|RELEASED)$", done.stdout, re.M)
    assert re.search(r'answered 200  attempt 1, \d+ ms late  \{"order":17\}$', in_inbox(dev, "/by-command-line"))


def test_the_first_job_by_curl_as_printed_arrives(dev: Dev) -> None:
    _, curl = printed(dev)
    done = dev.checkout.shell(curl.replace("/hello", "/by-curl"))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["clientId"] == DEMO
    assert "attempt 1" in in_inbox(dev, "/by-curl")


def test_the_first_job_by_the_client_reaches_a_server_of_ones_own_and_is_signed(dev: Dev, webhooks: Hooks) -> None:
    hook = webhooks.hook()
    assert dev.environment()["CLOCKWORK_WEBHOOK_SECRET"] == WEBHOOK_SECRET
    program = f"from clockwork_client import *; print(Clockwork().schedule(http('{hook.url}'), 'hi', in_=1).job_id)"
    job_id = dev.shell(f'{sys.executable} -c "{program}"').strip()
    (arrival,) = hook.await_arrivals(1)
    context = verify_webhook(arrival.headers, arrival.body, [WEBHOOK_SECRET])
    assert (context.job_id, context.attempt, arrival.body) == (job_id, 1, b"hi")


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
def test_demo_may_call_any_port_of_this_machine_by_any_of_its_names(dev: Dev, webhooks: Hooks, host: str) -> None:
    hook = webhooks.hook()
    with client(dev) as cw:
        cw.schedule(http(hook.url.replace("127.0.0.1", host)), in_=1)
    assert hook.await_arrivals(1)


def test_the_environment_is_for_demo_and_leaves_python_alone(dev: Dev) -> None:
    told = dev.environment()
    assert told["CLOCKWORK_URL"] == dev.url
    assert (told["AWS_ACCESS_KEY_ID"], told["AWS_SECRET_ACCESS_KEY"]) == KEYS[DEMO]
    before = dev.checkout.shell("command -v python3; echo $PATH")
    after = dev.shell("source .clockwork/dev.env; command -v python3; echo $PATH").splitlines()
    assert after[0] == before.stdout.splitlines()[0]
    assert after[1].count(".clockwork/bin") == 1
    assert (dev.checkout.folder / ".clockwork/dev.env").stat().st_mode & 0o077 == 0


def test_an_admin_may_make_clients_and_demo_may_not(dev: Dev) -> None:
    program = "from clockwork_client import *; print(Clockwork().clients.put('made-by-admin').state)"
    assert dev.shell(f'as_admin {sys.executable} -c "{program}"').strip() == "ACTIVE"
    with client(dev) as cw, pytest.raises(NotAllowed):
        cw.clients.put("made-by-demo")


@pytest.mark.parametrize(
    "path", ["/_ministack/health", "/_ministack/reset", "/_aws/sqs/messages", "/%5fministack/health"]
)
def test_paths_of_the_emulator_are_refused(dev: Dev, path: str) -> None:
    for method in ("GET", "POST"):
        answer = urllib3.request(method, dev.url + path, retries=False)
        assert (answer.status, "Clockwork's API alone" in answer.json()["detail"]) == (404, True)


def test_its_root_says_what_is_here_and_shows_no_key_that_is_a_secret(dev: Dev) -> None:
    answer = urllib3.request("GET", f"{dev.url}/", retries=False)
    assert (answer.status, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    page = answer.data.decode()
    link = re.search(r"(http://127\.0\.0\.1:\d+)/\S*token=(\S+)", dev.running.said)
    assert link is not None
    assert f'href="{link[1]}/"' in page
    assert dev.environment()["INBOX"] in page
    assert link[2] not in page
    assert urllib3.request("POST", f"{dev.url}/", retries=False).status in (403, 404)


def test_another_host_is_refused(dev: Dev) -> None:
    for host in ("evil.example", f"evil.example:{dev.port}", "127.0.0.1"):
        assert urllib3.request("GET", f"{dev.url}/v1/health", headers={"Host": host}, retries=False).status == 421


def test_a_request_must_be_signed_with_the_key(dev: Dev) -> None:
    assert urllib3.request("GET", f"{dev.url}/v1/health", retries=False).status == 403
    forged = Credentials(KEYS[DEMO].access_key, "wrong")
    with Clockwork(dev.url, DEMO, region="us-east-1", credentials=forged) as cw, pytest.raises(NotAllowed):
        cw.jobs.get("any")


def test_another_server_is_told_who_has_the_port_and_which_to_take(dev: Dev) -> None:
    # This checkout is another one than the server's.
    from local.dev import address
    from local.dev.faults import ServerFailed

    with pytest.raises(ServerFailed) as raised:
        address.take(dev.port, Path("/elsewhere"))
    words = str(raised.value)
    assert str(dev.checkout.folder) in words
    assert words.endswith(f"make dev PORT={dev.port + 1}")
    with dev.checkout.started("make", "dev", f"PORT={dev.port}") as second:
        said = second.await_said("already runs")
        assert "Traceback" not in said
        assert second.ended() != 0


def test_the_logs_of_the_lambdas_are_shown(dev: Dev) -> None:
    with client(dev) as cw:
        job = cw.schedule(http(f"{dev.environment()['INBOX']}/logged"), in_=1)
    in_inbox(dev, "/logged")
    done = dev.checkout.shell(f"{sys.executable} -m local.dev.logs --once")
    assert re.search(r"^\d\d:\d\d:\d\d\.\d{3}  deliverer", done.stdout, re.M), done.stdout + done.stderr
    assert job.job_id


def test_changed_code_is_live_after_a_reload(dev: Dev) -> None:
    place = dev.checkout.folder / "layers/core/python/clockwork/edge/operations/creates.py"
    before = place.read_text()
    place.write_text(before.replace('else "ok")', 'else "changed")'))
    assert place.read_text() != before
    try:
        reloaded = dev.checkout.shell(f"{sys.executable} -m local.dev.reload")
        assert reloaded.returncode == 0, reloaded.stderr
        with client(dev) as cw:
            status = cw.health()["status"]
    finally:
        place.write_text(before)
        dev.checkout.shell(f"{sys.executable} -m local.dev.reload")
    assert status == "changed"


@pytest.mark.nightly
def test_jobs_stay_over_a_restart_after_ctrl_c(tmp_path: Path) -> None:
    own = Checkout(tmp_path / "clockwork")
    port, state = free_port(), tmp_path / "kept state"
    with own.started("make", "dev", f"PORT={port}", f"STATE={state}") as first:
        first.await_said("What arrives in the inbox")
        dev = Dev(own, first, port)
        with client(dev) as cw:
            later = cw.schedule(http(f"{dev.environment()['INBOX']}/later"), in_=3600)
            # The stop is over by then, however busy this machine is.
            soon = cw.schedule(http(f"{dev.environment()['INBOX']}/after-restart"), in_=25)
        status = first.press_ctrl_c()
    assert status == -2  # make itself ends by the signal, as a shell expects
    assert "saves its jobs" in first.said
    assert "***" not in first.said
    assert "Traceback" not in first.said
    with own.started("make", "dev", f"PORT={port}", f"STATE={state}") as second:
        second.await_said("What arrives in the inbox")
        dev = Dev(own, second, port)
        with client(dev) as cw:
            assert cw.jobs.get(later.job_id).state == "SCHEDULED"
            in_inbox(dev, "/after-restart")
            await_value(lambda: cw.jobs.get(soon.job_id).state == "SUCCEEDED" or None, "it has succeeded")
        second.press_ctrl_c()
    assert not (own.folder / ".clockwork/server.json").exists()
