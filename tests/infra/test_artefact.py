"""The artefact of an account runs: each function as Lambda lays it out, by AWS's runtime client, under its template.

Third-party packages are those of this machine's interpreter, in the versions of the account's layers: AWS's are for
another processor and another Python. `test_bundles.py` looks at those.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from clockwork.aws.stores.table import written
from clockwork.domain import keys
from clockwork.domain.clients import ADMINS
from clockwork.settings import Settings
from infra.packaging.bundle import packages
from infra.packaging.bytecode import local_compiler
from local.emulator import Credentials, Emulator
from tests.contract.schema import KEYS, create_table
from tests.infra.conftest import ADMIN, TARGETS, compose
from tests.infra.option_sets import KAFKA
from tests.infra.template import Template
from tests.support.events import (
    encoded,
    http_event,
    ordered_event,
    poller_event,
    poller_of_several_event,
    scheduled_event,
    sqs_event,
)
from tests.support.examples import ALICE
from tests.support.iam.policies import Account
from tests.support.runtime.environment import Environment, Failed, files_of, lay_out
from tests.support.runtime.line import Line

ACCOUNT = "314159265358"
MOMENTS = ("Api", "Ticker", "Poller", "Deliverer", "KafkaDeliverer", "Sweeper", "Ingester")
QUEUE = f"arn:aws:sqs:us-east-1:{ACCOUNT}:jobs-a"
CLIENT = {"principals": [ALICE], "allowedQueueArns": [QUEUE]}
PARTITIONS = keys.plain_partitions(Settings.for_account().shards)


class Deployed:
    """The artefact of one set of options, with its tables and queues in an account of the emulator."""

    def __init__(self, folder: Path, emulator: Emulator, account: Credentials) -> None:
        given = {"adminPrincipals": ADMIN, "targetQueueArns": TARGETS, "kafka": KAFKA, "ingestionQueue": True}
        self._assembly = compose(outdir=str(folder / "assembly"), **given).synth()
        self.template = Template(self._assembly.get_stack_artifact("Clockwork").template)
        self._folder = folder
        core = self.template.one("Lambda::LayerVersion", "LayersCore")
        # As in an account, which is given byte code: without it each environment would compile the core anew.
        local_compiler().compile(self._asset(core["Properties"]["Content"]))
        self._names = Account(self.template, account.access_key)
        self._queues: dict[str, str] = {}
        self.sqs = emulator.client("sqs", account)
        for table, kind in ((self.template.table(kind.capitalize()), kind) for kind in KEYS):
            create_table(emulator.client("dynamodb", account), kind, self._names.name(self.template.logical_id(table)))
        admins = written(clientId=ADMINS, item="admins", principals=ADMIN)
        clients = self._names.name(self.template.logical_id(self.template.table("Clients")))
        emulator.client("dynamodb", account).put_item(TableName=clients, Item=admins)
        self.line = Line(emulator.port)
        keys_of_aws = {"AWS_ACCESS_KEY_ID": account.access_key, "AWS_SECRET_ACCESS_KEY": account.secret_key}
        self._given = {**keys_of_aws, "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.line.port}"}
        self._started: list[Environment] = []
        for queue in self.template.all("SQS::Queue").values():
            self.queue_url(queue["Properties"]["QueueName"])

    def start(self, moment: str, *, without: str = "-") -> tuple[Environment, Path]:
        """A new environment of a function, and the folder in which it is laid out, without a layer (its prefix)."""
        function = self.template.function(moment)["Properties"]
        folder = self._folder / f"{moment}{len(self._started)}"
        layers = [one["Ref"] for one in function["Layers"] if not one["Ref"].startswith(without)]
        lay_out(folder, self._asset(function["Code"]), map(self._layer, layers))
        made = Environment(folder, function, {**self._variables(function), **self._given})
        self._started.append(made)
        return made, folder

    def queue_url(self, name: str) -> str:
        """The URL of a queue of this name, which is made when it is first asked for."""
        if name not in self._queues:
            attributes = {"FifoQueue": "true"} if name.endswith(".fifo") else {}
            self._queues[name] = self.sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]
        return self._queues[name]

    def name_of(self, kind: str, prefix: str) -> str:
        """The name of the one resource of a kind whose logical id begins so."""
        return self._names.name(self.template.logical_id(self.template.one(kind, prefix)))

    def receive(self, url: str) -> str:
        """The body of the next message of a queue, which is deleted. Fails if none comes."""
        for _ in range(30):
            for message in self.sqs.receive_message(QueueUrl=url, WaitTimeSeconds=2).get("Messages", ()):
                self.sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
                return str(message["Body"])
        raise AssertionError(f"nothing comes to {url}")

    def close(self) -> None:
        for one in self._started:
            one.end()
        self.line.close()

    def _variables(self, function: dict[str, Any]) -> dict[str, str]:
        resolved = {name: self._names.resolved(value) for name, value in function["Environment"]["Variables"].items()}
        return {
            name: self.queue_url(value) if name.endswith("_QUEUE_URL") and value else value
            for name, value in resolved.items()
        }

    def _layer(self, logical: str) -> Path:
        for name in ("vendor", "edge", "kafka"):
            if logical.startswith(f"Layers{name.capitalize()}"):
                return packages(name, architecture=None)
        return self._asset(self.template.body["Resources"][logical]["Properties"]["Content"])

    def _asset(self, code: dict[str, Any]) -> Path:
        return Path(self._assembly.directory) / f"asset.{code['S3Key'].removesuffix('.zip')}"


@pytest.fixture(scope="module")
def deployed(tmp_path_factory: pytest.TempPathFactory, emulator: Emulator) -> Iterator[Deployed]:
    made = Deployed(tmp_path_factory.mktemp("artefact"), emulator, Credentials.root(ACCOUNT))
    try:
        yield made
    finally:
        made.close()


def is_client(answer: Any) -> bool:
    return answer["statusCode"] == 200 and '"acme"' in answer["body"]


def nothing_started(answer: Any) -> bool:
    return bool(answer["started"] == 0 and answer["failed"] > 0)


def refused(answer: Any) -> bool:
    return len(answer["batchItemFailures"]) <= 1


#: Functions that call AWS for their event below. Messages that cannot be read end before any call.
CALLING = ("Api", "Ticker", "Poller", "Sweeper", "Ingester")
#: By function: an event, and what its answer is. There is no poller that could be started.
EVENTS: dict[str, tuple[dict[str, Any], Callable[[Any], bool]]] = {
    "Api": (http_event("PUT", "/v1/clients/acme", encoded(CLIENT), caller=ADMIN), is_client),
    "Ticker": (scheduled_event(), nothing_started),
    "Poller": (
        poller_event(keys.plain_partitions(Settings.for_account().shards)[0]),
        lambda answer: "outcome" in answer,
    ),
    "Deliverer": (sqs_event([("1", "no release")]), refused),
    "KafkaDeliverer": (sqs_event([("1", "no release")]), refused),
    "Sweeper": (scheduled_event(), lambda answer: isinstance(answer, dict)),
    "Ingester": (ordered_event([("1", "no request", "receipt", "lane", 1)]), refused),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_function_answers_before_and_after_it_was_frozen_and_lost_its_connections(
    moment: str, deployed: Deployed
) -> None:
    environment, folder = deployed.start(moment)
    before, carried = files_of(folder), deployed.line.carried
    event, is_right = EVENTS[moment]
    answers = [environment.invoke(event)]
    for _ in range(2):
        environment.freeze()
        deployed.line.cut()
        environment.thaw()
        answers.append(environment.invoke(event))
    assert [answer for answer in answers if not is_right(answer)] == []
    assert files_of(folder) == before
    # Each time it had to connect anew, unless it needed nothing of AWS.
    connected = deployed.line.carried - carried
    assert connected >= len(answers) if moment in CALLING else connected == 0


def test_a_job_goes_from_its_create_to_its_target_through_environments_that_were_frozen(deployed: Deployed) -> None:
    api, deliverer = deployed.start("Api")[0], deployed.start("Deliverer")[0]
    # Once a poller has been there, the api itself releases what is due soon.
    deployed.start("Ticker")[0].invoke(scheduled_event())
    deployed.start("Poller")[0].invoke(poller_of_several_event(PARTITIONS))
    api.invoke(http_event("PUT", "/v1/clients/acme", encoded(CLIENT), caller=ADMIN))
    release = deployed.queue_url("Clockwork-Release")
    target, delivered = deployed.queue_url("jobs-a"), []
    for number in range(2):
        job = {"clientId": "acme", "schedule": {"delaySeconds": 1}, "payload": {"number": number}}
        job["target"] = {"type": "sqs", "queueArn": QUEUE}
        answer = api.invoke(http_event("POST", "/v1/jobs", encoded(job), caller=ALICE))
        assert answer["statusCode"] == 201, answer
        body = deployed.receive(release)
        assert deliverer.invoke(sqs_event([(str(number), body)])) == {"batchItemFailures": []}
        delivered.append(json.loads(deployed.receive(target)))
        for one in (api, deliverer):
            one.freeze()
        deployed.line.cut()
        for one in (api, deliverer):
            one.thaw()
    assert delivered == [{"number": 0}, {"number": 1}]


def test_a_layer_that_is_missing_is_noticed(deployed: Deployed) -> None:
    """The packages of the environment of the tests do not stand in for it."""
    environment, _ = deployed.start("Ticker", without="LayersVendor")
    with pytest.raises(Failed, match="No module named 'aws_lambda_powertools'"):
        environment.invoke({})
