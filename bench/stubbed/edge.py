"""Requests to the API as API Gateway hands them over: the edge parses and validates them, and writes the answer."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from bench.stubbed.canned import CLIENT, PRINCIPAL, TARGET
from bench.stubbed.workloads import DELAY_MS, REQUEST, Unexpected, Workload, create_request
from clockwork.bootstrap import App, Handler, noting
from clockwork.domain.requests.create import NewJob
from clockwork.flows.world import World
from clockwork.handlers.api import make_handler
from tests.support.events import LambdaContext


def whole_requests() -> dict[str, Workload]:
    """Requests of the api Lambda from its event to its answer, by name. They raise Unexpected if a job is refused."""
    jobs = _bodies(create_request(REQUEST).jobs)
    return {
        "api_single_whole": _asking("/v1/jobs", {"clientId": CLIENT, **jobs[0]}, 1, 201, '"state":"SCHEDULED"'),
        "api_batch_whole": _asking("/v1/jobs/batch", {"clientId": CLIENT, "jobs": jobs}, REQUEST, 200, '"status":201'),
    }


def _asking(path: str, body: object, jobs: int, status: int, each: str) -> Workload:
    event = _event(path, body)
    handlers: dict[int, Handler] = {}

    def run(world: World) -> None:
        if id(world) not in handlers:
            app = _Silent(world)
            handlers[id(world)] = noting(app, make_handler(app))
        answer = handlers[id(world)](event, LambdaContext())
        if answer["statusCode"] != status or answer["body"].count(each) != jobs:
            raise Unexpected(f"the API answers {answer['statusCode']}: {answer['body'][:500]}")

    return Workload(jobs, run)


class _Silent(App, frozen=True):
    """An app that drops its metrics: standard output is for the result."""

    def emit(self, metrics: Mapping[str, Any], **properties: object) -> None:
        pass


def _bodies(jobs: Sequence[NewJob]) -> list[dict[str, Any]]:
    """The jobs as a client sends them."""
    return [
        {
            "schedule": {"delaySeconds": DELAY_MS / 1000},
            "target": {"type": "http", "url": TARGET.url},
            "payload": json.loads(job.payload.body),
        }
        for job in jobs
    ]


def _event(path: str, body: object) -> dict[str, Any]:
    """A request as API Gateway hands it over (payload format 2.0)."""
    return {
        "version": "2.0",
        "rawPath": path,
        "rawQueryString": "",
        "headers": {},
        "requestContext": {
            "stage": "$default",
            "http": {"method": "POST", "path": path},
            "authorizer": {"iam": {"userArn": PRINCIPAL}},
        },
        "body": json.dumps(body),
        "isBase64Encoded": False,
    }
