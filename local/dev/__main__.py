"""Runs the development server until Ctrl-C. Everything it says goes to standard error."""

from __future__ import annotations

import argparse
import errno
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from local.demo.play import play
from local.demo.screen import Screen
from local.dev import files
from local.dev.address import INBOX_OFFSET, PORT
from local.dev.announce import announcement
from local.dev.console import CONSOLE_OFFSET, console
from local.dev.faults import FAULTS, Ended, explain, raise_on_signals
from local.dev.inbox import Inbox
from local.dev.page import page_of
from local.dev.running import Server
from local.dev.server import BROKER_OFFSET, server
from local.fixed_address import PAGE


def main() -> int:
    """Run the server. Returns 0 after a signal, 2 if it cannot start or cannot save its state."""
    options = _options()
    screen = Screen()
    saving = f", which saves its jobs in {options.state}" if options.state else ""
    raise_on_signals(screen.say, f"for the emulator and its Lambdas{saving}")
    began = time.monotonic()
    try:
        files.check_alone(options.folder)
        with (
            server(screen, port=options.port, state=options.state, kafka=options.kafka) as ready,
            _inbox(ready, screen) as inbox,
            files.written(options.folder, ready, inbox, options.state),
            console(files.environment_of(ready), ready.port + CONSOLE_OFFSET, screen.say) as pages,
        ):
            took = time.monotonic() - began
            (ready.stack.emulator.folder / PAGE).write_text(page_of(ready, inbox, pages))
            screen.say(announcement(ready, inbox, pages, options.folder, seconds=took, state=options.state))
            if options.tour:
                play_tour(screen, ready)
            screen.say("\nWhat arrives in the inbox shows here:")
            threading.Event().wait()
    except Ended:
        screen.say(f"Ended.{f' Its jobs are in {options.state}.' if options.state else ''}")
    except FAULTS as error:
        screen.say(f"The server cannot run: {explain(error)}")
        return 2
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m local.dev", description=__doc__)
    parser.add_argument("--port", type=_port, default=PORT, help=f"on 127.0.0.1 ({PORT})")
    parser.add_argument("--state", type=files.folder, help="a folder that keeps jobs over restarts")
    parser.add_argument("--kafka", action="store_true", help="with a Kafka broker, in memory, beside it")
    parser.add_argument("--tour", action="store_true", help="play the demonstration's jobs through it")
    parser.add_argument("--folder", type=files.folder, default=files.FOLDER, help="for its files (.clockwork)")
    return parser.parse_args()


def _port(text: str) -> int:
    port = int(text)
    if not 0 <= port <= 65_535 - BROKER_OFFSET:
        raise argparse.ArgumentTypeError(f"give a port from 1 to {65_535 - BROKER_OFFSET}")
    return port


@contextmanager
def _inbox(ready: Server, screen: Screen) -> Iterator[str]:
    """The URL of a running inbox, at a port that follows from the server's, or at a free one."""
    try:
        inbox = Inbox(ready.port + INBOX_OFFSET, screen.say)
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
        inbox = Inbox(0, screen.say)
    with inbox:
        yield f"http://{inbox.place}"


def play_tour(screen: Screen, ready: Server) -> None:
    """Play the tour. A tour that fails prints the reason, and the server stays up."""
    try:
        play(screen, ready)
    except FAULTS as error:
        screen.say(f"The tour failed: {explain(error)}. The server stays up.")


if __name__ == "__main__":
    sys.exit(main())
