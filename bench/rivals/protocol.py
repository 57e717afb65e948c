"""What the programs of this folder have in common: jobs come in on standard input, deliveries go out as POSTs."""

from __future__ import annotations

import json
import sys
from typing import NamedTuple

import urllib3

#: Deliveries at once: as many as Clockwork's local stack has under way at the most.
THREADS = 100
_pool = urllib3.PoolManager(maxsize=THREADS, retries=False, timeout=15)


class Job(NamedTuple):
    """Post to `url` at `due_at` (epoch ms)."""

    url: str
    due_at: int


def read_jobs() -> list[Job]:
    """The jobs of the one line on standard input."""
    return [Job(*one) for one in json.loads(sys.stdin.readline())]


def say_ready() -> None:
    """All jobs have been accepted."""
    print("ready", flush=True)


def deliver(url: str) -> None:
    """What each job does."""
    _pool.request("POST", url, body=b'{"hello":"world"}', headers={"Content-Type": "application/json"})
