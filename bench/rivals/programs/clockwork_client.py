"""Creates jobs at Clockwork's API: one a request, or 500 a request.

python clockwork_client.py URL ACCESS_KEY SECRET_KEY PORT CERTIFICATE
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from bench.arrivals.clockwork_run import CLIENT, CreateFailed, job
from bench.rivals.programs.talk import Job, one_by_one, serve
from clockwork.aws.repeats import batches
from clockwork.domain.instants import to_text
from local.api import SignedApi
from local.emulator import Credentials

LARGEST_REQUEST = 500


def main() -> None:
    """Create what is asked for."""
    url, access_key, secret_key, port, certificate = sys.argv[1:]
    api = SignedApi(url, Credentials(access_key, secret_key), connect_to=int(port), ca_bundle=Path(certificate))
    serve(partial(create, api))


def create(api: SignedApi, jobs: Sequence[Job], together: bool) -> None:
    """Create the jobs, all recorded in full. Raises CreateFailed."""
    if together:
        for some in batches(jobs, LARGEST_REQUEST):
            _post(api, "/v1/jobs/batch", {"clientId": CLIENT, "jobs": [_due(one) for one in some]}, 200)
    else:
        one_by_one(lambda one: _post(api, "/v1/jobs", {"clientId": CLIENT, **_due(one)}, 201), jobs)


def _post(api: SignedApi, path: str, body: object, wanted: int) -> None:
    answer = api.request("POST", path, body)
    if answer.status != wanted or any(one["status"] != 201 for one in answer.body.get("results", ())):
        raise CreateFailed(f"{answer.status} {str(answer.body)[:500]}")


def _due(one: Job) -> dict[str, object]:
    url, due_at = one
    return {"schedule": {"at": to_text(due_at)}, **job(url)}


if __name__ == "__main__":
    main()
