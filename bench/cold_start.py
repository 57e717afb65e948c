"""CPU until a Lambda is ready for its first event, beside what botocore alone needs until it has one DynamoDB client.

`ours` imports the handler and wires its environment, as Lambda does when it starts one; `bare` makes a session of
botocore and one client. Each start is a process of its own, in turns, and the least of many counts. Bytecode is
cached, as it is in a Lambda's layers.

    python -m bench.cold_start [--json] [--starts N]

The last line of standard output is one JSON object, CPU in ms; the table goes to standard error.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.interleaved import Cost, as_line
from clockwork.settings import Settings

ROOT = Path(__file__).parents[1]
STARTS = 12
#: The Lambdas that jobs wait for.
MOMENTS = ("poller", "deliverer")
_OURS = "import handler"
_BARE = "import botocore.session; botocore.session.get_session().create_client('dynamodb')"
_TELL = "; import time; print(time.process_time())"


def measure(moment: str, starts: int) -> Cost:
    """The CPU of both, ms."""
    folders = [str(ROOT / "lambdas" / moment), str(ROOT / "layers/core/python")]
    costs = [(_start(_OURS, folders), _start(_BARE, [])) for _ in range(starts + 1)][1:]
    return Cost(min(ours for ours, _ in costs) * 1000, min(bare for _, bare in costs) * 1000)


def _start(program: str, folders: Sequence[str]) -> float:
    """The CPU seconds of a new process that runs the program in the environment of a Lambda."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "PYTHON"))}
    environment |= Settings.for_account().to_environment() | {
        "AWS_LAMBDA_FUNCTION_NAME": "measured",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "x",
        "AWS_SECRET_ACCESS_KEY": "x",
        "PYTHONTZPATH": "",
        "PYTHONPATH": os.pathsep.join(folders),
    }
    command = [sys.executable, "-c", program + _TELL]
    return float(subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout)


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.cold_start", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="no table, the JSON alone")
    parser.add_argument("--starts", type=int, default=STARTS, help=f"starts of each (default {STARTS})")
    options = parser.parse_args(arguments)
    say = (lambda _: None) if options.json else sys.stderr.write
    say(f"{'Lambda':<16}{'ours':>10}{'bare':>10}{'ratio':>8}  CPU ms until ready\n")
    costs = {}
    for moment in MOMENTS:
        costs[moment] = cost = measure(moment, options.starts)
        say(f"{moment:<16}{cost.ours:10.1f}{cost.bare:10.1f}{cost.ratio:8.2f}\n")
    print(as_line(costs))


if __name__ == "__main__":
    main()
