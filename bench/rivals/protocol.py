"""The protocol of the programs in this folder: jobs come in on standard input, deliveries go out as POSTs."""

from __future__ import annotations

import json
import sys
from typing import NamedTuple

import urllib3

#: The most deliveries at once: as many as Clockwork's local stack makes at once.
THREADS = 100
_pool = urllib3.PoolManager(maxsize=THREADS, retries=False, timeout=15)


class Job(NamedTuple):
    """One job: post to `url` at `due_at` (epoch ms)."""

    url: str
    due_at: int


def read_jobs() -> list[Job]:
    """The jobs of the one line on standard input."""
    return [Job(*one) for one in json.loads(sys.stdin.readline())]


def say_ready() -> None:
    """Report that all jobs have been accepted."""
    print("ready", flush=True)


def deliver(url: str) -> None:
    """Do the work of a job: post to its url."""
    _pool.request("POST", url, body=b'{"hello":"world"}', headers={"Content-Type": "application/json"})
