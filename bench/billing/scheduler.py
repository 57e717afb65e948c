"""A whole scheduler in this process: the real handlers over the real adapters, on an emulator, in virtual time.

The emulator's queues wait in real time, so messages are sent to them without delay. `EventSource` hands the messages to
the deliverer in the order, the seconds and the batches in which their delays would have ended.
"""

from __future__ import annotations

import json
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import repeat
from types import MappingProxyType
from typing import Any

import botocore.session
import msgspec

from bench.billing.event_source import BATCH, EventSource
from bench.billing.meter import Meter
from clockwork.aws.session import Aws
from clockwork.bootstrap import App, Handler, aws_world
from clockwork.domain.clients import Client
from clockwork.domain.executions import Outcome
from clockwork.domain.pools.pool import Pool
from clockwork.domain.releases import Delivery
from clockwork.flows.timeline.shards import ensure_shards
from clockwork.handlers.api import make_handler as make_api
from clockwork.handlers.deliverer import make_handler as make_deliverer
from clockwork.handlers.poller import make_handler as make_poller
from clockwork.handlers.sweeper import make_handler as make_sweeper
from clockwork.handlers.ticker import make_handler as make_ticker
from clockwork.memory.clock import MemoryClock
from clockwork.memory.requests import MemoryActivity
from clockwork.memory.targets import MemoryInvoker, MemoryTargets
from clockwork.queue_names import pool_queue_name, pool_setting
from clockwork.settings import Settings
from infra.observability.access_log import LOGGED
from local.emulator import REGION, Credentials, Emulator
from tests.contract.schema import KEYS, create_table

CLIENT = "acme"
QUEUE_ARN = "arn:aws:sqs:us-east-1:111111111111:orders"
_RELEASE_ARN = "arn:aws:sqs:us-east-1:111111111111:release"
_QUEUES = (
    "release_queue_url",
    "release_dead_letter_queue_url",
    "ordered_release_queue_url",
    "ordered_release_dead_letter_queue_url",
)
PRINCIPAL = "arn:aws:iam::111111111111:user/caller"
#: The pool that jobs may target, whose workers the caller is.
POOL = Pool(name="etl", revision=1, principals=(PRINCIPAL,), handlers=("work",), lease_seconds=60)
#: A caller as API Gateway logs it: a session of a role.
_CALLER = "arn:aws:sts::111111111111:assumed-role/OrdersService/i-0123456789abcdef0"
_MAKERS = {
    "api": make_api,
    "ticker": make_ticker,
    "poller": make_poller,
    "deliverer": make_deliverer,
    "sweeper": make_sweeper,
}


class Unexpected(Exception):
    """Jobs did not go the way that the path describes, so its figures would mean nothing."""


class Scheduler:
    """One deployment with one client. `delivered` lists the deliveries that its targets were handed.

    `invocations` and `turns` are counts by Lambda, without the api Lambda. Turns are calls to AWS that are made one
    after the other; calls that are made at once share a turn. `lines` are the log lines of metrics.
    """

    def __init__(
        self,
        aws: Aws,
        settings: Settings,
        meter: Meter,
        clock: MemoryClock,
        targets: MemoryTargets,
        source: EventSource,
        as_one_of: int | None = None,
    ) -> None:
        self.clock = clock
        self.invocations: Counter[str] = Counter()
        self.turns: defaultdict[str, float] = defaultdict(float)
        self.delivered = targets.delivered
        self._meter = meter
        self._settings = settings
        self._claims = 0
        self._invoker = MemoryInvoker()
        own = _ClockOfThreads(clock)
        # An environment notes its counts by the minute, however many jobs it has: no job pays for them.
        kept = MemoryActivity()
        world = aws_world(settings, aws).with_(clock=own, invoker=self._invoker, targets=targets, activity=kept)
        app = _Quiet(world=world, meter=meter)
        self.lines = app.lines
        self._handlers: dict[str, Handler] = {name: make(app) for name, make in _MAKERS.items()}
        seen = world.with_(settings=settings.with_(shards=as_one_of or settings.shards))
        alike = msgspec.structs.replace(app, world=seen)
        self._handlers["poller"] = _MAKERS["poller"](alike)
        self._source = source
        self._aws = aws

    def receive_tickets(self) -> list[dict[str, str]]:
        """The tickets that a worker of the pool receives at once, each in the form of a claim."""
        url = self._settings.pool_queue_urls[POOL.name]["normal"]
        answer = self._aws.client("sqs").receive_message(QueueUrl=url, MaxNumberOfMessages=BATCH)
        return [
            {"claimId": self._claim_id(), "ticket": one["Body"], "receiptHandle": one["ReceiptHandle"]}
            for one in answer.get("Messages", ())
        ]

    def _claim_id(self) -> str:
        self._claims += 1
        return f"{self._claims:022d}"

    def request(self, method: str, path: str, body: object = None, key: str | None = None) -> Any:
        """Call the API as the client; the parsed body of the answer. Raises Unexpected unless it is 2xx."""
        self._meter.add_invocation(through_api=True)
        self._meter.add_log(access_line(method, path))
        answer = self._handlers["api"](_api_event(method, path, body, key), None)
        if answer["statusCode"] // 100 != 2:
            raise Unexpected(f"{method} {path}: {answer['statusCode']} {answer['body']}")
        return json.loads(answer["body"])

    def tick(self) -> None:
        """Run a tick and the pollers that it starts. Raises Unexpected if a poller stops before it is done."""
        self._invoke("ticker", {})
        asked, groups = set(self._invoker.asked), list(self._invoker.together)
        self._invoker.asked.clear()
        self._invoker.together.clear()
        events: list[dict[str, Any]] = [{"partitionId": one} for one in sorted(asked.difference(*groups))]
        self.turns["ticker"] += len(events) + len(groups)
        visits = [self._invoke("poller", event) for event in events]
        for group in groups:
            # Each shard of the group has a thread of its own, so their calls count as made at once.
            visits += self._invoke("poller", {"partitionIds": list(group)}, at_once=len(group))["visits"]
        stopped = {visit["partitionId"]: visit["outcome"] for visit in visits if visit["outcome"] != "dry"}
        if stopped:
            raise Unexpected(f"pollers stopped: {stopped}")

    def deliver(self, until: int | None = None, sizes: Iterable[int] = repeat(BATCH)) -> None:
        """Deliver the messages that become visible before `until` (ms), or all. Raises Unexpected if one comes back.

        `sizes`: the most messages of each batch; it ends after the messages do.
        """
        for size in sizes:
            batch = self._source.next_batch(until, size)
            if batch is None:
                return
            self.clock.hold_until(batch.second * 1000)
            self._meter.add_queue_batch(batch.bodies)
            common = {"attributes": {"ApproximateReceiveCount": "1"}, "eventSourceARN": _RELEASE_ARN}
            records = [{"messageId": str(n), "body": body, **common} for n, body in enumerate(batch.bodies)]
            failures = self._invoke("deliverer", {"Records": records})["batchItemFailures"]
            if failures:
                raise Unexpected(f"{len(failures)} of {len(records)} messages came back")

    def sweep(self) -> None:
        """Run a sweep."""
        self._invoke("sweeper", {})

    def _invoke(self, name: str, event: dict[str, Any], at_once: int = 1) -> Any:
        self._meter.add_invocation()
        self.invocations[name] += 1
        before = self._meter.calls
        answer = self._handlers[name](event, _Context(getattr(self._settings, f"{name}_timeout_seconds")))
        self.turns[name] += (self._meter.calls - before) / at_once
        return answer


class _Quiet(App, frozen=True, kw_only=True):
    """An app that keeps its metrics in `lines`: standard output is for the result."""

    meter: Meter
    lines: list[str] = msgspec.field(default_factory=list)

    def write(self, line: str) -> None:
        self.lines.append(line)
        self.meter.add_log(line)


class _ClockOfThreads:
    """`ports.Clock` on the virtual clock. The visits of an invocation wait at the same time, each in its thread."""

    def __init__(self, clock: MemoryClock) -> None:
        self._clock = clock
        self._own = threading.local()

    def now(self) -> int:
        return max(self._clock.now(), getattr(self._own, "at", 0))

    def hold_until(self, at: int) -> None:
        if threading.current_thread() is threading.main_thread():
            self._clock.hold_until(at)
        else:
            self._own.at = max(self.now(), at)


class _Context:
    """Lambda's context, as far as a handler uses it."""

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
    ordered_shards: int = 0,
    answer: Callable[[Delivery, MemoryClock], Outcome] | None = None,
    client: Mapping[str, Any] = MappingProxyType({}),
    admin: bool = False,
    as_one_of: int | None = None,
) -> Iterator[tuple[Scheduler, Meter]]:
    """A scheduler in an empty account of the emulator, and the meter of all its calls from now on.

    `answer`: the outcome of a delivery; without it every delivery succeeds. `client`: fields that its one client has
    besides its name, principal and queue. `admin`: its principal is an admin's, too. `as_one_of`: of how many shards
    pollers take each to be one, where they judge the load of all by that of one; None: of `shards`.
    """
    # Where minutes end decides which jobs share a row. The clock starts on a whole minute, so that the figures do
    # not depend on the time of day; jobs that are due within one minute then take the fewest rows.
    clock = MemoryClock(int(time.time()) // 60 * 60_000)
    settings = created_resources(running, account, shards, ordered_shards)
    _prepare(running, account, settings, client, [PRINCIPAL] if admin else [])
    session = forgetful_session(account)
    meter = Meter(session)
    aws = Aws(session, endpoint_url=running.endpoint_url, meter=meter.capacity)
    unmetered = Aws(_session(account), endpoint_url=running.endpoint_url)
    try:
        targets = MemoryTargets(clock, answer and (lambda delivery: answer(delivery, clock)))
        source = EventSource(unmetered, settings.release_queue_url)
        yield Scheduler(aws, settings, meter, clock, targets, source, as_one_of), meter
    finally:
        aws.close()
        unmetered.close()


def created_resources(running: Emulator, account: Credentials, shards: int, ordered_shards: int) -> Settings:
    """The tables and queues of a deployment, in an empty account, and the settings that name them."""
    dynamodb, sqs = running.client("dynamodb", account), running.client("sqs", account)
    tables = {f"{kind}_table": create_table(dynamodb, kind, kind) for kind in KEYS}
    # No message is sent to the ordered queue here, so it need not be a FIFO queue.
    queues = {name: sqs.create_queue(QueueName=name)["QueueUrl"] for name in _QUEUES}
    for priority in ("normal", ""):  # "": the queue of its dead letters
        sqs.create_queue(QueueName=pool_queue_name("Clockwork", POOL.name, priority))
    pools = (pool_setting(POOL.name, ["normal"]),)
    return Settings.for_account().with_(shards=shards, ordered_shards=ordered_shards, pools=pools, **queues, **tables)


def _prepare(
    running: Emulator, account: Credentials, settings: Settings, client: Mapping[str, Any], admins: Sequence[str]
) -> None:
    """Write the rows that a deployment writes once in its life: those of its shards, its admins and the client."""
    aws = Aws(_session(account), endpoint_url=running.endpoint_url)
    try:
        world = aws_world(settings, aws)
        ensure_shards(world)
        queues = (QUEUE_ARN,)
        allowed: dict[str, Any] = {"allowed_queue_arns": queues, "allowed_pools": (POOL.name,)}
        world.clients.put(Client(client_id=CLIENT, principals=(PRINCIPAL,), **allowed, **client))
        world.clients.name_admins(admins)
        world.ticket_keys.make("k" * 22)
        world.pools.put(POOL, replaces=0)
    finally:
        aws.close()


def _session(account: Credentials) -> botocore.session.Session:
    session = botocore.session.Session()
    session.set_config_variable("region", REGION)
    session.set_credentials(account.access_key, account.secret_key)
    return session


def forgetful_session(account: Credentials) -> botocore.session.Session:
    """A session whose messages are sent without their delays, which the emulator would wait for in real time."""
    session = _session(account)
    session.register("before-parameter-build.sqs.SendMessageBatch", _forget_delays)
    return session


def _forget_delays(**call: Any) -> None:
    for entry in call["params"]["Entries"]:
        entry["DelaySeconds"] = 0


def access_line(method: str, path: str) -> str:
    """The line of the access log about a request that succeeds; what API Gateway fills in is of its usual length."""
    filled = {
        "$context.requestId": "x" * 16,
        "$context.httpMethod": method,
        "$context.path": path,
        "$context.identity.userArn": _CALLER,
        "$context.status": "201",
        "$context.responseLatency": "12",
        "$context.integrationErrorMessage": "-",
    }
    return json.dumps({name: filled[variable] for name, variable in LOGGED.items()})


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
            "authorizer": {"iam": {"userArn": PRINCIPAL}},
        },
        "body": None if body is None else json.dumps(body),
        "isBase64Encoded": False,
    }
