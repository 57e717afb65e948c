"""Follows the logs of the running server's Lambdas, until Ctrl-C.

python -m local.dev.logs [--once]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from datetime import datetime

from botocore.exceptions import BotoCoreError, ClientError

from local.dev import files
from local.dev.inbox import inert

#: The first look goes back so far.
RECENT_SECONDS = 600
PAUSE_SECONDS = 0.5
#: Lines of the emulator that tell nothing but that a Lambda ran.
_FRAME = ("START RequestId:", "END RequestId:", "REPORT RequestId:")


class Follower:
    """Reads new lines in the logs of all functions, from an instant on (epoch ms)."""

    def __init__(self, facts: files.Facts, since: int) -> None:
        self._logs = facts.client("logs")
        moments = {name: moment for moment, name in facts.functions.items()}
        functions = facts.client("lambda").list_functions()["Functions"]
        self._groups = {one["LoggingConfig"]["LogGroup"]: moments.get(one["FunctionName"], "?") for one in functions}
        self._since = since
        #: How many events of a stream have been read.
        self._read: dict[tuple[str, str], int] = {}

    def new_lines(self) -> Iterator[str]:
        """The lines that have come since the last call, in order of time."""
        found = [event for group in self._groups for event in self._new_in(group)]
        for at, moment, message in sorted(found):
            clock = datetime.fromtimestamp(at / 1000).astimezone().strftime("%H:%M:%S.%f")[:-3]
            yield f"{clock}  {moment:9}  {inert(message)}"

    def _new_in(self, group: str) -> Iterator[tuple[int, str, str]]:
        for stream in self._logs.describe_log_streams(logGroupName=group)["logStreams"]:
            name = stream["logStreamName"]
            events = self._logs.get_log_events(
                logGroupName=group, logStreamName=name, startTime=self._since, startFromHead=True
            )["events"]
            for event in events[self._read.get((group, name), 0) :]:
                if not event["message"].startswith(_FRAME):
                    yield event["timestamp"], self._groups[group], event["message"].rstrip()
            self._read[group, name] = len(events)


def follow(facts: files.Facts, say: Callable[[str], None], *, once: bool) -> None:
    """Print the lines of the last ten minutes, and then new lines until the server ends."""
    follower = Follower(facts, int((time.time() - RECENT_SECONDS) * 1000))
    while True:
        for line in follower.new_lines():
            say(line)
        if once:
            return
        time.sleep(PAUSE_SECONDS)


def main() -> int:
    """Follow the logs of the server of this checkout. Returns 0 at Ctrl-C, 1 if no server runs, or no longer."""
    parser = argparse.ArgumentParser(prog="python -m local.dev.logs", description=__doc__)
    parser.add_argument("--once", action="store_true", help="print what there is, and end")
    parser.add_argument("--folder", type=files.folder, default=files.FOLDER, help="of the server's files (.clockwork)")
    options = parser.parse_args()
    try:
        facts = files.facts(options.folder)
        if not options.once:
            print(f"The emulator's own log is {facts.log}", file=sys.stderr)
        follow(facts, lambda line: print(line, flush=True), once=options.once)
    except KeyboardInterrupt:
        return 0
    except files.NoServer as error:
        print(str(error), file=sys.stderr)
        return 1
    except (BotoCoreError, ClientError) as error:
        print(f"The server no longer answers: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
