"""A client of the deployed stack."""

from __future__ import annotations

from typing import Any

from local.api import SignedApi
from tests.e2e.hooks import Hook
from tests.e2e.waiting import await_value


class Tenant:
    """A client as it calls the API."""

    def __init__(self, client_id: str, api: SignedApi) -> None:
        self.client_id = client_id
        self.api = api

    def create(self, hook: Hook | None = None, *, key: str | None = None, **job: Any) -> dict[str, Any]:
        """Creates a job; the API must answer 201. It is due in 2 s and recorded unless `job` says otherwise."""
        job = {"schedule": {"delaySeconds": 2}, **job}
        if hook is not None:
            job["target"] = {"type": "http", "url": hook.url}
        headers = {"Idempotency-Key": key} if key else {}
        answer = self.api.request("POST", "/v1/jobs", {"clientId": self.client_id, **job}, headers)
        assert answer.status == 201, answer
        return dict(answer.body)

    def get(self, path: str) -> Any:
        """Returns the body of a GET, which must answer 200."""
        answer = self.api.request("GET", path)
        assert answer.status == 200, answer
        return answer.body

    def cancel(self, job_id: str) -> dict[str, Any]:
        """Cancels a job (DELETE /v1/jobs/{jobId}), which must answer 200."""
        answer = self.api.request("DELETE", f"/v1/jobs/{job_id}")
        assert answer.status == 200, answer
        return dict(answer.body)

    def await_job(self, job_id: str, state: str) -> dict[str, Any]:
        """Waits until a job is in a state, and returns it."""
        return await_value(lambda: _in_state(self.get(f"/v1/jobs/{job_id}"), state), f"{job_id} is {state}")


def _in_state(job: dict[str, Any], state: str) -> dict[str, Any] | None:
    return job if job["state"] == state else None
