"""CPU per job of what each Lambda does, beside the botocore calls that the job cannot do without.

`ours` are the flows over the real adapters; `bare` are the calls that they make, recorded, and repeated by a low-level
client of botocore with the same bytes, batches and threads. Both ask a stub in another process that answers at once
with canned bytes, in turns, in this process: the least of many turns counts, in us per job. Machines differ; the
ratio is what can be compared.

    create_single   one job a request: its row, and the look at its shard
    create_batch    500 jobs a request: 20 batches of rows, and the look
    poll_release    a visit to a shard: lease, a page of 500 due rows, 50 batches of messages, commit
    deliver         a batch of 10 messages: 10 claims, targets that accept at once, 10 outcomes

What the API's edge adds for a batch (parse, validate, answer) is said on standard error.

    python -m bench.cpu [--json] [--chunks N]

The last line of standard output is one JSON object; the table goes to standard error.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from functools import partial

from bench.bare import Bare, Recorder
from bench.canned import answers
from bench.interleaved import Cost, as_line, compare
from bench.stub import stub
from bench.stub_world import stub_session, stub_world
from bench.workloads import Workload, workloads

CHUNKS = 25
#: So many jobs a chunk at least, so that the clock's steps do not count.
_RUNS = {"create_single": 20, "create_batch": 1, "poll_release": 1, "deliver": 4}

#: After so many runs an environment has read and leased what it keeps for a while: a job can do without that.
_WARM_UPS = 5


def measure(names: Sequence[str], chunks: int) -> Iterator[tuple[str, Cost]]:
    """The cost of each workload, both ways."""
    wanted = workloads()
    with stub(answers()) as endpoint_url:
        for name in names:
            yield name, _compare(wanted[name], endpoint_url, chunks, _RUNS[name])


def _compare(workload: Workload, endpoint_url: str, chunks: int, runs: int) -> Cost:
    recorder = Recorder(session := stub_session())
    with stub_world(endpoint_url, session) as world:
        for _ in range(_WARM_UPS):
            recorder.calls.clear()
            workload.run(world)
    bare = Bare(stub_session(), endpoint_url)
    try:
        with stub_world(endpoint_url) as world:
            return compare(partial(workload.run, world), bare.replay(recorder.calls), workload.jobs, chunks, runs)
    finally:
        bare.close()


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.cpu", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="no table, the JSON alone")
    parser.add_argument("--chunks", type=int, default=CHUNKS, help=f"turns of each way (default {CHUNKS})")
    options = parser.parse_args(arguments)
    say = (lambda _: None) if options.json else sys.stderr.write
    say(f"{'workload':<16}{'ours':>10}{'bare':>10}{'ratio':>8}  CPU us per job\n")
    costs = {}
    for name, cost in measure(list(_RUNS), options.chunks):
        costs[name] = cost
        say(f"{name:<16}{cost.ours:10.1f}{cost.bare:10.1f}{cost.ratio:8.2f}\n")
    print(as_line(costs))


if __name__ == "__main__":
    main()
