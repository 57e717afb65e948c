"""CPU until a Lambda is ready for its first event, beside the CPU until botocore alone has one DynamoDB client.

`ours` imports the handler and wires its environment, as Lambda does when it starts one; `bare` makes a session of
botocore and one client. Each start is a process of its own. Both take turns, and the least of many starts counts. Both
have the folders that Lambda has and no others: the function's own, and the layers in the account's form. The layers are
made of wheels, with byte code for the interpreter of this machine.

    python -m bench.cold_start [--json] [--docs] [--starts N]

The last line of standard output is one JSON object, CPU in ms; the table goes to standard error.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence

from bench.arrivals.quiet import refuse_busy
from bench.reporting.report import publish
from bench.reporting.tables import machine, table
from bench.stubbed.interleaved import Cost, as_line
from clockwork.settings import Settings
from infra.packaging.bundle import core, handler, packages
from tests.support.deployed_settings import deployed

STARTS = 12
#: The Lambdas whose cold start makes jobs, or their clients, wait, each with its layers of packages.
MOMENTS = {"poller": ("vendor",), "deliverer": ("vendor",), "api": ("vendor", "edge")}
#: The most CPU of each, in multiples of botocore's.
BOUNDS = {"poller": 0.70, "deliverer": 0.70, "api": 0.75}
_OURS = "import handler"
_BARE = "import botocore.session; botocore.session.get_session().create_client('dynamodb')"


def measure(moment: str, starts: int) -> Cost:
    """The CPU of both kinds of start, ms."""
    costs = [(_cpu(_OURS, moment), _cpu(_BARE, moment)) for _ in range(starts + 1)][1:]
    return Cost(min(ours for ours, _ in costs) * 1000, min(bare for _, bare in costs) * 1000)


def before_first_event(moment: str, statement: str) -> str:
    """The output of a statement in a Lambda's environment that has just been wired."""
    return _start(f"{_OURS}; {statement}", moment)


def _cpu(program: str, moment: str) -> float:
    return float(_start(f"{program}; import time; print(time.process_time())", moment))


def _start(program: str, moment: str) -> str:
    """The output of a program in a new process that has a Lambda's folders and environment variables."""
    layers = [core(local=True), *(packages(layer, architecture=None) for layer in MOMENTS[moment])]
    folders = [str(handler(moment)), *(str(layer / "python") for layer in layers)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "PYTHON"))}
    environment |= deployed(Settings.for_account()).to_environment() | {
        "AWS_LAMBDA_FUNCTION_NAME": "measured",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "x",
        "AWS_SECRET_ACCESS_KEY": "x",
        "PYTHONTZPATH": "",
        "PYTHONPATH": os.pathsep.join(folders),
    }
    # -S: without this environment's packages. -B: Lambda's layers cannot be written to.
    command = [sys.executable, "-S", "-B", "-c", program]
    return subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.cold_start", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="no table, the JSON alone")
    parser.add_argument(
        "--docs",
        action="store_true",
        help="write the table into docs/performance.md, on a quiet machine",
    )
    parser.add_argument("--starts", type=int, default=STARTS, help=f"starts of each (default {STARTS})")
    options = parser.parse_args(arguments)
    if options.docs:
        refuse_busy()
    costs = {moment: measure(moment, options.starts) for moment in MOMENTS}
    rows = [[f"`{moment}`", *cost.as_cells(), f"{BOUNDS[moment]:.2f}"] for moment, cost in costs.items()]
    page = f"{table(['CPU ms until ready', 'Clockwork', 'botocore alone', 'ratio', 'at most'], rows)}\n\n{machine()}"
    if not options.json:
        sys.stderr.write(f"{page}\n")
    if options.docs:
        publish("cold_start", page)
    print(as_line(costs))


if __name__ == "__main__":
    main()
