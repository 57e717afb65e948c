"""Blocks of the pages that need more than the pages make: resources of AWS, which the emulator has, and receivers."""

from __future__ import annotations

import io
import json
import re
import secrets
import shlex
import zipfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import urllib3
from botocore.credentials import Credentials

from clockwork_client import Clockwork, callback, ecs, end, http, lambda_function, step_functions
from infra import ROOT
from local.dev import files
from local.dev.keys import DEMO, KEYS
from local.emulator import REGION
from local.receiver import Answer, Post, Receiver
from tests.dev.checkout import Dev, free_port
from tests.dev.pages import blocks
from tests.e2e.waiting import await_value

README, HOWTO = ROOT / "README.md", ROOT / "docs/howto"
REMINDER = "https://example.com/remind"
MACHINE = """{"StartAt": "print", "States": {"print": {"Type": "Pass", "Result": {"printed": 2}, "End": true}}}"""
#: The tables of the outbox, their order, and the records that the table's stream has for Lambda.
OUTBOX = """
import json, time
import boto3
import relay
import pytest

pytestmark = pytest.mark.nightly

dynamodb = boto3.client("dynamodb")
for table, key in (("{orders}", "order"), ("{asked}", "clockworkKey")):
    dynamodb.create_table(
        TableName=table,
        BillingMode="PAY_PER_REQUEST",
        KeySchema=[{{"AttributeName": key, "KeyType": "HASH"}}],
        AttributeDefinitions=[{{"AttributeName": key, "AttributeType": "S"}}],
    )
place(dynamodb, "{orders}", "{asked}", "17")
broken = {{"clockworkKey": {{"S": "reminder-of-19"}}, "clockworkRequest": {{"S": "{{}}"}}}}
dynamodb.put_item(TableName="{asked}", Item=broken)


def relayed():
    records = [
        {{
            "eventName": "INSERT",
            "eventSourceARN": "arn:aws:dynamodb:us-east-1:000000000000:table/{asked}/stream/1",
            "dynamodb": {{
                "Keys": {{"clockworkKey": item["clockworkKey"]}},
                "NewImage": item,
                "SequenceNumber": str(number),
                "ApproximateCreationDateTime": time.time(),
            }},
        }}
        for number, item in enumerate(dynamodb.scan(TableName="{asked}")["Items"])
    ]
    context = type("Context", (), {{"get_remaining_time_in_millis": lambda self: 60_000}})()
    return relay.handler({{"Records": records}}, context)


answer = relayed()
marked = dynamodb.get_item(TableName="{asked}", Key={{"clockworkKey": {{"S": "reminder-of-19"}}}})["Item"]
again(dynamodb, "{asked}", "reminder-of-19", job(http("https://example.com/remind"), {{"order": "19"}}, in_=1_700))
answers = [answer, relayed()]
left = [item for item in dynamodb.scan(TableName="{asked}")["Items"] if "clockworkRefused" in item]
print(json.dumps([answers, marked["clockworkRefused"]["S"], left]))
"""


class Shop(Receiver):
    """The shop of the README's workflow."""

    def __init__(self) -> None:
        super().__init__()
        self.came: list[tuple[str, bytes]] = []

    def answer(self, post: Post) -> Answer:
        """A payment gets a receipt."""
        self.came.append((post.path, post.body))
        return Answer(200, b'{"receipt": "n-1"}' if post.path == "/pay" else b"")


def block(page: Path, text: str) -> str:
    """The one block of a page that has a text."""
    (found,) = [one.text for one in blocks(page.read_text(encoding="utf-8")) if text in one.text]
    return found


def demo(dev: Dev) -> Clockwork:
    return Clockwork(dev.url, DEMO, region=REGION, credentials=Credentials(*KEYS[DEMO]))


def emulated(dev: Dev, service: str) -> Any:
    """A client of a service of the emulator, as its root user."""
    return files.facts(dev.checkout.folder / ".clockwork").client(service)


def role(dev: Dev) -> str:
    deliverer = files.facts(dev.checkout.folder / ".clockwork").functions["deliverer"]
    return str(emulated(dev, "lambda").get_function(FunctionName=deliverer)["Configuration"]["Role"])


def created(cw: Clockwork, program: str, **names: Any) -> str:
    """The id of the job that a program of a page creates in its last line."""
    exec(re.sub(r"^cw\.schedule\(", "made = cw.schedule(", program, flags=re.M), found := {"cw": cw, **names})
    return str(found["made"].job_id)


def awaited(cw: Clockwork, job_id: str, state: str) -> Any:
    """The execution of a job that has one, once it has a state."""

    def found() -> Any:
        return next((one for one in cw.executions.list(job_id) if one.state == state), None)

    return cw.executions.get(await_value(found, f"the execution of {job_id} is {state}").execution_id)


def test_the_workflow_of_the_readme_pays_and_ships(dev: Dev) -> None:
    with Shop() as shop, demo(dev) as cw:
        program = block(README, "cw.workflow()").replace("https://shop.example.com", f"http://{shop.place}")
        run = awaited(cw, created(cw, program), "SUCCEEDED")
        states = {node.name: node.state for node in cw.runs.nodes(run.execution_id).items}
    assert states == {"pay": "SUCCEEDED", "ship": "SUCCEEDED", "undo": "SKIPPED"}
    assert shop.came == [("/pay", b'{"order":17}'), ("/ship", b'{"receipt":"n-1"}')]


def test_the_client_of_the_readme_is_made(dev: Dev) -> None:
    emulated(dev, "secretsmanager").create_secret(Name="clockwork/acme", SecretString="whsec_YWNtZS1zZWNyZXQ=")
    told = dev.shell("API=$CLOCKWORK_URL\nas_admin " + block(README, "client put acme"))
    assert re.search(r"^clientId +acme$", told, re.M)
    assert re.search(r'^allowedQueueArns +\["arn:aws:sqs:us-east-1:123456789012:orders"\]$', told, re.M)


def test_a_state_machine_ends_the_job_of_the_page(dev: Dev) -> None:
    states = emulated(dev, "stepfunctions")
    made = states.create_state_machine(name="demo-print", definition=MACHINE, roleArn=role(dev))
    names = {"machine_arn": made["stateMachineArn"], "step_functions": step_functions, "end": end}
    with demo(dev) as cw:
        job_id = created(cw, block(HOWTO / "long-work.md", "machine_arn"), tonight=soon(), **names)
        assert awaited(cw, job_id, "SUCCEEDED").report.result == {"printed": 2}


def test_a_task_begins_and_ends_with_the_job_of_the_page(dev: Dev) -> None:
    service = emulated(dev, "ecs")
    cluster = service.create_cluster(clusterName="demo-reports")["cluster"]["clusterArn"]
    containers = [{"name": "app", "image": "app", "memory": 64}]
    made = service.register_task_definition(family="demo-reports", containerDefinitions=containers)["taskDefinition"]
    names = {"definition_arn": made["taskDefinitionArn"], "cluster_arn": cluster, "ecs": ecs, "end": end}
    with demo(dev) as cw:
        job_id = created(cw, block(HOWTO / "long-work.md", "cluster_arn"), tonight=soon(), **names)
        execution_id = awaited(cw, job_id, "RUNNING").execution_id
        tasks = await_value(lambda: service.list_tasks(cluster=cluster)["taskArns"] or None, "a task was begun")
        (task,) = service.describe_tasks(cluster=cluster, tasks=tasks)["tasks"]
        cw.executions.cancel(execution_id)  # a task of the emulator has no end of its own
    (override,) = task["overrides"]["containerOverrides"]
    assert override["command"] == ["report"]


def test_a_function_reports_by_itself(dev: Dev) -> None:
    here = [str(dev.checkout.folder / "sdk/python"), str(next((ROOT / ".venv/lib").glob("python*/site-packages")))]
    # The emulator gives a function the keys of its own user, and the client lists no other than `demo`.
    before = f"import os, sys\ndel os.environ['AWS_SESSION_TOKEN']\nos.environ.update({dev.environment()!r})\n"
    before += f"sys.path += {here!r}\n"
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("pages.py", before + block(HOWTO / "long-work.md", "@completes()"))
    functions = emulated(dev, "lambda")
    made = functions.create_function(
        FunctionName="demo-pages",
        Runtime="python3.13",
        Role=role(dev),
        Handler="pages.lambda_handler",
        Code={"ZipFile": packed.getvalue()},
        Timeout=30,
    )
    with demo(dev) as cw:
        job = cw.schedule(lambda_function(made["FunctionArn"]), {"month": 5}, in_=0, completion=callback())
        assert awaited(cw, job.job_id, "SUCCEEDED").report.result == {"pages": 12}


def test_the_relay_of_the_outbox_creates_the_job(dev: Dev) -> None:
    suffix = secrets.token_hex(4)
    folder = dev.checkout.folder / f"outbox-{suffix}"
    folder.mkdir()
    (folder / "relay.py").write_text(block(HOWTO / "outbox.md", "outbox.relay("))
    programs = [block(HOWTO / "outbox.md", "def place("), block(HOWTO / "outbox.md", "def again(")]
    program = OUTBOX.format(orders=f"Orders-{suffix}", asked=f"Outbox-{suffix}")
    (folder / "shop.py").write_text("\n".join([*programs, program]))
    where = shlex.quote(files.facts(dev.checkout.folder / ".clockwork").endpoint_url)
    told = dev.shell(f"as_admin env AWS_ENDPOINT_URL_DYNAMODB={where} .venv/bin/python {folder / 'shop.py'}")
    answers, reason, left = json.loads(told)
    assert (answers, reason[:3], left) == ([{"batchItemFailures": []}] * 2, "422", [])
    with demo(dev) as cw:
        waiting = [one for one in cw.upcoming() if one.target.raw == {**one.target.raw, **http(REMINDER).raw}]
    assert len(waiting) == 2  # the one of the order, and the one that was mended


def test_the_console_of_the_page_opens_with_a_profile(dev: Dev, tmp_path: Path) -> None:
    command = block(HOWTO / "console.md", "clockwork console").splitlines()[1]
    key = KEYS[DEMO]
    profile = f"[billing]\naws_access_key_id = {key.access_key}\naws_secret_access_key = {key.secret_key}\n"
    (tmp_path / "credentials").write_text(profile)
    shell = f"""
    source .clockwork/dev.env
    unset AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY
    export AWS_SHARED_CREDENTIALS_FILE={shlex.quote(str(tmp_path / "credentials"))}
    exec {command} --no-open --port {free_port()}
    """
    with dev.checkout.started("bash", "-c", shell) as running:
        said = running.await_said("A link works once", 60)
        link = re.search(r"http://127\.0\.0\.1:\d+/enter\?token=\S+", said)
        assert link is not None, said
        entered = urllib3.request("GET", link[0], retries=False)
        cookie = entered.headers["set-cookie"].partition(";")[0]
        jobs = urllib3.request(
            "GET", link[0].partition("/enter")[0] + "/jobs", headers={"cookie": cookie}, retries=False, timeout=30
        )
        assert (jobs.status, DEMO in jobs.data.decode()) == (200, True)


def soon() -> datetime:
    """The instant that the pages call tonight."""
    return datetime.now(UTC) + timedelta(seconds=1)
