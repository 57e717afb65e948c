"""What AWS grants and how long it takes. Every figure is AWS's or marked as assumed; us-east-1, November 2026."""

from __future__ import annotations

from dataclasses import dataclass

from bench.model.buckets import Ramp
from bench.model.chances import Latency


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The figures of one cloud. Latencies in ms."""

    #: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html
    partition_writes: int = 1_000
    #: How long a key must be throttled before it is split off. Assumed: AWS says minutes.
    #: https://aws.amazon.com/blogs/database/part-3-scaling-dynamodb-how-partitions-hot-keys-and-split-for-heat-impact-performance/
    split_after_seconds: tuple[float, float] = (120, 600)
    #: Assumed; AWS says single-digit milliseconds on average.
    #: https://aws.amazon.com/blogs/database/understanding-amazon-dynamodb-latency/
    write: Latency = Latency(5, 15)
    query: Latency = Latency(12, 35)
    #: Assumed.
    send: Latency = Latency(10, 40)
    invoke: Latency = Latency(50, 200)
    #: From a message's visibility to the Lambda's start, measured by others in 2022 (p50 16, p99 105).
    #: https://bitesizedserverless.com/bite/serverless-messaging-latency-compared/
    queue_to_lambda: Latency = Latency(16.2, 105)
    #: SQS stops handing out at so many messages in flight.
    #: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-queues.html
    in_flight: int = 120_000
    #: Batches of one queue at once: 5, then 300 more a minute up to 1,250.
    #: https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-scaling.html
    event_source: Ramp = Ramp(5, 5, 1_250)
    #: A provisioned poller: receives a second, and batches at once. Same page.
    poller_receives: int = 10
    poller_batches: int = 10
    most_minimum_pollers: int = 200
    #: Environments of one function: 1,000 at once, then 100 a second.
    #: https://docs.aws.amazon.com/lambda/latest/dg/scaling-behavior.html
    environments_burst: int = 1_000
    environments_per_second: int = 100
    #: Assumed, of a function of this size.
    cold_start: Latency = Latency(450, 900)
    #: From a due instant to the arrival of the first attempt, and of each further one of the same batch: assumed
    #: twice what `bench.model.calibration` measured on the machine of the benchmark, since 1,024 MB are 0.6 cores.
    first_start_ms: float = 4.0
    next_start_ms: float = 1.0
    #: How long a target takes to answer. Assumed.
    target: Latency = Latency(40, 250)
    #: CPU of a poller per job (decode, plan, encode, send), of the same origin.
    poller_ms_per_job: float = 0.35


AWS = Limits()

#: The local stack. The launcher wakes its event source every 20 ms; a delayed message was measured to reach it after
#: 31 ms (p50) and 52 ms (p90). At most ten batches of a queue are under way (`infra.triggers.LOCAL_BATCHES`).
EMULATOR = Limits(
    partition_writes=1_000_000,
    write=Latency(6, 40),
    query=Latency(20, 100),
    send=Latency(6, 30),
    invoke=Latency(20, 100),
    queue_to_lambda=Latency(31, 80),
    event_source=Ramp(10, 0, 10),
    environments_burst=20,
    cold_start=Latency(500, 900),
    target=Latency(2, 20),
)
