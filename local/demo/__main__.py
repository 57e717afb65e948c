"""Runs the demonstration. Standard output gets one line: the result, as JSON, after everything has been stopped."""

from __future__ import annotations

import argparse
import errno
import json
import random
import shutil
import signal
import subprocess
import sys
from types import FrameType
from typing import NoReturn

from botocore.exceptions import BotoCoreError, ClientError
from urllib3.exceptions import HTTPError

from local.demo.plan import Kind
from local.demo.scene import DemoFailed, scene
from local.demo.screen import Screen
from local.demo.stay import stay
from local.demo.summary import Summary
from local.demo.tour import Tour
from local.deployer import DeployFailed
from local.emulator import EmulatorFailed

FAULTS = (
    DemoFailed,
    DeployFailed,
    EmulatorFailed,
    subprocess.CalledProcessError,
    OSError,
    BotoCoreError,
    ClientError,
    HTTPError,
)
_ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Ended(BaseException):
    """A signal asked the demonstration to end."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def main() -> int:
    """Run the demonstration and print its result as JSON.

    Returns 0 if all went well, 1 if a job did not, 2 if the demonstration could not run, 128 + n if signal n came
    before there was a result.
    """
    parser = argparse.ArgumentParser(prog="python -m local.demo", description=__doc__)
    parser.add_argument("--stay", action="store_true", help="stay up afterwards, until Ctrl-C")
    parser.add_argument("--port", type=int, default=0, help="of the emulator on 127.0.0.1; a free one by default")
    options = parser.parse_args()
    for number in _ENDING_SIGNALS:
        signal.signal(number, _end)
    screen = Screen()
    results: list[Summary] = []
    try:
        _run(screen, options.port, stays=options.stay, results=results)
    except Ended as ended:
        screen.say("Stopped.")
        if not results:
            return 128 + ended.number
    except FAULTS as error:
        screen.say(f"The demonstration cannot run: {_explain(error, options.port)}")
        return 2
    print(json.dumps(results[0].as_json()), flush=True)
    return 0 if results[0].ok else 1


def _run(screen: Screen, port: int, *, stays: bool, results: list[Summary]) -> None:
    if shutil.which("node") is None:
        raise DemoFailed("the CDK needs Node >= 20, and there is no `node` on the PATH")
    with scene(screen, port) as ready:
        tour = Tour(ready, screen)
        summary = tour.run(random.Random())  # noqa: S311 - which job is due when is no secret
        results.append(summary)
        _report(screen, tour, summary)
        if stays:
            stay(ready, screen, next(job for job in tour.jobs if job.planned.kind is Kind.FLAKY))


def _report(screen: Screen, tour: Tour, summary: Summary) -> None:
    for job, fault in summary.faults:
        screen.say(f"Job {job.planned.number} ({job.planned.kind}, {job.planned.channel}) {fault}: {tour.view_of(job)}")
    for path, count in summary.paths.items():
        screen.say(f"  {path.replace('_', ', ')}: {count}")
    verdict = "Every job arrived once, none early." if summary.ok else "Not all went as it must."
    late = summary.lateness
    screen.say(f"{verdict} Late by p50 {late.p50}, p99 {late.p99}, max {late.max} ms.")


def _end(number: int, _: FrameType | None) -> NoReturn:
    """The first signal ends the demonstration; further ones do not disturb its cleaning up."""
    for one in _ENDING_SIGNALS:
        signal.signal(one, signal.SIG_IGN)
    raise Ended(number)


def _explain(error: Exception, port: int) -> str:
    if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
        return f"port {port} of 127.0.0.1 is in use; give another --port, or none"
    if isinstance(error, subprocess.CalledProcessError):
        return "the CDK app failed; what it said is above (is everything there? `make setup`)"
    return str(error)


if __name__ == "__main__":
    sys.exit(main())
