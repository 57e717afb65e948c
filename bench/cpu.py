"""CPU per job of each Lambda's work, beside the CPU of the botocore calls that the work cannot do without.

`ours` are the flows over the real adapters and their own data plane. `bare` are their calls, recorded with botocore as
the data plane. A low-level client of botocore repeats them with the same values, batches and threads. Both run in this
process in turns, and call a stub in another process that answers at once with canned bytes. The least of many turns
counts, in us per job. Machines differ, so compare the ratio only.

    create_single   one job a request: its row, and the check of its shard
    create_soon     the same for a job that is due within the horizon: its row is read again, and its message sent
    create_batch    500 jobs a request, each due in a minute of its own: 20 batches of rows, and the check
    create_packed   500 jobs a request, all due in one minute: they share rows, so it is 1 batch, and the check
    poll_release    a visit to a shard: lease, a page of 500 due rows, 52 batches of messages, commit
    deliver         a batch of 10 messages: 10 claims, targets that accept at once, 10 outcomes
    deliver_one     a batch of one message
    deliver_tls     `deliver` with the stub behind TLS

    api_single_whole, api_batch_whole    the same requests, the latter packed, from API Gateway's event to the answer

    deliver_http    ten webhooks over HTTP and TLS on kept connections, signed, on the threads of a deliverer; beside
                    them the same requests by one connection of `http.client`

    floor           the calls of `deliver` as signed bytes over raw sockets: no client can do with less

    python -m bench.cpu [--json] [--docs] [--chunks N]

`instructionRatio` is the ratio of the instructions of both, counted by valgrind: the load of the machine does not move
it. The command exits 1 if valgrind is missing, or if a work makes other calls than those that are pinned for it
(`bench/stubbed/workloads.py`). The last line of standard output is one JSON object; the table goes to standard error.
Packing leaves so little to botocore that the ratio of `create_packed` and of a whole batch says less than the time
itself. With --docs the result is kept, too: `bench.capacity` and the curve of `bench.units` reckon with it.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from bench.arrivals.quiet import refuse_busy
from bench.reporting.report import publish
from bench.reporting.results import keep
from bench.reporting.tables import machine, table
from bench.stubbed.bare import Bare, Calls, Recorder
from bench.stubbed.canned import answers
from bench.stubbed.edge import whole_requests
from bench.stubbed.instructions import Uncounted, count, counted
from bench.stubbed.interleaved import Comparison, Cost, timed
from bench.stubbed.raw import floor, requests_of
from bench.stubbed.stub import stub, tls_stub
from bench.stubbed.stub_world import stub_session, stub_world
from bench.stubbed.webhooks import with_webhooks
from bench.stubbed.workloads import BATCH, CALLS, Unexpected, Workload, workloads

CHUNKS = 31
#: Runs of a workload per chunk: enough that the steps of the CPU clock do not count.
_RUNS = {
    "create_single": 20,
    "create_soon": 20,
    "create_batch": 1,
    "create_packed": 5,
    "poll_release": 1,
    "deliver": 4,
    "deliver_one": 20,
    "api_single_whole": 20,
    "api_batch_whole": 1,
}
#: The works on the page, those that most jobs need; `--json` has all.
SHOWN = frozenset(("create_single", "poll_release", "deliver", "api_single_whole", "api_batch_whole", "deliver_http"))
#: After this many runs an environment has read and leased all that it keeps for a while. The calls for these are not
#: among the calls that a job cannot do without.
_WARM_UPS = 5
#: The argument of the process that valgrind runs.
_COUNTED = "--counted"


def measure(names: Sequence[str], comparison: Comparison) -> Iterator[tuple[str, Cost]]:
    """The cost of each workload, with Clockwork and with botocore alone. Raises Unexpected for other calls."""
    wanted = {**workloads(), **whole_requests()}
    with stub(answers()) as endpoint_url:
        for name in names:
            yield name, _compare(name, wanted[name], endpoint_url, comparison)


def calls_of(workload: Workload, endpoint_url: str, bundle: str | None = None) -> Calls:
    """The calls to AWS of one run of a workload, made with botocore as the data plane so that they can be recorded."""
    recorder = Recorder(session := stub_session(bundle))
    with stub_world(endpoint_url, session) as world:
        for _ in range(_WARM_UPS):
            recorder.calls.clear()
            workload.run(world)
    if not recorder.calls:
        raise Unexpected("a workload without calls has nothing to be compared with")
    return recorder.calls


def check_calls(name: str, calls: Calls) -> None:
    """Raises Unexpected if a workload makes other calls than those that are pinned for it."""
    made = Counter(model.name for model, _ in calls)
    if made != CALLS[name]:
        raise Unexpected(f"{name} makes the calls {dict(made)}, not {dict(CALLS[name])}")


def measure_tls(comparison: Comparison) -> Cost:
    """The cost of a delivery whose calls go over TLS, beside that of botocore over TLS."""
    with tls_stub(answers()) as (endpoint_url, bundle):
        return _compare("deliver", workloads()["deliver"], endpoint_url, comparison, bundle)


def measure_floor(comparison: Comparison) -> Cost:
    """The cost of a delivery's calls over raw sockets, beside that of botocore."""
    workload = workloads()["deliver"]
    with stub(answers()) as endpoint_url:
        calls = calls_of(workload, endpoint_url)
        bare = Bare(stub_session(), endpoint_url)
        try:
            with floor(requests_of(calls, endpoint_url), endpoint_url) as least:
                return comparison(least, bare.replay(calls), workload.jobs, _RUNS["deliver"])
        finally:
            bare.close()


def measure_webhooks(comparison: Comparison) -> Cost:
    """The cost of a webhook as a deliverer sends it, beside that of `http.client` alone."""
    costs: list[Cost] = []
    with_webhooks(lambda ours, bare: costs.append(comparison(ours, bare, BATCH, _RUNS["deliver"])))
    return costs[0]


def measure_all(comparison: Comparison) -> dict[str, Cost]:
    """The cost of every workload, of a webhook, and of the floor."""
    costs = dict(measure(list(_RUNS), comparison))
    costs["deliver_tls"] = measure_tls(comparison)
    return costs | {"deliver_http": measure_webhooks(comparison), "floor": measure_floor(comparison)}


def _compare(
    name: str, workload: Workload, endpoint_url: str, comparison: Comparison, bundle: str | None = None
) -> Cost:
    calls = calls_of(workload, endpoint_url, bundle)
    check_calls(name, calls)
    bare = Bare(stub_session(bundle), endpoint_url)
    try:
        with stub_world(endpoint_url, bundle=bundle) as world:
            return comparison(partial(workload.run, world), bare.replay(calls), workload.jobs, _RUNS[name])
    finally:
        bare.close()


def page(costs: Mapping[str, Cost], ratios: Mapping[str, float]) -> str:
    """The block in the documentation."""
    rows = [[f"`{name}`", *cost.as_cells(), f"{ratios[name]:.3f}"] for name, cost in costs.items() if name in SHOWN]
    heads = ["CPU us per job", "Clockwork", "botocore alone", "ratio", "ratio of instructions"]
    return f"{table(heads, rows)}\n\n{machine()}"


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.cpu", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="no table, the JSON alone")
    parser.add_argument(
        "--docs",
        action="store_true",
        help="write the table into docs/performance.md, on a quiet machine",
    )
    parser.add_argument("--chunks", type=int, default=CHUNKS, help=f"turns of each way (default {CHUNKS})")
    parser.add_argument(_COUNTED, action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.docs:
        refuse_busy()
    if options.counted:
        print(json.dumps({name: cost.as_json() for name, cost in measure_all(count).items()}))
        return
    try:
        costs, counts = measure_all(timed(options.chunks)), counted("bench.cpu", _COUNTED)
    except (Unexpected, Uncounted) as fault:
        sys.exit(f"bench.cpu: {fault}")
    ratios = {name: one["ratio"] for name, one in counts.items()}
    if not options.json:
        sys.stderr.write(f"{page(costs, ratios)}\n")
    result = {name: {**cost.as_json(), "instructionRatio": ratios[name]} for name, cost in costs.items()}
    if options.docs:
        keep("cpu", result)
        publish("cpu", page(costs, ratios))
    print(json.dumps(result))


if __name__ == "__main__":
    main()
