"""The operations of callers: drawn requests, which name jobs by the order in which they were created."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any, Literal

#: Few keys of each sort, so that requests collide.
JOB_KEYS = ("a", "b", "b/c")
IDEMPOTENCY_KEYS = ("k1", "k2", "k3")
#: A queue as target: it has no circuit, which would park jobs after many failures.
QUEUE_ARN = "arn:aws:sqs:us-east-1:111111111111:jobs"
#: Two attempts, the second ten seconds after the first; nothing random.
RETRY_SECONDS = 10
MAX_ATTEMPTS = 2
POLICY = {"maxAttempts": MAX_ATTEMPTS, "backoff": "fixed", "initialSeconds": RETRY_SECONDS, "jitter": "none"}

Kind = Literal[
    "create", "create_batch", "get", "cancel", "executions", "redrive", "name", "put", "patch", "pause", "resume",
    "run", "list", "trespass", "wait",
]  # fmt: skip
WEIGHTS: dict[Kind, int] = {
    "create": 6, "create_batch": 2, "get": 4, "cancel": 3, "executions": 3, "redrive": 2, "name": 5, "put": 2,
    "patch": 2, "pause": 2, "resume": 3, "run": 2, "list": 2, "trespass": 1, "wait": 7,
}  # fmt: skip


@dataclass(frozen=True)
class Operation:
    """One request. Its kind decides which fields count."""

    kind: Kind
    #: The body of a create or change; for a batch, a list of bodies.
    body: Any = None
    #: The number of the job it is about, modulo the number of jobs.
    job: int = 0
    key: str | None = None
    wait_ms: int = 0
    query: tuple[tuple[str, str], ...] = ()


def draw(rng: Random, count: int) -> list[Operation]:
    """Draws a sequence of operations."""
    kinds = rng.choices(list(WEIGHTS), list(WEIGHTS.values()), k=count)
    return [_draw(rng, kind) for kind in kinds]


def _draw(rng: Random, kind: Kind) -> Operation:
    if kind == "create":
        return Operation(kind, _anonymous(rng), key=rng.choice((None, *IDEMPOTENCY_KEYS)))
    if kind == "create_batch":
        bodies = [_anonymous(rng) for _ in range(rng.randint(1, 4))]
        if rng.random() < 0.3:
            bodies[0]["schedule"] = {"delaySeconds": -1}
        return Operation(kind, bodies, key=rng.choice((None, *IDEMPOTENCY_KEYS)))
    if kind in ("name", "put"):
        return Operation(kind, _definition(rng), job=rng.randrange(20), key=rng.choice(JOB_KEYS))
    if kind == "patch":
        changes = ({"payload": _payload(rng)}, {"tags": {"n": str(rng.randrange(2))}}, {"schedule": _schedule(rng)})
        return Operation(kind, rng.choice(changes), job=rng.randrange(20))
    if kind == "list":
        queries = ((), (("prefix", "b"),), (("state", "PAUSED"),), (("state", "CANCELLED"),), (("limit", "1"),))
        return Operation(kind, query=rng.choice(queries))
    if kind == "run":
        return Operation(kind, job=rng.randrange(20), key=rng.choice((None, *IDEMPOTENCY_KEYS)))
    if kind == "wait":
        return Operation(kind, wait_ms=rng.choice((1, 500, 5_000, 10_000, 61_000, 200_000)))
    return Operation(kind, job=rng.randrange(20))


def _anonymous(rng: Random) -> dict[str, Any]:
    record = rng.choice(("full", "full", "none"))
    fails = rng.choice((0, 0, 1, 2, 5)) if record == "full" else 0
    return _body({"delaySeconds": rng.choice((0, 1, 20, 65, 75, 400))}, {"fails": fails}, record)


def _definition(rng: Random) -> dict[str, Any]:
    schedule = _schedule(rng)
    if "every" in schedule:
        schedule["catchUp"] = rng.choice(("all", "latest", "none"))
    return _body(schedule, _payload(rng), "full")


def _schedule(rng: Random) -> dict[str, Any]:
    return rng.choice(
        ({"delaySeconds": 40}, {"delaySeconds": 150}, {"every": {"seconds": 30}}, {"every": {"seconds": 90}})
    )


def _payload(rng: Random) -> dict[str, Any]:
    return {"fails": rng.choice((0, 0, 1, 2))}


def _body(schedule: dict[str, Any], payload: dict[str, Any], record: str) -> dict[str, Any]:
    target = {"type": "sqs", "queueArn": QUEUE_ARN}
    return {"schedule": schedule, "target": target, "payload": payload, "record": record, "retryPolicy": POLICY}
