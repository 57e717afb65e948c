"""Further measurements of `bench.lateness` on Clockwork's local stack, so that `bench.capacity` can be proved wrong.

Late creates are due when they are asked for: nothing of their lateness is hidden by a hold. Probes time single calls to
the emulator, and a request to the target, one after the other, and the CPU of a claim and of a release. All is measured
twice: one half gives the model its constants, and the other half judges its predictions.
"""

from __future__ import annotations

import http.client
import statistics
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from bench.arrivals.clockwork_run import CLIENT, CreateFailed, job
from bench.arrivals.lateness_jobs import ON_TIME_MS
from bench.arrivals.percentiles import percentile
from bench.arrivals.target import Target
from bench.cpu import measure
from bench.stubbed.interleaved import timed
from clockwork.domain.instants import from_text
from local.stack import LocalStack

PROBES = 60
CALLS_AT_ONCE = 10
#: A query of the probe reads a page as a poller of the calibrated load does: a few rows.
ROWS = 20
#: How long a late job may take at most.
LATE_SECONDS = 20
_AT_ONCE = {"schedule": {"delaySeconds": 0}}
#: Turns of the probes of the server and of CPU, half of them for each half; and the chunks of one turn of CPU.
TURNS, CHUNKS = 10, 5
#: The constants of the model by name, and the same measured again.
Halves = tuple[dict[str, float], dict[str, float]]
_SHARES = {"p25": 0.25, "p50": 0.5, "p90": 0.9, "p99": 0.99}


def percentiles(late_ms: Sequence[float]) -> dict[str, float]:
    """The percentiles that are predicted, the share on time, and the p25, of which others' work is no part."""
    ordered = sorted(late_ms)
    on_time = sum(late <= ON_TIME_MS for late in ordered) / len(ordered)
    return {**{name: round(percentile(ordered, share), 1) for name, share in _SHARES.items()}, "onTime": on_time}


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


def probe(stack: LocalStack, target: Target, number: int) -> Halves:
    """The times (ms) of the model's constants, measured twice in turns. `number`: a job's, unused so far.

    They are the median time of a call, and the CPU of one job's claim or outcome and of its release.
    """
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
        found = {name: halves_ms(call) for name, call in calls.items()}
        found["server_ms"] = _halves([at_once_ms(write) for _ in range(TURNS)])
    finally:
        connection.close()
    us = [{name: cost.ours for name, cost in measure(("deliver", "poll_release"), timed(CHUNKS))} for _ in range(TURNS)]
    # A claim and an outcome are the calls of a delivery.
    found["record_ms_per_job"] = _halves([one["deliver"] / 2 / 1_000 for one in us])
    found["poller_ms_per_job"] = _halves([one["poll_release"] / 1_000 for one in us])
    return {name: fit for name, (fit, _) in found.items()}, {name: other for name, (_, other) in found.items()}


def at_once_ms(call: Callable[[], Any]) -> float:
    """The time (ms) from one answer to the next if ten calls are always under way."""
    with ThreadPoolExecutor(CALLS_AT_ONCE) as threads:
        list(threads.map(lambda _: call(), range(PROBES)))
        began = time.monotonic()
        list(threads.map(lambda _: call(), range(PROBES)))
        return (time.monotonic() - began) * 1_000 / PROBES


def halves_ms(call: Callable[[], Any]) -> tuple[float, float]:
    """The medians of the times that each second call takes, and the others; the first few open connections."""
    taken = []
    for _ in range(2 * PROBES):
        began = time.monotonic()
        call()
        taken.append((time.monotonic() - began) * 1_000)
    return _halves(taken[PROBES // 5 :])


def _halves(taken: Sequence[float]) -> tuple[float, float]:
    """The medians of each second value and of the others: a machine that is slow for a while is so for both."""
    return round(statistics.median(taken[::2]), 4), round(statistics.median(taken[1::2]), 4)
