"""The world of the model, which all its parts share: time, randomness, AWS's limits, the deployment and the counts."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from bench.arrivals.percentiles import Histogram
from bench.model.events import Events
from bench.model.limits import AWS, Limits
from clockwork.settings import Settings
from infra.memory import DELIVERER_MEMORY_MB, POLLER_MEMORY_MB


@dataclass(frozen=True, kw_only=True)
class Deployment:
    """The stack's settings, and values that are set beside the stack; the defaults are those of a new stack."""

    settings: Settings = field(default_factory=Settings.for_account)
    #: Writes a second for which the timeline table is warmed (a new on-demand table takes 4,000).
    warm_writes: int = 4_000
    #: Provisioned pollers per release queue, set at its event source; 0: Lambda's own scaling.
    pollers: int = 0
    #: The quota of concurrent executions of the account.
    concurrency: int = 1_000
    #: Requests a second that the account's APIs may take, all together.
    api_rate: int = 10_000
    #: Environments that are warm when the load comes, per deliverer.
    warm_environments: int = 0
    #: The jobs' `record`; with `full` each job writes a claim and an outcome.
    record: str = "full"
    deliverer_gb: float = DELIVERER_MEMORY_MB / 1_024
    poller_gb: float = POLLER_MEMORY_MB / 1_024


@dataclass
class Tally:
    """The counts of a run."""

    lateness: Histogram = field(default_factory=lambda: Histogram(0.1))
    #: The lateness of jobs whose environment was warm.
    warm_lateness: Histogram = field(default_factory=lambda: Histogram(0.1))
    created: int = 0
    refused: int = 0
    #: Requests that API Gateway answered with 429; their callers repeat them.
    throttled_requests: int = 0
    api_requests: int = 0
    sends: int = 0
    sent: int = 0
    receives: int = 0
    invocations: int = 0
    throttled_invocations: int = 0
    delivered: int = 0
    duplicates: int = 0
    write_units: int = 0
    read_units: float = 0.0
    polls: int = 0
    deliverer_ms: float = 0.0
    poller_ms: float = 0.0
    first_due_at: float = float("inf")
    last_delivered_at: float = 0.0


class World:
    """The state that the parts share in one run of the model."""

    def __init__(self, deployment: Deployment, limits: Limits = AWS, seed: int = 0) -> None:
        self.deployment = deployment
        self.settings = deployment.settings
        self.limits = limits
        self.rng = random.Random(seed)
        self.events = Events()
        self.tally = Tally()
        #: When the one server of an emulator has answered all calls so far.
        self.server_free_at = 0.0
