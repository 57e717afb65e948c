"""The shapes of the Lambdas: what one of them has that others have not."""

from __future__ import annotations

from dataclasses import dataclass, replace

from clockwork.settings import Settings
from infra.memory import DELIVERER_MEMORY_MB, MEMORY_MB, POLLER_MEMORY_MB


@dataclass(frozen=True, kw_only=True)
class Shape:
    """The properties in which one Lambda differs from the others."""

    purpose: str
    timeout_seconds: int
    memory_mb: int = MEMORY_MB
    #: Concurrency that the option `reserve` keeps for this Lambda alone. None: the Lambda uses the account's unreserved
    #: concurrency.
    reserved: int | None = None
    #: The Lambda's own work comes back to it, for example through the release queue. Lambda's recursion detection
    #: would stop such a chain at the 16th time, so it is switched off.
    recursive: bool = False
    #: A caller starts the Lambda asynchronously, and again within a minute, so a late start is worthless. Lambda drops
    #: an event after 60 s and repeats no failed one.
    perishable: bool = False
    #: The layers of third-party packages that only this Lambda needs, besides the layers of every Lambda.
    layers: tuple[str, ...] = ()
    #: The folder of its handler below lambdas/. Empty: the folder of its own name.
    folder: str = ""


def shapes(settings: Settings) -> dict[str, Shape]:
    """The Lambdas of every deployment, by their moment."""
    return {
        "api": Shape(purpose="Answers the HTTPS API", timeout_seconds=settings.api_timeout_seconds, layers=("edge",)),
        "ticker": Shape(
            purpose="Starts one poller per shard, every minute",
            timeout_seconds=settings.ticker_timeout_seconds,
            reserved=2,
            perishable=True,
        ),
        "poller": Shape(
            purpose="Releases what one shard holds due",
            timeout_seconds=settings.poller_timeout_seconds,
            memory_mb=POLLER_MEMORY_MB,
            # An ordered shard's poller stays while work is near, and its successor starts before it ends: two at once.
            reserved=settings.shards + 2 * settings.ordered_shards,
            recursive=True,
            perishable=True,
        ),
        "deliverer": Shape(
            purpose="Delivers released occurrences to their targets, on time",
            timeout_seconds=settings.deliverer_timeout_seconds,
            memory_mb=DELIVERER_MEMORY_MB,
            recursive=True,
        ),
        "sweeper": Shape(
            purpose="Repairs what was left behind",
            timeout_seconds=settings.sweeper_timeout_seconds,
            recursive=True,
            perishable=True,
        ),
    }


def kafka_shape(settings: Settings) -> Shape:
    """The deliverer to Kafka topics."""
    return Shape(
        purpose="Delivers released occurrences to Kafka topics, on time",
        timeout_seconds=settings.deliverer_timeout_seconds,
        memory_mb=DELIVERER_MEMORY_MB,
        recursive=True,
        layers=("kafka",),
        folder="deliverer",
    )


def private_shape(settings: Settings) -> Shape:
    """The deliverer to private targets."""
    return replace(
        shapes(settings)["deliverer"],
        purpose="Delivers released occurrences to private targets, on time",
        folder="deliverer",
    )


def workers_shape(settings: Settings) -> Shape:
    """The api for the workers of pools."""
    return replace(
        shapes(settings)["api"],
        purpose="Answers the workers of pools, apart from the HTTPS API's other routes",
        folder="api",
    )


def ingester_shape(settings: Settings) -> Shape:
    """The ingester."""
    return Shape(
        purpose="Takes messages that create and cancel jobs",
        timeout_seconds=settings.ingester_timeout_seconds,
        recursive=True,
        layers=("edge",),
    )
