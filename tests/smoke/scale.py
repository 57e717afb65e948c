"""How much a smoke asks for, and what it takes for right, in an account and on this machine."""

from __future__ import annotations

from dataclasses import dataclass

from clockwork.settings import Settings


@dataclass(frozen=True, kw_only=True)
class Scale:
    """Counts of requests and of what each asks for, over so many seconds, besides the steady load."""

    seconds: float
    per_second: float
    lone: int
    herds: int
    herd_jobs: int
    keys: int
    key_jobs: int
    crons: int
    fires: int
    cancels: int
    retries: int
    each_target: int
    #: Messages whose delay is measured, and the longest delay.
    delays: int
    longest_delay_seconds: int
    #: The deployment begins so long after the load, and the load goes on for so long after the deployment.
    deploy_after_seconds: float
    after_deploy_seconds: float
    #: How long what is due may take to end.
    settle_seconds: float


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """The bounds of what is taken for right."""

    #: Lateness of first attempts that were not due while the version changed. In an account without faults 2.5 s are
    #: promised. A machine that others use promises nothing; but a message comes back after the visibility timeout
    #: only if somebody died, so half of all may not be that late.
    late_p50_ms: int
    late_p99_ms: int
    #: The clocks of a deliverer and of its target may differ by so much.
    clocks_ms: int
    #: A message of a herd has so many messages in its invocation on average, itself included.
    herd_messages: float
    #: An error of a delay of SQS: the deliverer holds what comes up to so much early.
    delay_early_ms: int
    delay_late_ms: int
    #: The median of initialisation of each Lambda.
    init_ms: int
    #: The metered bill is at most so many times the reckoned one, and at least that part of it.
    dollars_ratio: float
    dollars: float


ACCOUNT = Scale(
    seconds=120,
    per_second=5,
    lone=100,
    herds=2,
    herd_jobs=500,
    keys=10,
    key_jobs=10,
    crons=3,
    fires=20,
    cancels=50,
    retries=50,
    each_target=20,
    delays=200,
    longest_delay_seconds=120,
    deploy_after_seconds=30,
    after_deploy_seconds=20,
    settle_seconds=180,
)
LOCAL = Scale(
    seconds=20,
    per_second=3,
    lone=30,
    herds=1,
    herd_jobs=80,
    keys=3,
    key_jobs=5,
    crons=2,
    fires=4,
    cancels=8,
    retries=8,
    each_target=3,
    delays=20,
    longest_delay_seconds=8,
    deploy_after_seconds=12,
    after_deploy_seconds=3,
    settle_seconds=120,
)
ACCOUNT_BOUNDS = Bounds(
    late_p50_ms=250,
    late_p99_ms=2_500,
    clocks_ms=100,
    herd_messages=3,
    delay_early_ms=1_000,
    delay_late_ms=1_000,
    init_ms=2_000,
    dollars_ratio=3,
    dollars=1,
)
_REDELIVERED_MS = Settings.for_local().visibility_seconds * 1_000
LOCAL_BOUNDS = Bounds(
    late_p50_ms=_REDELIVERED_MS,
    late_p99_ms=4 * _REDELIVERED_MS,
    clocks_ms=0,
    herd_messages=2,
    delay_early_ms=1_000,
    delay_late_ms=_REDELIVERED_MS,
    init_ms=2_000,
    dollars_ratio=3,
    dollars=1,
)
