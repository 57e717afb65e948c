"""AWS's limits and latencies. Every figure is AWS's or marked as assumed; us-east-1, November 2026."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bench.model.buckets import Ramp
from bench.model.chances import Latency
from bench.reporting.results import kept


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The figures of one cloud. Latencies in ms."""

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
    #: Time from a message's visibility to the start of its function.
    queue_to_lambda: Latency
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
    #: The memory of a Lambda that has a whole core; with less it has as large a part of one.
    core_mb: int

    def cores(self, memory_gb: float) -> float:
        """The part of a core that a Lambda of so much memory has for one thread."""
        return min(1.0, memory_gb * 1_024 / self.core_mb)


#: What the work of a job takes on a core of the machine that measured it last, us (`bench.cpu`).
_CPU_US = {name: cost["ours"] for name, cost in kept("cpu").items()}


AWS = Limits(
    # https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html
    partition_writes=1_000,
    # Assumed: AWS says minutes.
    # https://aws.amazon.com/blogs/database/part-3-scaling-dynamodb-how-partitions-hot-keys-and-split-for-heat-impact-performance/
    split_after_seconds=(120, 600),
    # Assumed; AWS says single-digit milliseconds on average.
    # https://aws.amazon.com/blogs/database/understanding-amazon-dynamodb-latency/
    write=Latency(5, 15),
    query=Latency(12, 35),
    # Assumed.
    send=Latency(10, 40),
    invoke=Latency(50, 200),
    # Measured by others: p50 16.2, p90 33.8, p99 105 ms.
    # https://bitesizedserverless.com/bite/serverless-messaging-latency-compared/
    queue_to_lambda=Latency(16.2, 105),
    # https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-queues.html
    in_flight=120_000,
    # 5 at first, 300 more a minute, 1,250 at most; provisioned pollers: same page.
    # https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-scaling.html
    event_source=Ramp(5, 5, 1_250),
    poller_receives=10,
    poller_batches=10,
    # https://docs.aws.amazon.com/lambda/latest/dg/scaling-behavior.html
    environments_burst=1_000,
    environments_per_second=100,
    # Assumed.
    cold_start=Latency(450, 900),
    # Assumed: the time of the benchmark's machine when it is idle.
    first_start_ms=2.3,
    next_start_ms=0.58,
    # Assumed.
    target=Latency(40, 250),
    poller_ms_per_job=_CPU_US["poll_release"] / 1_000,
    # A claim and an outcome are a delivery's calls.
    record_ms_per_job=_CPU_US["deliver"] / 2 / 1_000,
    # https://docs.aws.amazon.com/lambda/latest/dg/configuration-memory.html
    core_mb=1_769,
)

#: The local stack. Its launcher wakes the event source every 20 ms; a delayed message was measured to reach it after
#: 31 ms (p50) and 52 ms (p90). It works on at most ten batches of a queue at once (eight is its share).
EMULATOR = replace(
    AWS,
    partition_writes=1_000_000,
    write=Latency(6, 40),
    query=Latency(20, 100),
    send=Latency(6, 30),
    invoke=Latency(20, 100),
    queue_to_lambda=Latency(31, 80),
    event_source=Ramp(10, 0, 10),
    environments_burst=20,
    poller_ms_per_job=0.12,
    record_ms_per_job=0.8,
    # A Lambda there is a process, and has a core if one is free, whatever its memory.
    core_mb=1,
    target=Latency(2, 20),
)
