"""The console beside the development server: a process of its own, which ends with the server, however that ends.

`python -m local.dev.console PORT` is that process. It reads lines from standard input, and ends when there are no more:
its other side is the server, which passes on what is typed in its terminal.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from threading import Thread

from clockwork_client import Clockwork, NotConfigured
from clockwork_client.console.context import Context
from clockwork_client.console.serving import HOST, listen, serve
from clockwork_client.console.sessions import Sessions

#: The console listens so many ports further on than the server, or at a free one.
CONSOLE_OFFSET = 5
_STOP_SECONDS = 5.0
#: Settings of the user's own account, which are not for this server.
_OF_OTHERS = ("AWS_PROFILE", "AWS_SESSION_TOKEN")


@contextmanager
def console(environment: Mapping[str, str], port: int, say: Callable[[str], None]) -> Iterator[str]:
    """Run the console of this environment. Yields what it says first, which has its link; the rest goes to `say`."""
    inherited = {name: value for name, value in os.environ.items() if name not in _OF_OTHERS}
    process = subprocess.Popen(
        [sys.executable, "-m", "local.dev.console", str(free_from(port))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
        env={**inherited, **environment},
        start_new_session=True,  # Ctrl-C is for the server, which ends this process in turn
    )
    assert process.stdout is not None
    reader = Thread(target=_pass_on, args=(process.stdout, say), daemon=True)
    try:
        first = process.stdout.readline().strip() or "the console did not start"
        if "token=" in first:
            process.stdout.readline()  # how to get another link, which the server tells by itself
        reader.start()
        if sys.stdin is not None and sys.stdin.isatty():
            Thread(target=_type, args=(process,), daemon=True).start()
        yield first
    finally:
        _stop(process)
        reader.join(_STOP_SECONDS)
        process.stdout.close()


def free_from(port: int) -> int:
    """This port of 127.0.0.1, or any free one if it is taken."""
    try:
        listener = socket.create_server((HOST, port))
    except OSError:
        listener = socket.create_server((HOST, 0))
    with listener:
        found: int = listener.getsockname()[1]
        return found


def _pass_on(lines: Iterator[str], say: Callable[[str], None]) -> None:
    for line in lines:
        say(line.rstrip())


def _type(process: subprocess.Popen[str]) -> None:
    """Pass on the lines that are typed in the server's terminal."""
    assert process.stdin is not None
    with suppress(OSError, ValueError):  # the console has ended
        for line in sys.stdin:
            process.stdin.write(line)


def _stop(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    with suppress(OSError):
        process.stdin.close()
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _until_closed() -> Iterator[str]:
    """The lines of standard input. After the last one this process ends as by a signal."""
    yield from sys.stdin
    os.kill(os.getpid(), signal.SIGTERM)


def main(port: int) -> None:
    """Serve until standard input is closed."""
    try:
        cw, reading = Clockwork(), Clockwork(deadline=4)
    except NotConfigured as error:
        print(f"the console did not start: {error}", flush=True)
        return
    with listen(port) as listener:
        context = Context(cw, Sessions(listener.getsockname()[1]), reading=reading)
        with suppress(KeyboardInterrupt):
            serve(listener, context, lambda line: print(line, flush=True), opens=False, keys=_until_closed())


if __name__ == "__main__":
    main(int(sys.argv[1]))
