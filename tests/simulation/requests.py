"""The requests of clients: jobs of every kind, drawn from the seed."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from clockwork.domain.clients import Client
from clockwork.domain.jobs import JobTarget
from clockwork.domain.policies import Completion, RecordLevel, RetryPolicy
from clockwork.domain.requests.create import CreateRequest, NewJob
from clockwork.settings import Settings
from clockwork.targets.http import HttpTarget
from clockwork.targets.kafka.target import KafkaTarget
from clockwork.targets.message import Payload
from clockwork.targets.pool import PoolTarget, Priority
from clockwork.targets.registry import Target
from clockwork.targets.sqs import SqsTarget
from tests.simulation.faults import Adversary, Fault
from tests.simulation.machines import ARNS, ENDS, TELL_ENDS
from tests.simulation.stores import NEVER_SENDABLE, POISON
from tests.simulation.targets import DOWN_HOST, REJECTING_HOST

LEVELS: tuple[RecordLevel, ...] = ("full", "none", "full")
TOPIC = "jobs"
POOL = "etl"
QUEUE_ARN = "arn:aws:sqs:us-east-1:123456789012:jobs"


def _client(**given: Any) -> Client:
    """A client that may send to the queue and the topic of the simulation."""
    queues, topics, pools = (QUEUE_ARN,), (TOPIC,), (POOL,)
    return Client(
        allowed_queue_arns=queues, allowed_topics=topics, allowed_pools=pools, allowed_target_arns=ARNS, **given
    )


CLIENTS = tuple(
    _client(
        client_id=f"client-{n}",
        principals=(f"arn:aws:iam::123456789012:user/u{n}",),
        record=record,
        runs_index=n == 0,
    )
    for n, record in enumerate(LEVELS)
)
#: The client with caps, which operators pause, resume and tidy up after.
REGULATED = _client(
    client_id="regulated",
    principals=("arn:aws:iam::123456789012:user/regulated",),
    max_rate_per_second=2.0,
    max_concurrency=4,
    dead_letter_queue_arn="arn:aws:sqs:us-east-1:123456789012:dead",
)
#: The client that operators take targets away from and put them back.
REVOCABLE = _client(
    client_id="revocable",
    principals=("arn:aws:iam::123456789012:user/revocable",),
    allowed_target_hosts=("callbacks.example.com", "good.example.com", "rejecting.example.com", "down.example.com"),
    max_concurrency=4,
)
#: A client with only a concurrency cap: nothing spreads the load it sends at once.
NARROW = _client(
    client_id="narrow",
    principals=("arn:aws:iam::123456789012:user/narrow",),
    max_concurrency=3,
)
#: A client with a low rate cap and no other: a line stands under it, and operators raise and lower it.
PACED = _client(
    client_id="paced",
    principals=("arn:aws:iam::123456789012:user/paced",),
    max_rate_per_second=0.1,
)
PACES = (0.1, 0.1, 0.5, 5.0)
CAPPED = (REGULATED, NARROW, REVOCABLE, PACED)
#: The client with a quota of jobs it may create.
METERED = _client(
    client_id="metered",
    principals=("arn:aws:iam::123456789012:user/metered",),
    creates_per_second=0.5,
    jobs_per_day=400,
)
#: Two clients with the same principal, which has to name the client that it acts for.
SHARING = tuple(
    _client(client_id=f"sharing-{n}", principals=("arn:aws:iam::123456789012:user/sharing",)) for n in range(2)
)
#: The client with more old jobs than one page of a list reads.
HOARDER = _client(client_id="hoarder", principals=("arn:aws:iam::123456789012:user/hoarder",))
#: The client whose target is down.
DOWNCAST = _client(client_id="downcast", principals=("arn:aws:iam::123456789012:user/downcast",))
#: The client with recurring jobs that operators pause for minutes; it has no caps.
HALTED = _client(client_id="halted", principals=("arn:aws:iam::123456789012:user/halted",))
#: The client that operators delete, and make anew under the same id. Only some seeds have it.
DEPARTING = _client(client_id="departing", principals=("arn:aws:iam::123456789012:user/departing",))
EVERYBODY = (*CLIENTS, *CAPPED, METERED, *SHARING, HOARDER, DOWNCAST, HALTED)
ADMIN = "arn:aws:iam::123456789012:role/operator"
#: The target of callbacks, which half of the jobs ask for.
CALLED_BACK = HttpTarget("https://callbacks.example.com/", timeout_seconds=5)
RETRY_POLICIES = (
    RetryPolicy(max_attempts=1),
    RetryPolicy(max_attempts=2, backoff="fixed", initial_seconds=1_000, jitter="none"),
    RetryPolicy(max_attempts=3, backoff="fixed", initial_seconds=950, max_seconds=950, jitter="none"),
    RetryPolicy(max_attempts=3, backoff="none"),
    RetryPolicy(max_attempts=4, initial_seconds=2, max_seconds=60),
    RetryPolicy(max_attempts=4, backoff="linear", initial_seconds=10, jitter="none"),
    RetryPolicy(max_attempts=5, backoff="fixed", initial_seconds=30, max_age_seconds=100),
)
#: How attempts end by callback: heartbeats are due soon or late, deadlines near or beyond a queue's longest delay.
COMPLETIONS = (
    Completion(heartbeat_seconds=10, timeout_seconds=40),
    Completion(heartbeat_seconds=30, timeout_seconds=600),
    Completion(heartbeat_seconds=120, timeout_seconds=300),
    Completion(heartbeat_seconds=950, timeout_seconds=1_000),
)
#: The longest backoff of an ordered job (s). In life, too, its queue hides no head for as long as it keeps a message.
LONGEST_ORDERED_BACKOFF = 1_000
#: Delays by reach: at once, within a hold, within the queue's delay, and beyond; more are drawn around the lookahead.
LONGEST_POISON_SECONDS = 800
DELAYS_MS = (
    (0, 1),
    (0, 2_000),
    (1_000, 60_000),
    (60_000, 170_000),
    (170_000, 900_000),
)


@dataclass
class KeyedRequest:
    """A request under an Idempotency-Key, and all answers to it."""

    request: CreateRequest
    first_at: int
    #: When the key is surely forgotten, counted from the last answer (ms).
    known_until: int = 0
    #: For each answer: its true time, and job ids by the job's index.
    answers: list[tuple[int, dict[int, str]]] = field(default_factory=list)


def new_job(
    rng: random.Random,
    adversary: Adversary,
    settings: Settings,
    index: int,
    now: int,
    herd_at: int,
    edges: Sequence[int],
    *,
    may_poison: bool = True,
    retry_policies: Sequence[RetryPolicy] = RETRY_POLICIES,
    some_complete: bool = False,
    some_pull: bool = False,
    some_end: bool = False,
) -> NewJob:
    """Draws one job as a client may want it. `edges` are the instants of shards' horizons, where comparisons matter.

    `some_complete`: some of its jobs end by callback. `some_pull`: workers pull some of them.
    `some_end`: of those that end by callback, some end with executions of a state machine instead.
    """
    # No two jobs have the same payload, so that two jobs are told apart from one job created twice.
    oddity, number = _oddity(rng, adversary, settings, may_poison), rng.getrandbits(64)
    payload = Payload(oddity + b" %d" % number)
    around = settings.lookahead_seconds * 1000
    first, last = rng.choice((*DELAYS_MS, (around - 60_000, around + 60_000), (around - 10_000, around + 70_000)))
    at = None
    kind = rng.random()
    if kind < 0.05:
        at = now - rng.randrange(1, 60_000)
    elif kind < 0.12 and edges:
        at = rng.choice(edges)
    elif kind < 0.3 and herd_at > now:
        adversary.counts[Fault.HERD] += 1
        at = herd_at
    completes = some_complete and number % 5 < 2
    target = _target(rng)
    if some_pull and number % 5 > 2:
        target, completes = pool_target(number), False
    completion = COMPLETIONS[number % len(COMPLETIONS)] if completes else None
    if completes and some_end and number % 7 < 2:
        target, completion = TELL_ENDS[number // 7 % 2], ENDS[number % 7]
    return NewJob(
        index=index,
        target=target,
        payload=payload,
        at=at,
        delay_ms=0 if at is not None else rng.randrange(first, last),
        record=rng.choice(("full", "full", "none", None)) if not (completes or is_pulled(target)) else "full",
        completion=completion,
        retry_policy=rng.choice(retry_policies),
        relevancy_window_seconds=rng.choice((None, None, None, None, 5.0, 60.0)),
        precision="second" if number % 3 == 1 else None,
        on_failure=CALLED_BACK if number % 2 else None,
    )


def pool_target(number: int) -> PoolTarget:
    """The target of a job that workers pull."""
    priorities: tuple[Priority, ...] = ("high", "normal", "low")
    handler = ("work", "work", "toil")[number % 7 % 3]
    return PoolTarget(POOL, handler, timeout_seconds=(45, 130, 900)[number % 3], priority=priorities[number % 11 % 3])


def is_pulled(target: JobTarget) -> bool:
    """Whether workers pull what has this target."""
    return isinstance(target, PoolTarget)


def ordered_target(target: JobTarget) -> JobTarget:
    """The target of a job that becomes an ordered one: no pool keeps an order."""
    return HttpTarget("https://good.example.com/", timeout_seconds=5) if is_pulled(target) else target


def ordered_policy(policy: RetryPolicy | None) -> RetryPolicy | None:
    """The retry policy of a job that becomes an ordered one."""
    is_long = policy is not None and policy.backoff == "fixed" and policy.initial_seconds > LONGEST_ORDERED_BACKOFF
    return RETRY_POLICIES[0] if is_long else policy


def _oddity(rng: random.Random, adversary: Adversary, settings: Settings, may_poison: bool) -> bytes:
    kind = rng.random() if adversary.profile.rows else 1.0
    if kind < 0.005:
        return NEVER_SENDABLE
    # Where messages are received often before they are given up, a poisonous one outlives every run.
    lasting_seconds = settings.max_receive_count * settings.visibility_seconds
    return POISON if may_poison and kind < 0.012 and lasting_seconds <= LONGEST_POISON_SECONDS else b"payload"


def _target(rng: random.Random) -> Target:
    kind = rng.random()
    if kind < 0.1:
        return SqsTarget(QUEUE_ARN) if kind < 0.05 else KafkaTarget(TOPIC)
    url = REJECTING_HOST if kind < 0.13 else DOWN_HOST if kind < 0.2 else "https://good.example.com/"
    return HttpTarget(url, timeout_seconds=rng.choice((1, 5, 15, 30)))
