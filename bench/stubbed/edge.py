"""Measures the CPU that the API's edge adds to a batch: it parses and validates the request, and writes the answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from typing import Any

from bench.stubbed.canned import CLIENT, NOW, PARTITION, TARGET
from bench.stubbed.interleaved import cheapest
from bench.stubbed.workloads import DELAY_MS, REQUEST, Unexpected, create_request
from clockwork.bootstrap import App
from clockwork.domain.clients import Client
from clockwork.flows.requests.create import create_jobs
from clockwork.handlers.api import make_handler
from clockwork.memory.world import MemoryClockwork
from clockwork.settings import Settings

_PRINCIPAL = "arn:aws:iam::111111111111:user/caller"


def edge_us_per_job(chunks: int) -> float:
    """CPU us per job of a batch, without the CPU of the flow itself. Both run over the ports in memory.

    Raises Unexpected if the API refuses a job.
    """
    clockwork = MemoryClockwork(Settings.for_local().with_(shards=1))
    clockwork.clock.at = NOW
    clockwork.clients.put(Client(client_id=CLIENT, principals=(_PRINCIPAL,)))
    handle = make_handler(_Silent(clockwork.world))
    event = _event(create_request(REQUEST).jobs)

    def ask() -> None:
        answer = handle(event, None)
        if answer["statusCode"] != 200 or answer["body"].count('"status":201') != REQUEST:
            raise Unexpected(f"the API answers {answer['statusCode']}: {answer['body'][:500]}")

    flow = partial(create_jobs, clockwork.world, create_request(REQUEST), [PARTITION])
    whole, inner = cheapest([ask, flow], chunks)
    return (whole - inner) * 1e6 / REQUEST


class _Silent(App):
    """An app that drops its metrics: standard output is for the result."""

    def emit(self, metrics: Mapping[str, Any], **properties: object) -> None:
        pass


def _event(jobs: Any) -> dict[str, Any]:
    """The batch as a client sends it and API Gateway hands it over (payload format 2.0)."""
    wanted = [
        {
            "schedule": {"delaySeconds": DELAY_MS / 1000},
            "target": {"type": "http", "url": TARGET.url},
            "payload": json.loads(job.payload.body),
        }
        for job in jobs
    ]
    return {
        "version": "2.0",
        "rawPath": "/v1/jobs/batch",
        "rawQueryString": "",
        "headers": {},
        "requestContext": {
            "stage": "$default",
            "http": {"method": "POST", "path": "/v1/jobs/batch"},
            "authorizer": {"iam": {"userArn": _PRINCIPAL}},
        },
        "body": json.dumps({"clientId": CLIENT, "jobs": wanted}),
        "isBase64Encoded": False,
    }
