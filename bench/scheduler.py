"""A whole scheduler in this process: the real handlers over the real adapters, on an emulator, in virtual time.

The emulator's queues wait in real time, so messages are sent to it without their delay; `EventSource` hands them to
the deliverer in the order, the seconds and the batches in which their delays would have ended.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import botocore.session

from bench.event_source import EventSource
from bench.meter import Meter
from clockwork.aws.session import Aws
from clockwork.bootstrap import App, Handler, aws_world
from clockwork.domain.clients import Client
from clockwork.domain.executions import Outcome
from clockwork.domain.releases import Delivery
from clockwork.flows.registry import ensure_shards
from clockwork.memory.clock import MemoryClock
from clockwork.memory.targets import MemoryInvoker, MemoryTargets
from clockwork.settings import Settings
from lambdas.api.handler import make_handler as make_api
from lambdas.deliverer.handler import make_handler as make_deliverer
from lambdas.poller.handler import make_handler as make_poller
from lambdas.ticker.handler import make_handler as make_ticker
from local.emulator import REGION, Credentials, Emulator
from tests.contract.schema import KEYS, create_table

CLIENT = "acme"
QUEUE_ARN = "arn:aws:sqs:us-east-1:111111111111:orders"
_RELEASE_ARN = "arn:aws:sqs:us-east-1:111111111111:release"
_PRINCIPAL = "arn:aws:iam::111111111111:user/caller"
_MAKERS = {"api": make_api, "ticker": make_ticker, "poller": make_poller, "deliverer": make_deliverer}


class Unexpected(Exception):
    """Something did not go as the path says, so its figures would mean nothing."""


class Scheduler:
    """One deployment with one client. `delivered` lists what its targets were handed."""

    def __init__(self, aws: Aws, settings: Settings, meter: Meter, clock: MemoryClock, targets: MemoryTargets) -> None:
        self.clock = clock
        self.delivered = targets.delivered
        self._meter = meter
        self._settings = settings
        self._invoker = MemoryInvoker()
        world = replace(aws_world(settings, aws), clock=clock, invoker=self._invoker, targets=targets)
        self._handlers: dict[str, Handler] = {name: make(_Silent(world)) for name, make in _MAKERS.items()}
        self._source = EventSource(aws, settings.release_queue_url)

    def request(self, method: str, path: str, body: object = None, key: str | None = None) -> Any:
        """One call of the client's to the API; the parsed body of its answer. Raises Unexpected unless it is 2xx."""
        self._meter.add_invocation(through_api=True)
        answer = self._handlers["api"](_api_event(method, path, body, key), None)
        if answer["statusCode"] // 100 != 2:
            raise Unexpected(f"{method} {path}: {answer['statusCode']} {answer['body']}")
        return json.loads(answer["body"])

    def tick(self) -> None:
        """The minute's tick, and the pollers that it starts."""
        self._invoke("ticker", {})
        asked, self._invoker.asked[:] = list(self._invoker.asked), []
        for partition_id in asked:
            report = self._invoke("poller", {"partitionId": partition_id})
            if report["outcome"] != "dry":
                raise Unexpected(f"the poller of {partition_id} stopped: {report['outcome']}")

    def deliver(self, until: int | None = None) -> None:
        """Deliver what becomes visible before `until` (ms), or everything."""
        while batch := self._source.next_batch(until):
            self.clock.hold_until(batch.second * 1000)
            self._meter.add_queue_batch(batch.bodies)
            common = {"attributes": {"ApproximateReceiveCount": "1"}, "eventSourceARN": _RELEASE_ARN}
            records = [{"messageId": str(n), "body": body, **common} for n, body in enumerate(batch.bodies)]
            failures = self._invoke("deliverer", {"Records": records})["batchItemFailures"]
            if failures:
                raise Unexpected(f"{len(failures)} of {len(records)} messages came back")

    def _invoke(self, name: str, event: dict[str, Any]) -> Any:
        self._meter.add_invocation()
        return self._handlers[name](event, _Context(getattr(self._settings, f"{name}_timeout_seconds")))


class _Silent(App):
    """Metrics go nowhere: standard output is for the result."""

    def emit(self, metrics: Mapping[str, Any], **properties: object) -> None:
        pass


class _Context:
    """What a handler asks of Lambda's context."""

    def __init__(self, timeout_seconds: int) -> None:
        self._timeout_seconds = timeout_seconds

    def get_remaining_time_in_millis(self) -> int:
        return self._timeout_seconds * 1000


@contextmanager
def scheduler(
    running: Emulator,
    account: Credentials,
    *,
    shards: int,
    answer: Callable[[Delivery, MemoryClock], Outcome],
    client: Mapping[str, Any],
) -> Iterator[tuple[Scheduler, Meter]]:
    """A scheduler in an account of the emulator that is empty, and the meter of all that it calls from now on.

    `client`: what its one client has besides its name, principal and queue.
    """
    # Where minutes end decides which jobs share a row and a message: here, always, where that saves least.
    clock = MemoryClock(int(time.time()) // 60 * 60_000)
    settings = _create_resources(running, account, shards)
    _prepare(running, account, settings, client)
    session = _session(account)
    session.register("before-parameter-build.sqs.SendMessageBatch", _forget_delays)
    meter = Meter(session)
    aws = Aws(session, endpoint_url=running.endpoint_url, meter=meter.capacity)
    try:
        targets = MemoryTargets(clock, lambda delivery: answer(delivery, clock))
        yield Scheduler(aws, settings, meter, clock, targets), meter
    finally:
        aws.close()


def _create_resources(running: Emulator, account: Credentials, shards: int) -> Settings:
    dynamodb = running.client("dynamodb", account)
    tables = {f"{kind}_table": create_table(dynamodb, kind, kind) for kind in KEYS}
    queue = running.client("sqs", account).create_queue(QueueName="release")["QueueUrl"]
    return Settings.for_account().with_(shards=shards, ordered_shards=0, release_queue_url=queue, **tables)


def _prepare(running: Emulator, account: Credentials, settings: Settings, client: Mapping[str, Any]) -> None:
    """What is written once in the life of a deployment: its shards and the client."""
    aws = Aws(_session(account), endpoint_url=running.endpoint_url)
    try:
        world = aws_world(settings, aws)
        ensure_shards(world)
        queues = (QUEUE_ARN,)
        world.clients.put(Client(client_id=CLIENT, principals=(_PRINCIPAL,), allowed_queue_arns=queues, **client))
    finally:
        aws.close()


def _session(account: Credentials) -> botocore.session.Session:
    session = botocore.session.Session()
    session.set_config_variable("region", REGION)
    session.set_credentials(account.access_key, account.secret_key)
    return session


def _forget_delays(**call: Any) -> None:
    for entry in call["params"]["Entries"]:
        entry["DelaySeconds"] = 0


def _api_event(method: str, path: str, body: object, key: str | None) -> dict[str, Any]:
    """A signed request as API Gateway hands it over (payload format 2.0)."""
    return {
        "version": "2.0",
        "rawPath": path,
        "rawQueryString": "",
        "headers": {"idempotency-key": key} if key else {},
        "requestContext": {
            "stage": "$default",
            "http": {"method": method, "path": path},
            "authorizer": {"iam": {"userArn": _PRINCIPAL}},
        },
        "body": None if body is None else json.dumps(body),
        "isBase64Encoded": False,
    }
