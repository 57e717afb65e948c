"""Runs the demonstration on a server of its own. Standard output gets one line: the result, as JSON, at the end."""

from __future__ import annotations

import argparse
import json
import sys

from local import broker
from local.demo.play import play
from local.demo.screen import Screen
from local.demo.summary import Summary
from local.dev.faults import FAULTS, Ended, explain, raise_on_signals
from local.dev.server import server


def main() -> int:
    """Run the demonstration and print its result as JSON.

    Returns 0 if all went well, 1 if a job did not, 2 if the demonstration could not run, 128 + n if signal n came
    before there was a result.
    """
    argparse.ArgumentParser(prog="python -m local.demo", description=__doc__).parse_args()
    screen = Screen()
    raise_on_signals(screen.say, "for the emulator and its Lambdas")
    results: list[Summary] = []
    try:
        # At a free port, so that it runs beside a development server.
        with server(screen, kafka=broker.program() is not None) as ready:
            results.append(play(screen, ready))
    except Ended as ended:
        screen.say("Stopped.")
        if not results:
            return 128 + ended.number
    except FAULTS as error:
        screen.say(f"The demonstration cannot run: {explain(error)}")
        return 2
    print(json.dumps(results[0].as_json()), flush=True)
    return 0 if results[0].ok else 1


if __name__ == "__main__":
    sys.exit(main())
