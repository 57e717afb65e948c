"""Runs Clockwork's local stack under a load that is created ahead of time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from clockwork.aws.repeats import batches
from clockwork.domain.instants import to_text
from local.stack import LocalStack, say_on_terminal

CLIENT = "bench"
#: All jobs of a request go to one random shard, so it takes several requests to reach all shards.
JOBS_PER_REQUEST = 50


class CreateFailed(Exception):
    """The API refused the client or a job; the message is its answer."""


@contextmanager
def clockwork(receiver_port: int) -> Iterator[LocalStack]:
    """A deployed stack whose client may deliver to the receiver; nothing of it is left at the end.

    Raises CreateFailed if the API refuses the client.
    """
    with LocalStack.start(say=say_on_terminal) as stack:
        stack.deploy()
        body = {"principals": [stack.admin.arn], "allowedPrivateTargets": [f"127.0.0.1:{receiver_port}"]}
        answer = stack.api().request("PUT", f"/v1/clients/{CLIENT}", body)
        if answer.status != 200:
            raise CreateFailed(f"client: {answer.status} {answer.body}")
        yield stack


def create(stack: LocalStack, jobs: Sequence[tuple[str, int]]) -> None:
    """Create jobs of (url, due instant in ms), recorded in full, in batches. Raises CreateFailed."""
    api = stack.api()
    for some in batches(jobs, JOBS_PER_REQUEST):
        body = {"clientId": CLIENT, "jobs": [_due(url, due_at) for url, due_at in some]}
        answer = api.request("POST", "/v1/jobs/batch", body)
        refused = [one for one in answer.body["results"] if one["status"] != 201] if answer.status == 200 else [answer]
        if refused:
            raise CreateFailed(f"{len(refused)} of {len(some)} jobs: {refused[0]}")


def _due(url: str, due_at: int) -> dict[str, object]:
    return {"schedule": {"at": to_text(due_at)}, **job(url)}


def job(url: str) -> dict[str, object]:
    """A job without its schedule, recorded in full."""
    return {
        "target": {"type": "http", "url": url},
        "payload": {"hello": "world"},
        "record": "full",
    }
