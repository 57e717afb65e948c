"""The number of release queues changes while jobs wait in them: each job is delivered exactly once."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from clockwork.settings import Settings
from local import synth
from local.stack import ADMIN_ARN
from tests.e2e.deployment import Deployment
from tests.e2e.hooks import Hook, Hooks
from tests.e2e.tenant import Tenant
from tests.e2e.waiting import lateness_ms

pytestmark = pytest.mark.nightly

JOBS = 20
DELAY_SECONDS = 25
#: The most rounds of creates until some jobs wait in each queue at once: a slow machine may deliver the first before
#: that.
MOST_ROUNDS = 5
#: The last job may come this long after its creation: a shard whose poller is lost waits for its lease to end and a
#: tick.
LATEST_SECONDS = DELAY_SECONDS + Settings.for_local().lease_seconds + Settings.for_local().tick_seconds


@pytest.fixture(scope="module")
def assemblies(options: dict[str, str]) -> dict[int, Path]:
    """The cloud assemblies with one release queue, as deployed, and with three, made before any job is due."""
    context = {"stage": "local", "adminPrincipals": ADMIN_ARN, **options}
    return {1: synth.assembly(context), 3: synth.assembly({**context, "releaseQueues": "3"})}


@pytest.fixture(scope="module")
def patient(deployment: Deployment, webhooks: Hooks) -> Tenant:
    """A client for the jobs that wait."""
    return deployment.tenant("patient", allowedPrivateTargets=[webhooks.place])


def fewest_waiting(deployment: Deployment) -> int:
    """The number of messages in the emptiest of the three release queues."""
    outputs = deployment.stack.outputs
    return min(deployment.depth(outputs[f"ReleaseQueue{number}Url"]) for number in ("", 1, 2))


def create(patient: Tenant, hook: Hook, delay_seconds: int = DELAY_SECONDS) -> dict[str, str]:
    """Creates jobs that are due when the next deployment is over, or sooner; returns their due instants by jobId."""
    job: dict[str, Any] = {"schedule": {"delaySeconds": delay_seconds}, "target": {"type": "http", "url": hook.url}}
    answers = [patient.create(None, **job) for _ in range(JOBS)]
    return {answer["jobId"]: answer["dueAt"] for answer in answers}


def wait_in_each(deployment: Deployment, patient: Tenant, hook: Hook) -> dict[str, str]:
    """Creates jobs until some wait in each of the three queues; returns the due instants of all of them by jobId."""
    due: dict[str, str] = {}
    for _ in range(MOST_ROUNDS):
        due |= create(patient, hook)
        until = time.monotonic() + DELAY_SECONDS
        while time.monotonic() < until:
            if fewest_waiting(deployment):
                return due
            time.sleep(0.05)
    pytest.fail(f"of {len(due)} jobs some waited in each of the queues at no time")


def test_queues_come_and_go_while_jobs_wait_in_them(
    deployment: Deployment, assemblies: dict[int, Path], patient: Tenant, hook: Hook
) -> None:
    due = create(patient, hook)
    deployment.stack.deploy(assembly=assemblies[3])
    due |= wait_in_each(deployment, patient, hook)
    deployment.stack.deploy(assembly=assemblies[1])
    due |= create(patient, hook, delay_seconds=2)
    arrivals = hook.await_arrivals(len(due), LATEST_SECONDS)
    assert len(arrivals) == len({arrival.headers["webhook-id"] for arrival in arrivals}) == len(due)
    assert all(lateness_ms(one.at, due[one.headers["webhook-id"].partition(".")[0]]) >= 0 for one in arrivals)
    # The removed queues stay, still mapped to the deliverer, until an operator deletes them.
    mapped = deployment.stack.client("lambda").list_event_source_mappings()["EventSourceMappings"]
    left = {one["EventSourceArn"].rpartition(":")[2] for one in mapped if "Release-" in one["EventSourceArn"]}
    assert left == {"Clockwork-Release-1", "Clockwork-Release-2"}
