"""AWS's limits and latencies, each with its source; us-east-1, November 2026. `measured` puts others in their place."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bench.model.buckets import Ramp
from bench.model.chances import Latency, Spread
from bench.reporting.results import kept

#: Messages that Lambda takes at once from a queue without a window (`infra.triggers.BATCH`), and the fewest that it has
#: on average while more of them wait. AWS promises neither: SQS may answer a receive from a part of its servers.
BATCH, FEWEST = 10, 3


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The figures of one cloud. Latencies in ms."""

    #: Requests that API Gateway takes at once beyond its rate, and after how long a caller repeats one that got 429.
    api_burst: int
    api_repeat: Latency
    #: Writes a second of one partition of a table.
    partition_writes: int
    #: How long a key must be throttled before it gets a partition of its own: a random time between these two.
    split_after_seconds: tuple[float, float]
    #: Latencies of one write, one page of a query, one batch of messages, and of one asynchronous invocation until its
    #: function runs.
    write: Latency
    query: Latency
    send: Latency
    invoke: Latency
    #: How much later than its delay says a message becomes visible.
    delay_error: Spread
    #: Time from a message's visibility to the start of its function.
    queue_to_lambda: Latency
    #: Messages of one invocation, where more of them wait.
    messages_per_invocation: int
    #: Messages of one queue that may be received and not yet deleted.
    in_flight: int
    #: Batches of one queue at once; the bound grows from the instant at which messages began to wait.
    event_source: Ramp
    #: A provisioned poller's receives a second, and its batches at once.
    poller_receives: int
    poller_batches: int
    #: New environments of one function: how many at once, and how many a second.
    environments_burst: int
    environments_per_second: int
    cold_start: Latency
    #: Time from a due instant to the start of the first attempt, and from each start of a batch to the next, on a core.
    first_start_ms: float
    next_start_ms: float
    #: How long a target takes to answer.
    target: Latency
    #: CPU per job of a poller, and of a deliverer for a claim or an outcome, on a core.
    poller_ms_per_job: float
    record_ms_per_job: float
    #: Time for which one call keeps all others waiting; 0 where calls are served at once.
    server_ms: float
    #: The memory of a Lambda that has a whole core; with less it has as large a part of one.
    core_mb: int

    def cores(self, memory_gb: float) -> float:
        """The part of a core that a Lambda of so much memory has for one thread."""
        return min(1.0, memory_gb * 1_024 / self.core_mb)


#: The CPU of a job's work on a core of the machine that measured it last, us (`bench.cpu`).
_CPU_US = {name: cost["ours"] for name, cost in kept("cpu").items()}


AWS = Limits(
    api_burst=5_000,
    api_repeat=Latency(1_000, 2_000),
    partition_writes=1_000,
    split_after_seconds=(120, 600),
    write=Latency(5, 15),
    query=Latency(12, 35),
    send=Latency(10, 40),
    invoke=Latency(50, 200),
    delay_error=Spread(),
    queue_to_lambda=Latency(16.2, 105),
    messages_per_invocation=BATCH,
    in_flight=120_000,
    event_source=Ramp(5, 5, 1_250),
    poller_receives=10,
    poller_batches=10,
    environments_burst=1_000,
    environments_per_second=100,
    cold_start=Latency(450, 900),
    first_start_ms=1.0,
    next_start_ms=0.5,
    target=Latency(40, 250),
    poller_ms_per_job=_CPU_US["poll_release"] / 1_000,
    # A claim and an outcome are a delivery's calls.
    record_ms_per_job=_CPU_US["deliver"] / 2 / 1_000,
    server_ms=0.0,
    core_mb=1_769,
)

ASSUMED = "assumed"
_DYNAMODB = "https://docs.aws.amazon.com/amazondynamodb/latest/developerguide"
_LAMBDA = "https://docs.aws.amazon.com/lambda/latest/dg"
_HEAT = "https://aws.amazon.com/blogs/database/part-3-scaling-dynamodb-how-partitions-hot-keys-and-split-for-heat-impact-performance/"
_LATENCY = "https://aws.amazon.com/blogs/database/understanding-amazon-dynamodb-latency/"
_OUR_CPU = f"bench.cpu on a core of another machine; memory's part of a core by {_LAMBDA}/configuration-memory.html"
#: Where each constant of `AWS` comes from.
SOURCES = {
    "partition_writes": f"{_DYNAMODB}/bp-partition-key-design.html",
    "split_after_seconds": f"{ASSUMED}; minutes by {_HEAT}",
    "write": f"{ASSUMED}; single-digit milliseconds on average by {_LATENCY}",
    "query": f"{ASSUMED}; single-digit milliseconds on average by {_LATENCY}",
    "send": ASSUMED,
    "invoke": ASSUMED,
    "delay_error": f"{ASSUMED}: none",
    "queue_to_lambda": "measured by https://bitesizedserverless.com/bite/serverless-messaging-latency-compared/",
    "messages_per_invocation": f"{ASSUMED}: {FEWEST} to {BATCH}, as many as an event source without a window takes",
    "in_flight": "https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-queues.html",
    "event_source": f"{_LAMBDA}/services-sqs-scaling.html",
    "poller_receives": f"{_LAMBDA}/services-sqs-scaling.html",
    "poller_batches": f"{_LAMBDA}/services-sqs-scaling.html",
    "environments_burst": f"{_LAMBDA}/scaling-behavior.html",
    "environments_per_second": f"{_LAMBDA}/scaling-behavior.html",
    "cold_start": ASSUMED,
    "first_start_ms": f"{ASSUMED}: that of the benchmark's idle machine on a core",
    "next_start_ms": f"{ASSUMED}: that of the benchmark's idle machine on a core",
    "target": ASSUMED,
    "poller_ms_per_job": _OUR_CPU,
    "record_ms_per_job": _OUR_CPU,
    "server_ms": f"{ASSUMED}: none; a table's partitions serve their calls at once",
    "api_burst": "https://docs.aws.amazon.com/apigateway/latest/developerguide/limits.html",
    "api_repeat": f"{ASSUMED}; what the clients of AWS do",
    "core_mb": f"{_LAMBDA}/configuration-memory.html",
}

#: The local stack on two cores that others left alone. `bench.lateness` puts the medians of its own machine in place of
#: these (`bench.model.calibration`); the tails keep their distance. The launcher wakes the event source every 20 ms; a
#: delayed message reached it after 31 ms (p50) and 52 ms (p90). It works on at most ten batches of a queue at once.
EMULATOR = replace(
    AWS,
    partition_writes=1_000_000,
    write=Latency(1.1, 20),
    query=Latency(2.5, 40),
    send=Latency(1.4, 15),
    invoke=Latency(20, 100),
    queue_to_lambda=Latency(31, 80),
    event_source=Ramp(10, 0, 10),
    environments_burst=20,
    # A Lambda there is a process, and has a core if one is free, whatever its memory.
    core_mb=1,
    target=Latency(0.11, 2),
    # All services of the emulator are one process, which answers one call after the other. It shares two cores with
    # the Lambdas, whose work therefore keeps other calls waiting, too.
    server_ms=1.9,
)
