"""Runs the console on 127.0.0.1 until Ctrl-C, and opens it in a browser by a one-time link."""

from __future__ import annotations

import errno
import html
import os
import socket
import sys
import tempfile
import webbrowser
from collections.abc import Callable, Iterable
from pathlib import Path
from threading import Thread

import uvicorn

from clockwork_client.console.app import application
from clockwork_client.console.context import Context
from clockwork_client.console.guard import ENTER
from clockwork_client.console.sessions import Sessions
from clockwork_client.errors import NotConfigured

HOST = "127.0.0.1"
PORT = 4785
#: Connections at one time: a browser opens a handful.
_MOST_CONNECTIONS = 64


def listen(port: int) -> socket.socket:
    """A socket of this machine alone; 0 takes a free port. Raises NotConfigured if another program has the port."""
    try:
        return socket.create_server((HOST, port))
    except OSError as error:
        if error.errno not in (errno.EADDRINUSE, errno.EACCES):
            raise
        raise NotConfigured(f"port {port} of {HOST} is another program's: choose one with --port") from None


def link(sessions: Sessions, port: int) -> str:
    """A new one-time link."""
    return f"http://{HOST}:{port}{ENTER}?token={sessions.new_link()}"


def serve(
    listener: socket.socket, context: Context, say: Callable[[str], None], *, opens: bool, keys: Iterable[str] | None
) -> None:
    """Serve until a signal. `say` prints a line, and a line `p` in `keys` asks for another link.

    `opens`: the link goes to a browser, and is printed only if none opens.
    """
    port = listener.getsockname()[1]
    first = link(context.sessions, port)
    file = open_in_browser(first) if opens else None
    say(f"The console of {context.cw.url} is {'open in your browser' if file else f'at {first}'}")
    say("A link works once. Press p and Enter for another one, Ctrl-C to end.")
    if keys is not None:
        Thread(target=_read_keys, args=(keys, context.sessions, port, say), daemon=True).start()
    try:
        uvicorn.Server(_config(context, port)).run(sockets=[listener])
    finally:
        if file is not None:
            file.unlink(missing_ok=True)
        context.source.close()


def _config(context: Context, port: int) -> uvicorn.Config:
    return uvicorn.Config(
        application(context, port),
        http="h11",
        ws="none",
        loop="asyncio",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        limit_concurrency=_MOST_CONNECTIONS,
        timeout_graceful_shutdown=2,
    )


def open_in_browser(url: str) -> Path | None:
    """Open a link in a browser, if one opens. The answer is a file of this user, which the caller deletes in the end.

    All users of a machine see its command lines. The browser therefore gets the name of a file that leads to the link.
    """
    handle, name = tempfile.mkstemp(prefix="clockwork-console-", suffix=".html")
    leads = f'<meta http-equiv="refresh" content="0;url={html.escape(url)}">'
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(f'<!doctype html><meta charset="utf-8"><title>Clockwork</title>{leads}')
    try:
        opened = webbrowser.open(Path(name).as_uri())
    except webbrowser.Error:
        opened = False
    if opened:
        return Path(name)
    Path(name).unlink()
    return None


def _read_keys(keys: Iterable[str], sessions: Sessions, port: int, say: Callable[[str], None]) -> None:
    for line in keys:
        if line.strip().lower() == "p":
            say(link(sessions, port))


def from_terminal() -> Iterable[str] | None:
    """The lines that a user types, if there is one."""
    return sys.stdin if sys.stdin is not None and sys.stdin.isatty() else None
