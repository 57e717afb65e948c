"""The cost that the load of a smoke should have, by the units that the benchmarks meter. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bench.billing import prices
from infra.memory import DELIVERER_MEMORY_MB
from tests.chaos.promises import Key, Promise
from tests.smoke.plan import Kind

_MILLION = 1_000_000
#: Write units of an occurrence by its kind, besides those of its record: its row, and the row of its request's key.
_ROW = 2.0
_WRITES = {Kind.HERD: 0.25, Kind.CRON: 1.0, Kind.CANCELLED: 3.0}
#: Claim and outcome; as much again for a retry.
_RECORDED, _RETRIED = 2.0, 2.0
_READS, _HERD_READS = 1.1, 0.06
#: Requests to SQS of a release that comes alone, and of one in a full batch: sent, received, deleted.
_ALONE, _IN_BATCH = 3.0, 0.3
#: An idle minute of an account's default stack: its shards' leases and commits, and its Lambdas.
_IDLE_WRITES, _IDLE_READS, _IDLE_INVOCATIONS, _IDLE_RECEIVES = 32.0, 50.0, 8.0, 30.0


def reckoned(promises: Sequence[Promise], kinds: Mapping[Key, Kind], minutes: float) -> dict[str, float]:
    """Dollars by item for these occurrences, and for so many minutes of a stack."""
    herd = sum(kinds[p.key] is Kind.HERD for p in promises)
    alone = len(promises) - herd
    retried = sum(kinds[p.key] is Kind.RETRIED for p in promises)
    writes = sum(_WRITES.get(kinds[p.key], _ROW) + _RECORDED * (p.record == "full") for p in promises)
    writes += retried * _RETRIED + minutes * _IDLE_WRITES
    reads = alone * _READS + herd * _HERD_READS + minutes * _IDLE_READS
    requests = (alone + retried) * _ALONE + herd * _IN_BATCH + minutes * _IDLE_RECEIVES
    held = alone + retried + herd / 10
    seconds = held * prices.HOLD_SECONDS * DELIVERER_MEMORY_MB / 1_024
    return {
        "writes": writes * prices.WRITE_UNIT / _MILLION,
        "reads": reads * prices.READ_UNIT / _MILLION,
        "sqs": requests * prices.SQS_REQUEST / _MILLION,
        "invocations": (held + alone + minutes * _IDLE_INVOCATIONS) * prices.LAMBDA_REQUEST / _MILLION,
        "gbSeconds": seconds * prices.GB_SECOND,
        "api": alone * prices.HTTP_API_REQUEST / _MILLION,
    }
