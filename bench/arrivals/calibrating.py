"""Further measurements of `bench.lateness` on Clockwork's local stack, so that `bench.capacity` can be proved wrong.

Late creates are due when they are asked for: nothing of their lateness is hidden by a hold. Probes time single calls to
the emulator, and a request to the target, one after the other.
"""

from __future__ import annotations

import http.client
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from bench.arrivals.clockwork_run import CLIENT, CreateFailed, job
from bench.arrivals.percentiles import percentile
from bench.arrivals.target import Target
from clockwork.domain.instants import from_text
from local.stack import LocalStack

PROBES = 60
CALLS_AT_ONCE = 10
#: A query of the probe reads a page as a poller of the calibrated load does: a few rows.
ROWS = 20
#: How long a late job may take at most.
LATE_SECONDS = 20
_AT_ONCE = {"schedule": {"delaySeconds": 0}}
_SHARES = {"p25": 0.25, "p50": 0.5, "p90": 0.9, "p99": 0.99}


def percentiles(late_ms: Sequence[float]) -> dict[str, float]:
    """The percentiles that are predicted, and the p25, of which other work of the machine is no part."""
    ordered = sorted(late_ms)
    return {name: round(percentile(ordered, share), 1) for name, share in _SHARES.items()}


def late_creates(stack: LocalStack, target: Target, numbers: Sequence[int], step_ms: int) -> list[float]:
    """The lateness (ms) of jobs that are created one by one and due at once. Raises CreateFailed."""
    api, due_at = stack.api(), {}
    for number in numbers:
        answer = api.request("POST", "/v1/jobs", {"clientId": CLIENT, **job(target.url(number)), **_AT_ONCE})
        if answer.status != 201:
            raise CreateFailed(f"{answer.status} {answer.body}")
        due_at[number] = from_text(answer.body["dueAt"])
        time.sleep(step_ms / 1_000)
    ends_at = time.monotonic() + LATE_SECONDS
    while not due_at.keys() <= target.arrivals().keys():
        if time.monotonic() > ends_at:
            raise CreateFailed(f"{len(due_at.keys() - target.arrivals().keys())} late jobs did not arrive")
        time.sleep(0.1)
    arrivals = target.arrivals()
    return [min(arrivals[number]) - at for number, at in due_at.items()]


def probe(stack: LocalStack, target: Target, number: int) -> Mapping[str, float]:
    """The median time (ms) of a call, by the constant of the model that stands for it. `number`: a job's, unused."""
    dynamodb, sqs = stack.client("dynamodb"), stack.client("sqs")
    dynamodb.create_table(
        TableName="probe",
        KeySchema=[{"AttributeName": "k", "KeyType": "HASH"}, {"AttributeName": "s", "KeyType": "RANGE"}],
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in "ks"],
        BillingMode="PAY_PER_REQUEST",
    )
    url = sqs.create_queue(QueueName="probe")["QueueUrl"]
    rows = iter(range(1_000_000))

    def write() -> object:
        item = {"k": {"S": "k"}, "s": {"S": f"{next(rows):09d}"}, "b": {"B": b"x" * 400}}
        return dynamodb.put_item(TableName="probe", Item=item, ConditionExpression="attribute_not_exists(k)")

    def query() -> object:
        values = {":k": {"S": "k"}}
        return dynamodb.query(
            TableName="probe",
            KeyConditionExpression="k = :k",
            ExpressionAttributeValues=values,
            ConsistentRead=True,
            Limit=ROWS,
        )

    def send() -> object:
        return sqs.send_message_batch(QueueUrl=url, Entries=[{"Id": "0", "MessageBody": "x" * 400}])

    connection = http.client.HTTPConnection(target.place)

    def answer() -> object:
        connection.request("POST", f"/{number}", b"{}")
        return connection.getresponse().read()

    try:
        calls = {"write": write, "query": query, "send": send, "target": answer}
        return {**{name: median_ms(call) for name, call in calls.items()}, "server_ms": at_once_ms(write)}
    finally:
        connection.close()


def at_once_ms(call: Callable[[], Any]) -> float:
    """The time (ms) from one answer to the next if ten calls are always under way."""
    with ThreadPoolExecutor(CALLS_AT_ONCE) as threads:
        list(threads.map(lambda _: call(), range(PROBES)))
        began = time.monotonic()
        list(threads.map(lambda _: call(), range(PROBES)))
        return round((time.monotonic() - began) * 1_000 / PROBES, 2)


def median_ms(call: Callable[[], Any]) -> float:
    """The median of the times that a call takes; the first few open connections, and do not count."""
    taken = []
    for _ in range(PROBES):
        began = time.monotonic()
        call()
        taken.append((time.monotonic() - began) * 1_000)
    return round(statistics.median(taken[PROBES // 10 :]), 2)
