"""Calls that look at jobs and clients or change them: rare, and some dearer than a create.

Whatever changes something leaves an entry in the trail of its client, which is one of its writes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from bench.billing.scheduler import CLIENT, PRINCIPAL, QUEUE_ARN, Scheduler, scheduler
from bench.billing.usage import Usage
from local.emulator import Credentials, Emulator

#: Named jobs, each of which gets one call of each kind. Their client gets one, since a second would change nothing.
JOBS = 20
_DAILY = {
    "schedule": {"every": {"seconds": 86_400}},
    "target": {"type": "http", "url": "https://example.com/hook"},
    "payload": "x" * 198,
}
_CLIENT = {"principals": [PRINCIPAL], "allowedQueueArns": [QUEUE_ARN], "maxRatePerSecond": 100}


@dataclass(frozen=True, kw_only=True)
class Control:
    """One kind of call, on a job or, without `{}` in its path, on its client."""

    says: str
    method: str
    path: str
    body: Mapping[str, Any] | None = None


CONTROLS = {
    "get_job": Control(says="a look at a named job", method="GET", path="/v1/jobs/{}"),
    "list_jobs": Control(says="a page of twenty named jobs", method="GET", path="/v1/jobs"),
    "put_job": Control(says="a new definition", method="PUT", path="/v1/jobs/{}", body=_DAILY | {"payload": "new"}),
    "pause_job": Control(says="a pause", method="POST", path="/v1/jobs/{}/pause"),
    "resume_job": Control(says="its end: the next fire is written anew", method="POST", path="/v1/jobs/{}/resume"),
    "run_job": Control(says="a run by hand, without its delivery", method="POST", path="/v1/jobs/{}/run"),
    "cancel_job": Control(says="a named job cancelled", method="DELETE", path="/v1/jobs/{}"),
    "put_client": Control(says="a client with another cap", method="PUT", path=f"/v1/clients/{CLIENT}", body=_CLIENT),
    "pause_client": Control(says="all of a client's jobs", method="POST", path=f"/v1/clients/{CLIENT}/pause"),
    "resume_client": Control(
        says="its end, without what was parked", method="POST", path=f"/v1/clients/{CLIENT}/resume"
    ),
}


def meter_controls(running: Emulator, account: Credentials) -> dict[str, Usage]:
    """The units per call of each kind, in their order. Raises Unexpected if one is refused."""
    with scheduler(running, account, shards=1, admin=True) as (scheduled, meter):
        job_ids = list(_named_jobs(scheduled))

        def metered(control: Control) -> Usage:
            before, called = meter.usage(), job_ids if "{}" in control.path else job_ids[:1]
            for job_id in called:
                scheduled.request(control.method, control.path.format(job_id), control.body)
                scheduled.clock.hold_until(scheduled.clock.at + 60_000)  # nothing that is kept for a while is left
            return meter.usage().since(before).per_job(len(called))

        return {name: metered(control) for name, control in CONTROLS.items()}


def _named_jobs(scheduled: Scheduler) -> Iterator[str]:
    for number in range(JOBS):
        body = {"clientId": CLIENT, "jobKey": f"job-{number}", **_DAILY}
        yield scheduled.request("POST", "/v1/jobs", body)["jobId"]
