"""One client among many: a capped client's herd keeps to its cap, another's jobs stay on time, and nothing is lost.

The first two measurements are in virtual time: the shipped flows on the adapters in memory. Service times come from
`bench.arrivals.virtual`, and there are as many deliverer environments as the default account has.

- One client has 5,000 jobs due on one second and a cap of 200 deliveries a second; another has 100 jobs due in the same
  seconds. The other's 99th percentile of lateness stands beside the one that it has alone. There are ten runs, since a
  percentile of a hundred jobs would be chance: the percentile is of all their jobs, the rate the mean of the runs'
  rates.
- 300,000 such jobs, so that slots lie further away than a queue can delay a message (900 s) and are reached in hops.

The third is on the local stack, through its API and to a real receiver: 300 jobs on one second under a cap of 20 a
second.

    python -m bench.herd [--json] [--docs]

A rate is the number of deliveries less one, divided by the time between the first and the last. `early` and `lost`
count all jobs except those of the other client alone. The table goes to standard error, with --docs also into
docs/performance.md; the last line of standard output is one JSON object. About two minutes.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import msgspec

from bench.arrivals.clockwork_run import CLIENT, clockwork, create
from bench.arrivals.herd_flow import Flow, flow_of
from bench.arrivals.target import Target
from bench.arrivals.virtual import VirtualClockwork
from bench.reporting.report import publish
from bench.reporting.tables import machine, table
from clockwork.aws.repeats import batches
from clockwork.domain.clients import Client
from clockwork.domain.requests.create import CreateRequest, NewJob
from clockwork.flows.requests.create import create_jobs
from clockwork.flows.timeline.shards import ensure_shards
from clockwork.settings import Settings
from clockwork.targets.http import HttpTarget
from clockwork.targets.message import Payload

CAP = 200.0
CAPPED = Client(client_id="capped", max_rate_per_second=CAP)
OTHER = Client(client_id="other")
HERD, LONG_HERD, OTHERS = 5_000, 300_000, 100
#: How far ahead jobs are created: too far for a create to start a poller, but within a poller's lookahead.
LEAD_MS = 180_000
RUNS = 10
LARGEST_REQUEST = 500
STACK_JOBS, STACK_CAP, STACK_LEAD_MS = 300, 20.0, 15_000
STACK_PATIENCE_SECONDS = 90
#: Names of the flows in the documentation.
_ALONE, _BESIDE = "another client, alone", "another client, beside the herd"
_CAPPED, _IN_HOPS = f"the herd, capped at {CAP:.0f}/s", f"a longer herd, capped at {CAP:.0f}/s, in hops"
_STACK = f"the local stack, capped at {STACK_CAP:.0f}/s"


def simulate(herd: int, others: int, record: str, seed: int) -> dict[str, Flow]:
    """One run's flow of each client that has jobs: `capped`, whose herd is due on one second, and `other`."""
    virtual = VirtualClockwork(Settings.for_account(), seed)
    due_at, rng = virtual.now + LEAD_MS, random.Random(seed)
    within_ms = int(HERD / CAP * 1000)
    wishes: dict[Client, Sequence[Sequence[int]]] = {
        CAPPED: batches([due_at] * herd, LARGEST_REQUEST),
        OTHER: [[due_at + rng.randrange(within_ms)] for _ in range(others)],
    }
    for client, requests in wishes.items():
        virtual.clockwork.clients.put(client)
        for instants in requests:
            jobs = tuple(_job(index, at, record) for index, at in enumerate(instants))
            create_jobs(virtual.world, CreateRequest(client=client, jobs=jobs), ensure_shards(virtual.world))
    virtual.run(ticks=4)
    made = {CAPPED: herd, OTHER: others}
    return {client.client_id: _flow(virtual, client, count) for client, count in made.items() if count}


def _job(index: int, at: int, record: str) -> NewJob:
    target = HttpTarget("https://example.com/hook")
    return msgspec.convert(
        {"target": target, "payload": Payload(b"{}"), "at": at, "record": record, "index": index}, NewJob
    )


def _flow(virtual: VirtualClockwork, client: Client, made: int) -> Flow:
    deliveries: defaultdict[str, list[int]] = defaultdict(list)
    due_at = {}
    for delivery, at in virtual.began:
        if delivery.occurrence.client_id == client.client_id:
            deliveries[delivery.execution_id].append(at)
            due_at[delivery.execution_id] = delivery.occurrence.due_at
    return flow_of(deliveries, due_at, made)


def together(herd: int, others: int) -> dict[str, Flow]:
    """The flow of each client over several runs with different seeds."""
    flows = simulate(herd, others, "full", 0)
    for seed in range(1, RUNS):
        flows = {name: flow.and_(flows[name]) for name, flow in simulate(herd, others, "full", seed).items()}
    return flows


def measure_stack() -> Flow:
    """The flow of 300 jobs on one instant under a cap of 20 a second, measured on the local stack."""
    with Target() as target, clockwork(target.port) as stack:
        body = {
            "principals": [stack.admin.arn],
            "allowedPrivateTargets": [target.place],
            "maxRatePerSecond": STACK_CAP,
        }
        answer = stack.api().request("PUT", f"/v1/clients/{CLIENT}", body)
        if answer.status != 200:
            raise RuntimeError(f"client: {answer.status} {answer.body}")
        due_at = time.time_ns() // 1_000_000 + STACK_LEAD_MS
        create(stack, [(target.url(number), due_at) for number in range(STACK_JOBS)])
        _await_arrivals(target)
        arrivals = target.arrivals()
    began = {str(number): [int(at) for at in instants] for number, instants in arrivals.items()}
    return flow_of(began, dict.fromkeys(began, due_at), STACK_JOBS)


def _await_arrivals(target: Target) -> None:
    deadline = time.monotonic() + STACK_PATIENCE_SECONDS
    while len(target.arrivals()) < STACK_JOBS and time.monotonic() < deadline:
        time.sleep(0.2)


def measure(say: Callable[[str], object]) -> dict[str, Flow]:
    """All flows by name. Runs in virtual time do not depend on the machine's other work, so they share the cores."""
    flows: dict[str, Flow] = {}
    # Each process is spawned, not forked: a copy of this process would lack its threads.
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as processes:
        in_hops = processes.submit(simulate, LONG_HERD, 0, "none", 0)
        alone = processes.submit(together, 0, OTHERS)
        beside = processes.submit(together, HERD, OTHERS)
        flows[_ALONE] = alone.result()["other"]
        say(f"{OTHERS} jobs of another client alone, {RUNS} times: done\n")
        flows[_BESIDE] = beside.result()["other"]
        flows[_CAPPED] = beside.result()["capped"]
        say(f"{HERD:,} of a capped client beside them, {RUNS} times: done\n")
        flows[_IN_HOPS] = in_hops.result()["capped"]
        say(f"{LONG_HERD:,} of it, whose slots lie further away than a delay: done\n")
    flows[_STACK] = measure_stack()
    return flows


def result(flows: Mapping[str, Flow]) -> dict[str, Any]:
    """The object that is printed as JSON."""
    counted = [flow for name, flow in flows.items() if name != _ALONE]
    return {
        "simulated": {
            "capPerSecond": CAP,
            "ratePerSecond": round(flows[_CAPPED].rate, 1),
            "otherP99Ms": flows[_BESIDE].p99_ms,
            "otherP99AloneMs": flows[_ALONE].p99_ms,
        },
        "stack": {"capPerSecond": STACK_CAP, "ratePerSecond": round(flows[_STACK].rate, 1)},
        "lost": sum(flow.lost for flow in counted),
        "early": sum(flow.early for flow in counted),
    }


def page(flows: Mapping[str, Flow]) -> str:
    """The block in the documentation."""
    heads = ["jobs of", "jobs", "deliveries/s", "most in a second", "p99 ms", "lost", "early", "duplicates"]
    return f"{table(heads, [_row(name, flow) for name, flow in flows.items()])}\n\n{machine()}"


def _row(name: str, flow: Flow) -> list[str]:
    counts = [flow.lost, flow.early, flow.duplicates]
    figures = [f"{len(flow.lateness_ms):,}", f"{flow.rate:.1f}", str(flow.most_in_a_second), f"{flow.p99_ms:,}"]
    return [name, *figures, *map(str, counts)]


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.herd", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="no table, the JSON alone")
    parser.add_argument("--docs", action="store_true", help="write the table into docs/performance.md")
    options = parser.parse_args(arguments)
    say = (lambda _: None) if options.json else sys.stderr.write
    flows = measure(say)
    say(f"{page(flows)}\n")
    if options.docs:
        publish("herd", page(flows))
    print(json.dumps(result(flows)))


if __name__ == "__main__":
    main()
