"""Damaged rows of every table on the deployed stack, beside two quiet clients who must not notice."""

from __future__ import annotations

import random
import statistics
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any, NamedTuple

import pytest
from urllib3.exceptions import HTTPError

from clockwork.domain import keys
from clockwork.domain.jobs import Occurrence
from clockwork.domain.storage.rows import row_of_job, row_of_many
from clockwork.domain.timeline import Row
from clockwork.flows.world import World
from clockwork.targets.http import HttpTarget
from clockwork.targets.message import Payload
from tests.e2e.damage import Vandal
from tests.e2e.deployment import Deployment
from tests.e2e.quiet import HOUR_MS, Inbox, Quiet, lateness, now_ms
from tests.e2e.tenant import Tenant
from tests.e2e.waiting import await_value

#: The promise, on a machine that is not the reason itself.
LATE_MS = 2_000
#: A machine that makes jobs late without damage gets this much beyond its own.
BEYOND_CONTROL_MS = 1_000
CONTROL_SECONDS = 6
#: A wave is a shard of its own, whose rows a poller reads while the odd client's among them are damaged.
WAVE_SECONDS = 4.0
AHEAD_MS = 6_000
ROWS_OF_QUIET, ROWS_OF_ODD = 4, 36
#: How many mutations are made in a second, those of the waves included.
PER_SECOND = 40
#: A failure shows so many lines of the Lambdas' logs, and of the emulator's.
MOST_LINES = 60
#: Tables in the order in which they are damaged.
TURNS = ("jobs", "executions", "timeline", "clients", "executions", "shards", "jobs", "timeline")
RETRY_SOON = {"maxAttempts": 3, "backoff": "fixed", "initialSeconds": 1, "jitter": "none"}
RETRY_LATER = {"maxAttempts": 3, "backoff": "fixed", "initialSeconds": 20, "jitter": "none"}


class Scene(NamedTuple):
    """The stack, its world in this process, and who plays."""

    deployment: Deployment
    world: World
    inbox: Inbox
    quiet: tuple[Quiet, Quiet]
    odd: Tenant
    polls: ThreadPoolExecutor
    seed: int
    #: The shards of the waves so far.
    waves: list[str]


@pytest.fixture
def inbox() -> Iterator[Inbox]:
    with Inbox() as running:
        yield running


def percentile(late: list[float], part: float) -> float:
    return sorted(late)[min(len(late) - 1, int(len(late) * part))]


def odd_jobs(scene: Scene, number: int) -> list[dict[str, Any]]:
    """One of each kind of job that a client may have."""
    hook, hopeless = scene.inbox.target("odd"), scene.inbox.target("hopeless")
    soon, beyond = {"delaySeconds": 2}, {"delaySeconds": 245}
    return [
        {"target": hook, "schedule": soon},
        {"target": hook, "schedule": beyond},
        {"target": hook, "schedule": beyond, "record": "none"},
        {"target": hook, "schedule": soon, "orderingKey": f"odd-{number % 3}", "sequence": number},
        {"target": hopeless, "schedule": soon, "retryPolicy": RETRY_LATER},
        {"target": hopeless, "schedule": soon, "retryPolicy": {"maxAttempts": 1}},
        {"target": hopeless, "schedule": soon, "retryPolicy": RETRY_SOON, "onFailure": hook},
        {"target": hook, "schedule": beyond, "jobKey": f"odd-once-{number}"},
        {"target": hook, "schedule": {"every": {"seconds": 5}}, "jobKey": f"odd-every-{number % 4}"},
    ]


def create_odd(scene: Scene, number: int) -> Counter[int]:
    """Creates one of each kind for the odd client; returns how often the API answered with each status."""
    answers = Counter[int]()
    for place, job in enumerate(odd_jobs(scene, number)):
        with suppress(HTTPError):
            key = {} if "jobKey" in job else {"Idempotency-Key": f"odd-{number}-{place}"}
            answer = scene.odd.api.request("POST", "/v1/jobs", {"clientId": scene.odd.client_id, **job}, key)
            answers[answer.status] += 1
    return answers


def play_odd(scene: Scene, is_over: Callable[[], bool]) -> None:
    """The odd client goes on with its work, whatever the API answers to it by now."""
    path, number = f"/v1/clients/{scene.odd.client_id}", 1
    admin = scene.deployment.stack.api()
    while not is_over():
        create_odd(scene, number)
        several = {"clientId": scene.odd.client_id, "jobs": odd_jobs(scene, number)[:2] * 4}
        order: tuple[str, str, Any] = ("POST", f"{path}/{'pause' if number % 2 else 'resume'}", {})
        for api, call in ((scene.odd.api, ("POST", "/v1/jobs/batch", several)), (admin, order)):
            with suppress(HTTPError):
                api.request(*call)
        number += 1
        time.sleep(2)


def odd_rows(scene: Scene, partition_id: str, due_at: int) -> list[Row]:
    """Rows of the odd client around an instant: of one job each, and packed."""
    target, rows = HttpTarget(scene.inbox.target("odd")["url"], private=True), []
    for number in range(ROWS_OF_ODD):
        at = due_at + number * 60
        one = Occurrence(scene.odd.client_id, at, now_ms(), target, Payload(b"odd"))
        if number % 3:
            rows.append(row_of_job(partition_id, f"odd-{number}", one, at + HOUR_MS))
        else:
            key = keys.row_key(at, f"odd-{number}")
            rows.append(row_of_many(partition_id, key, dict.fromkeys(range(5), one), at + HOUR_MS))
    return rows


def wave(scene: Scene, partition_id: str, vandal: Vandal | None) -> Future[dict[str, Any]]:
    """Puts rows of all clients into a new shard, damages those of the odd one, and has the shard polled."""
    scene.waves.append(partition_id)
    scene.world.shards.register(partition_id)
    due_at = now_ms() + AHEAD_MS
    spread = [due_at + step * 500 for step in range(ROWS_OF_QUIET)]
    rows = [row for one in scene.quiet for row in one.rows(partition_id, spread)]
    scene.world.timeline.put([*rows, *odd_rows(scene, partition_id, due_at - 200)])
    if vandal is not None:
        vandal.damage_partition(partition_id)
    return scene.polls.submit(scene.deployment.invoke, "poller", {"partitionId": partition_id})


def play(scene: Scene, name: str, is_over: Callable[[], bool], vandal: Vandal | None = None) -> list[float]:
    """Plays the quiet clients' jobs until it is over; returns how late (ms) each was."""
    for one in scene.quiet:
        one.begin()
    began_at, polls = time.monotonic(), list[Future[dict[str, Any]]]()
    while not is_over():
        if time.monotonic() >= began_at + len(polls) * WAVE_SECONDS:
            polls.append(wave(scene, f"q{name}{len(polls):04d}", vandal))
        for one in scene.quiet:
            one.create()
        time.sleep(0.5)
    reports = [poll.result() for poll in polls]
    assert {report["outcome"] for report in reports} == {"dry"}, reports
    return [late for one in scene.quiet for late in one.end()]


def play_control(scene: Scene, name: str) -> list[float]:
    """Plays the quiet clients' jobs without any damage: the machine alone makes them late."""
    ends = time.monotonic() + CONTROL_SECONDS
    return play(scene, name, lambda: time.monotonic() > ends)


def damage(scene: Scene, vandal: Vandal, mutations: int, stop: threading.Event) -> None:
    """Damages one row after the other at a pace, until a sweeper and the pollers of all shards have met the damages."""
    began_at, number, looked_at = time.monotonic(), 0, 0.0
    while not stop.is_set() and vandal.total < mutations:
        if time.monotonic() > looked_at + 4:
            vandal.look()
            looked_at = time.monotonic()
        vandal.damage_one(TURNS[number % len(TURNS)])
        number += 1
        stop.wait(max(0.0, began_at + vandal.total / PER_SECOND - time.monotonic()))
    scene.deployment.invoke("sweeper", {})
    await_every_shard(scene)


def play_damage(scene: Scene, vandal: Vandal, mutations: int) -> list[float]:
    """Plays the quiet clients' jobs while rows are damaged, until every shard has passed the damages."""
    stop = threading.Event()
    with ThreadPoolExecutor(2) as threads:
        damaging = threads.submit(damage, scene, vandal, mutations, stop)
        working = threads.submit(play_odd, scene, damaging.done)
        try:
            late = play(scene, "d", damaging.done, vandal)
        finally:
            stop.set()
        damaging.result()
        working.result()
    return late


def await_every_shard(scene: Scene) -> None:
    """Waits until each shard has passed what lay before the horizon that a tick now sets."""
    goal = keys.edge_key(now_ms() + scene.world.settings.lookahead_seconds * 1000)
    scene.deployment.invoke("ticker", {})
    shards = sorted({*keys.plain_partitions(scene.world.settings.shards)} & {*scene.world.shards.list()})

    def passed() -> Mapping[str, str] | None:
        cursors = {one.partition_id: one.cursor for one in scene.world.shards.get(shards).values()}
        return cursors if min(cursors.values()) >= goal else None

    await_value(passed, "every shard has passed the damaged rows", seconds=150, every_seconds=1)


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("mutations", "seed"), [(1_000, 11), pytest.param(10_000, None, marks=pytest.mark.timeout(1_800))]
)
def test_nobody_else_is_late_whatever_is_wrong_with_the_rows_of_one_client(
    deployment: Deployment, acme: Tenant, inbox: Inbox, mutations: int, seed: int | None
) -> None:
    """Rows of all five tables are damaged that belong to the odd client, or to nobody.

    In the timeline: the odd client's rows, and rows under keys that no version makes, in the shards that all share. In
    jobs, executions and clients: its jobs, Idempotency-Keys, records, turnstiles, its own row, that of its principal.
    In shards: ids that name no shard, shards that this deployment does not have, and attributes beside the real ones of
    a shard. The row of a shard itself, its cursor, lease and horizon, belongs to all clients of that shard. A damage to
    it is no fault of one client, and not within this promise.
    """
    seed = random.randrange(2**32) if seed is None else seed
    names = [f"{name}-{seed}-{mutations}" for name in ("quieta", "quietb", "oddclient")]
    first, second, odd = (deployment.tenant(name, allowedPrivateTargets=[inbox.place]) for name in names)
    vandal = Vandal(deployment, odd.client_id, random.Random(seed))
    with deployment.world() as world, ThreadPoolExecutor(8) as polls:
        scene = Scene(deployment, world, inbox, (Quiet(first, inbox), Quiet(second, inbox)), odd, polls, seed, [])
        assert create_odd(scene, 0) == {201: len(odd_jobs(scene, 0))}
        control = play_control(scene, "c")
        try:
            late = play_damage(scene, vandal, mutations)
            allowed: dict[str, Any] = {"principals": [], "allowedPrivateTargets": [inbox.place]}
            repaired = deployment.stack.api().request("PUT", f"/v1/clients/{odd.client_id}", allowed)
        finally:
            vandal.clean(scene.waves)
        if max(late) > bound_by(control):
            # The machine may have become slow since.
            control += play_control(scene, "e")
            vandal.clean(scene.waves)
    told = f"seed {seed}: {vandal.made}; {said('control', control)}; {said('damage', late)}"
    print(told)
    assert vandal.total >= mutations, told
    assert all(vandal.made.values()), told
    assert max(late) <= bound_by(control), f"{told}\n{told_of_latest(scene)}"
    assert repaired.status == 200, repaired


def told_of_latest(scene: Scene) -> str:
    """The request that came latest, and the lines about its job, or about any failure at that time, of all logs."""
    latest = max((one.latest for one in scene.quiet if one.latest), key=lateness)
    job_id, due_at = latest.headers["clockwork-job-id"], latest.headers["clockwork-due-at"]
    minute = due_at[: len("2026-11-27T08:22")]
    lines = [line for line in scene.deployment.logged() if job_id in line or ("WARN" in line and minute in line)]
    log = scene.deployment.stack.emulator.log.read_text(errors="replace").splitlines()
    failures = [line for line in log if "[lambda]" in line and ("WARN" in line or "ERROR" in line)]
    about = f"latest, {lateness(latest):.0f} ms: {dict(latest.headers)}"
    return "\n".join([about, *failures[-MOST_LINES:], *lines[:MOST_LINES]])


def bound_by(control: list[float]) -> float:
    """How late (ms) a job may be, given how late those of the control were."""
    return max(LATE_MS, percentile(control, 0.99) + BEYOND_CONTROL_MS)


def said(phase: str, late: list[float]) -> str:
    """How late the jobs of a phase were."""
    worst = f"p99 {percentile(late, 0.99):.0f}, most {max(late):.0f} ms"
    return f"{phase}: {len(late)} arrivals, p50 {statistics.median(late):.0f}, {worst} late"
