"""Jobs per second and core, and the CPU per due job when more and more other jobs are pending.

    stub       the flows over the real adapters, against canned answers: create (single, batch) and poll + release
    memory     the flows over the ports in memory: Clockwork's own CPU, without AWS
    pending    a visit to a shard that finds 1,000 due jobs among 1e3 to 1e6 pending ones, in memory: CPU us per due job
    growth     the dearest of these, in multiples of the cheapest: at 1, jobs that are not due cost nothing

One core is one second of CPU of all threads of this process.

    python -m bench.throughput [--json] [--docs] [--chunks N]

The last line of standard output is one JSON object; the table goes to standard error.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from functools import partial

from bench.arrivals.quiet import refuse_busy
from bench.reporting.report import publish
from bench.reporting.tables import machine, paragraph
from bench.stubbed.canned import NOW, PARTITION, answers, due_rows
from bench.stubbed.interleaved import Work, cheapest
from bench.stubbed.pending import pending, polls
from bench.stubbed.stub import stub
from bench.stubbed.stub_world import stub_world
from bench.stubbed.workloads import workloads
from clockwork.flows.world import World
from clockwork.memory.timeline import MemoryTimeline
from clockwork.memory.world import MemoryClockwork

CHUNKS = 15
PENDING = (1_000, 10_000, 100_000, 1_000_000)
DUE = 1_000
_WAYS = ("create_single", "create_batch", "poll_release")


def on_stub(chunks: int) -> dict[str, float]:
    """Jobs per second of CPU by workload, over the real adapters against the stub."""
    with stub(answers()) as endpoint_url, stub_world(endpoint_url) as world:
        wanted = workloads()
        costs = cheapest([partial(wanted[name].run, world) for name in _WAYS], chunks)
        return {name: wanted[name].jobs / cost for name, cost in zip(_WAYS, costs, strict=True)}


def in_memory(chunks: int) -> dict[str, float]:
    """Jobs per second of CPU by workload, over the ports in memory."""
    wanted = workloads()
    timeline = MemoryTimeline()
    timeline.put(due_rows(wanted["poll_release"].jobs))
    works: list[Work] = [partial(wanted[name].run, _fresh()) for name in _WAYS[:2]]
    costs = cheapest([*works, polls(timeline)], chunks)
    return {name: wanted[name].jobs / cost for name, cost in zip(_WAYS, costs, strict=True)}


def among_pending(counts: Sequence[int], chunks: int) -> dict[int, float]:
    """CPU us per due job, by the number of pending jobs."""
    costs = cheapest([polls(pending(count, DUE)) for count in counts], chunks)
    return {count: cost * 1e6 / DUE for count, cost in zip(counts, costs, strict=True)}


def growth(costs: Mapping[int, float]) -> float:
    """The dearest of the costs, in multiples of the cheapest."""
    return max(costs.values()) / min(costs.values())


def _fresh() -> World:
    clockwork = MemoryClockwork()
    clockwork.clock.at = NOW
    clockwork.shards.register(PARTITION)
    return clockwork.world


def page(stubbed: Mapping[str, float], memory: Mapping[str, float], costs: Mapping[int, float]) -> str:
    """The block in the documentation."""
    rates = ", ".join(f"`{name}` {stubbed[name]:,.0f} ({memory[name]:,.0f} in memory)" for name in _WAYS)
    least, most = min(costs), max(costs)
    return paragraph(
        f"Jobs per second and core: {rates}. A due job among {least:,} pending ones takes {costs[least]:.2f} us, among "
        f"{most:,} {costs[most]:.2f} us; dearest / cheapest {growth(costs):.2f}. {machine()}"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.throughput", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="no table, the JSON alone")
    parser.add_argument(
        "--docs",
        action="store_true",
        help="write the table into docs/performance.md, on a quiet machine",
    )
    parser.add_argument("--chunks", type=int, default=CHUNKS, help=f"turns of each (default {CHUNKS})")
    options = parser.parse_args(arguments)
    if options.docs:
        refuse_busy()
    stubbed, memory = on_stub(options.chunks), in_memory(options.chunks)
    costs = among_pending(PENDING, options.chunks)
    if not options.json:
        sys.stderr.write(page(stubbed, memory, costs) + "\n")
    if options.docs:
        publish("throughput", page(stubbed, memory, costs))
    result = {
        "stub": {name: round(rate) for name, rate in stubbed.items()},
        "memory": {name: round(rate) for name, rate in memory.items()},
        "pending": {str(count): round(cost, 2) for count, cost in costs.items()},
        "growth": round(growth(costs), 3),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
