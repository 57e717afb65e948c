"""AWS's limits and latencies. Every figure is AWS's or marked as assumed; us-east-1, November 2026."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bench.model.buckets import Ramp
from bench.model.chances import Latency


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
    #: Time from a due instant to the start of the first attempt, and from each start of a batch to the next.
    first_start_ms: float
    next_start_ms: float
    #: How long a target takes to answer.
    target: Latency
    #: CPU per job of a poller, and of a deliverer for a claim or an outcome.
    poller_ms_per_job: float
    record_ms_per_job: float


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
    # Assumed: about twice the time of the benchmark's machine when it is idle, since 1,024 MB are 0.6 of a core.
    first_start_ms=4.0,
    next_start_ms=1.0,
    # Assumed.
    target=Latency(40, 250),
    # `bench.cpu` on one core: 0.12 and 0.8 ms; 1,024 MB are 0.6 of a core.
    # https://docs.aws.amazon.com/lambda/latest/dg/configuration-memory.html
    poller_ms_per_job=0.2,
    record_ms_per_job=1.4,
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
    target=Latency(2, 20),
)
