"""Runs Temporal's worker, or a client that creates: python temporal_jobs.py client|worker ADDRESS."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
import uuid
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

from protocol import THREADS, deliver
from talk import IN_FLIGHT, Job, serve
from temporal_workflow import Deliver
from temporalio import activity
from temporalio.client import Client
from temporalio.service import RPCError
from temporalio.worker import Worker

QUEUE = "bench"
#: A server that has just been started refuses at first.
START_SECONDS = 50


async def connected(address: str) -> Client:
    """A client of the server, once that answers."""
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            return await Client.connect(address)
        except (RPCError, RuntimeError):
            if time.monotonic() > deadline:
                raise
            await asyncio.sleep(0.2)


async def work(address: str) -> None:
    """Work until ended."""
    client = await connected(address)
    posting = activity.defn(name="deliver")(_post)
    with ThreadPoolExecutor(THREADS) as threads:
        worker = Worker(
            client,
            task_queue=QUEUE,
            workflows=[Deliver],
            activities=[posting],
            activity_executor=threads,
            max_concurrent_activities=THREADS,
        )
        threading.Thread(target=serve, args=(_refuse,), daemon=True).start()
        await worker.run()


async def ready_client(address: str) -> Client:
    """A client, once a workflow has run: that a server is connected to does not mean that it works."""
    client = await connected(address)
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            await client.execute_workflow(Deliver.run, "", id=uuid.uuid4().hex, task_queue=QUEUE)
        except RPCError:
            if time.monotonic() > deadline:
                raise
            await asyncio.sleep(0.2)
        else:
            return client


async def create(client: Client, jobs: Sequence[Job]) -> None:
    """Start a workflow for each job, eight requests at once: there is no call for many."""
    left = iter(jobs)

    async def hand() -> None:
        for url, due_at in left:
            delay = timedelta(milliseconds=max(0, due_at - time.time() * 1000))
            await client.start_workflow(Deliver.run, url, id=url, task_queue=QUEUE, start_delay=delay)

    await asyncio.gather(*(hand() for _ in range(IN_FLIGHT)))


def _post(url: str) -> None:
    deliver(url)


def _refuse(_jobs: Sequence[Job], _together: bool) -> None:
    raise RuntimeError("a worker creates nothing")


def main() -> None:
    """Work, or create what is asked for."""
    role, address = sys.argv[1:]
    if role == "worker":
        asyncio.run(work(address))
        return
    loop = asyncio.new_event_loop()
    client = loop.run_until_complete(ready_client(address))
    serve(lambda jobs, _together: loop.run_until_complete(create(client, jobs)))


if __name__ == "__main__":
    main()
