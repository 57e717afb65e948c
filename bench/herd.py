"""One client among many: a capped client's herd keeps to its cap, another's jobs stay on time, and nothing is lost.

In virtual time, with the shipped flows on the adapters in memory, service times as `bench.virtual` says and as many
deliverer environments as an account is made for:

- 5,000 jobs of a client that may have 200 deliveries a second, all due on one second, while another's 100 jobs fall
  due in the same seconds; the other's 99th percentile of lateness beside the one that it has alone. Ten runs, since a
  percentile of a hundred jobs would be chance: their jobs together, and the mean of their rates.
- 300,000 such jobs, so that slots lie further away than a queue can delay a message (900 s) and are reached in hops.

Then on the local stack, through its API and to a real receiver: 300 jobs on one second under a cap of 20 a second.

    python -m bench.herd [--json]

A rate is the number of deliveries but one over the time between the first and the last. `early` and `lost` count all
jobs. The figures go to standard error as text and, as the last line of standard output, as one JSON object. About
three minutes.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from bench.clockwork_run import CLIENT, clockwork, create
from bench.percentiles import percentile
from bench.receiver import Receiver, receiver
from bench.virtual import VirtualClockwork
from clockwork.aws.repeats import batches
from clockwork.domain.clients import Client
from clockwork.domain.jobs import HttpTarget, Payload
from clockwork.domain.requests import CreateRequest, NewJob
from clockwork.flows.create import create_jobs
from clockwork.flows.registry import ensure_shards
from clockwork.settings import Settings

CAP = 200.0
CAPPED = Client(client_id="capped", max_rate_per_second=CAP)
OTHER = Client(client_id="other")
HERD, LONG_HERD, OTHERS = 5_000, 300_000, 100
#: How far ahead jobs are created: beyond where a create starts a poller, within a poller's lookahead.
LEAD_MS = 180_000
RUNS = 10
LARGEST_REQUEST = 500
STACK_JOBS, STACK_CAP, STACK_LEAD_MS = 300, 20.0, 15_000
STACK_PATIENCE_SECONDS = 90


@dataclass(frozen=True, kw_only=True)
class Flow:
    """How the jobs of one client were delivered, perhaps in several runs. `rate`: deliveries a second of each run."""

    rates: Sequence[float]
    most_in_a_second: int
    lateness_ms: Sequence[int]
    lost: int
    duplicates: int

    @property
    def rate(self) -> float:
        """The mean of the runs' rates."""
        return sum(self.rates) / len(self.rates)

    @property
    def early(self) -> int:
        """Deliveries that began before they were due."""
        return sum(ms < 0 for ms in self.lateness_ms)

    @property
    def p99_ms(self) -> int:
        """The 99th percentile of lateness."""
        return int(percentile(sorted(self.lateness_ms), 0.99))

    def and_(self, other: Flow) -> Flow:
        """This and another run together."""
        return Flow(
            rates=[*self.rates, *other.rates],
            most_in_a_second=max(self.most_in_a_second, other.most_in_a_second),
            lateness_ms=[*self.lateness_ms, *other.lateness_ms],
            lost=self.lost + other.lost,
            duplicates=self.duplicates + other.duplicates,
        )


def flow_of(deliveries: Mapping[str, Sequence[int]], due_at: Mapping[str, int], made: int) -> Flow:
    """A flow from the instants (ms) at which each execution was delivered, and those at which it was due."""
    began_at = sorted(at for instants in deliveries.values() for at in instants)
    return Flow(
        rates=[(len(began_at) - 1) * 1000 / (began_at[-1] - began_at[0])],
        most_in_a_second=max(bisect_left(began_at, at + 1000) - first for first, at in enumerate(began_at)),
        lateness_ms=[at - due_at[one] for one, instants in deliveries.items() for at in instants],
        lost=made - len(deliveries),
        duplicates=len(began_at) - len(deliveries),
    )


def simulate(herd: int, others: int, record: str, seed: int) -> dict[str, Flow]:
    """The flow of each client that has jobs: `capped`, whose herd is due on one second, and `other`."""
    virtual = VirtualClockwork(Settings.for_account(), seed)
    due_at, rng = virtual.now + LEAD_MS, random.Random(seed)
    within_ms = int(HERD / CAP * 1000)
    wishes = {
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
    """The flows of several runs, as those of one."""
    flows = simulate(herd, others, "full", 0)
    for seed in range(1, RUNS):
        flows = {name: flow.and_(flows[name]) for name, flow in simulate(herd, others, "full", seed).items()}
    return flows


def measure_stack() -> Flow:
    """300 jobs on one instant under a cap of 20 a second, on the local stack."""
    with receiver() as server, clockwork(server.port) as stack:
        body = {
            "principals": [stack.admin.arn],
            "allowedPrivateTargets": [f"127.0.0.1:{server.port}"],
            "maxRatePerSecond": STACK_CAP,
        }
        answer = stack.api().request("PUT", f"/v1/clients/{CLIENT}", body)
        if answer.status != 200:
            raise RuntimeError(f"client: {answer.status} {answer.body}")
        due_at = time.time_ns() // 1_000_000 + STACK_LEAD_MS
        create(stack, [(server.url(number), due_at) for number in range(STACK_JOBS)])
        _await_arrivals(server)
        arrivals = server.arrivals()
    began = {str(number): [int(at) for at in instants] for number, instants in arrivals.items()}
    return flow_of(began, dict.fromkeys(began, due_at), STACK_JOBS)


def _await_arrivals(server: Receiver) -> None:
    deadline = time.monotonic() + STACK_PATIENCE_SECONDS
    while len(server.arrivals()) < STACK_JOBS and time.monotonic() < deadline:
        time.sleep(0.2)


def _row(name: str, flow: Flow) -> str:
    figures = f"{len(flow.lateness_ms):>8}{flow.rate:>9.1f}{flow.most_in_a_second:>8}{flow.p99_ms:>10}"
    return f"{name:<30}{figures}{flow.lost:>6}{flow.early:>7}{flow.duplicates:>12}\n"


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.herd", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="no table, the JSON alone")
    say = (lambda _: None) if parser.parse_args(arguments).json else sys.stderr.write
    say(f"{'':<30}{'jobs':>8}{'rate/s':>9}{'most/s':>8}{'p99 ms':>10}{'lost':>6}{'early':>7}{'duplicates':>12}\n")
    alone = together(0, OTHERS)["other"]
    say(_row("other, alone", alone))
    both = together(HERD, OTHERS)
    other, capped = both["other"], both["capped"]
    say(_row("other, beside the herd", other) + _row(f"herd, capped at {CAP:.0f}/s", capped))
    hops = simulate(LONG_HERD, 0, "none", 0)["capped"]
    say(_row("the same in hops", hops))
    stack = measure_stack()
    say(_row(f"local stack, capped at {STACK_CAP:.0f}/s", stack))
    rates = {"capPerSecond": CAP, "ratePerSecond": round(capped.rate, 1)}
    flows = (other, capped, hops, stack)
    result = {
        "simulated": {**rates, "otherP99Ms": other.p99_ms, "otherP99AloneMs": alone.p99_ms},
        "stack": {"capPerSecond": STACK_CAP, "ratePerSecond": round(stack.rate, 1)},
        "lost": sum(flow.lost for flow in flows),
        "early": sum(flow.early for flow in flows),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
