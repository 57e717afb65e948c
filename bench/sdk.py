"""CPU of the Python client: of its import, and per create beside requests that are signed and sent by hand.

    importRatio    CPU to import the client and a target, in multiples of that of `json` and `http.client`
    helpRatio      CPU of `clockwork --help`, in multiples of that of the import of `click` and `rich`
    createUs       CPU per `Clockwork.schedule`
    bareSignedUs   CPU per request that botocore signs and urllib3 sends with a timeout, and no more than that

Both ways of creating call a stub in another process, which answers at once with canned bytes. They take turns, and the
least of many turns counts. Each import is a process of its own, and only the CPU since its start counts. Machines
differ, so compare the ratios only.

    python -m bench.sdk [--json] [--docs] [--chunks N]

The last line of standard output is one JSON object; the table goes to standard error.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import urllib3
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from bench.arrivals.quiet import refuse_busy
from bench.reporting.report import publish
from bench.reporting.tables import machine, paragraph
from bench.stubbed.interleaved import Cost, compare
from bench.stubbed.stub import stub
from clockwork_client import Clockwork, http

ROOT = Path(__file__).parents[1]
CHUNKS = 100
RUNS = 30
STARTS = 12
#: The region that requests are signed for, and credentials that the stub does not look at.
REGION, CREDENTIALS = "us-east-1", Credentials("AKIAIOSFODNN7EXAMPLE", "secret")
TIMEOUT_SECONDS = 10.0
TARGET = "https://example.com/hook"
PAYLOAD = {"order": 17, "text": "x" * 150}
CREATED = {
    "jobId": "acDAwMy8xNzAwMDAwMzAwMDAwIzBpZFdJVVVVbUoxc3dBaXBXbzdQNEwvMA",
    "clientId": "acme",
    "state": "SCHEDULED",
    "dueAt": "2027-01-31T09:00:00.250Z",
}
_CPU = "import time; began = time.process_time(); {}; print(time.process_time() - began)"
_HELP = "from clockwork_client.cli import main; main(['--help'], standalone_mode=False)"
PROGRAMS = {
    "import": ("from clockwork_client import Clockwork, http", "import json, http.client"),
    "help": (_HELP, "import click, rich"),
}


def imports(name: str, starts: int = STARTS) -> Cost:
    """The CPU of both programs of a name, ms: that of the client, and what it is measured by."""
    ours, bare = PROGRAMS[name]
    costs = [(_cpu(ours), _cpu(bare)) for _ in range(starts + 1)][1:]
    return Cost(min(one for one, _ in costs) * 1000, min(other for _, other in costs) * 1000)


def _cpu(program: str) -> float:
    ran = subprocess.run([sys.executable, "-c", _CPU.format(program)], check=True, stdout=subprocess.PIPE, text=True)
    return float(ran.stdout.splitlines()[-1])


@contextmanager
def both_ways() -> Iterator[tuple[Callable[[], Any], Callable[[], Any]]]:
    """A create by the client, and the same request signed and sent by hand."""
    with stub({"POST /v1/jobs": CREATED}) as url:
        cw = Clockwork(url, "acme", region=REGION, credentials=CREDENTIALS, timeout=TIMEOUT_SECONDS)
        pool = urllib3.HTTPConnectionPool("127.0.0.1", urlsplit(url).port)

        def ours() -> Any:
            return cw.schedule(http(TARGET), PAYLOAD, in_=300).job_id

        def bare() -> Any:
            body = json.dumps(
                {
                    "clientId": "acme",
                    "schedule": {"delaySeconds": 300},
                    "target": {"type": "http", "url": TARGET},
                    "payload": PAYLOAD,
                }
            )
            headers = {"Content-Type": "application/json", "Idempotency-Key": "order-17"}
            request = AWSRequest("POST", f"{url}/v1/jobs", headers, body)
            SigV4Auth(CREDENTIALS, "execute-api", REGION).add_auth(request)
            signed = dict(request.headers.items())
            # A timeout, as whoever does not want to wait for ever sets one: it costs calls to the system.
            answer = pool.urlopen("POST", "/v1/jobs", body=body, headers=signed, retries=False, timeout=TIMEOUT_SECONDS)
            return json.loads(answer.data)["jobId"]

        try:
            yield ours, bare
        finally:
            cw.close()
            pool.close()


def creates(chunks: int = CHUNKS) -> Cost:
    """The CPU per create of both ways, us."""
    with both_ways() as (ours, bare):
        return compare(ours, bare, 1, chunks, RUNS)


def result(costs: dict[str, Cost]) -> dict[str, float]:
    """The object that is printed as JSON."""
    return {
        "importRatio": round(costs["import"].ratio, 3),
        "helpRatio": round(costs["help"].ratio, 3),
        "createUs": round(costs["create"].ours, 1),
        "bareSignedUs": round(costs["create"].bare, 1),
    }


def page(costs: dict[str, Cost]) -> str:
    """The block in the documentation."""
    named = {
        "import": ("An import takes {} ms", "`json` and `http.client`"),
        "help": ("`clockwork --help` takes {} ms", "`click` and `rich`"),
        "create": ("A create takes {} us", "a request signed by hand"),
    }
    told = []
    for name, (ours, bare) in named.items():
        cells = costs[name].as_cells()
        told.append(f"{ours.format(cells[0])}, {bare} {cells[1]} (ratio {cells[2]}).")
    return paragraph(f"CPU of the client. {' '.join(told)} {machine()}")


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.sdk", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="no table, the JSON alone")
    parser.add_argument(
        "--docs",
        action="store_true",
        help="write the table into docs/performance.md, on a quiet machine",
    )
    parser.add_argument("--chunks", type=int, default=CHUNKS, help=f"turns of each way (default {CHUNKS})")
    options = parser.parse_args(arguments)
    if options.docs:
        refuse_busy()
    costs = {"import": imports("import"), "help": imports("help"), "create": creates(options.chunks)}
    if options.docs or not options.json:
        sys.stderr.write(f"{page(costs)}\n")
        if options.docs:
            publish("sdk", page(costs))
    print(json.dumps(result(costs)))


if __name__ == "__main__":
    main()
