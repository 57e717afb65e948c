"""Takes the fixed address, or finds the owner of that address."""

from __future__ import annotations

import errno
import socket
from pathlib import Path

import urllib3

from local.dev.faults import ServerFailed

#: Chosen once, and free on most machines.
PORT = 4780
#: The receiver of first tries listens so many ports further on.
INBOX_OFFSET = 10
#: The time that a busy server may take to name its checkout. Without a server the refusal comes at once.
ANSWER_SECONDS = 10


def take(port: int, here: Path) -> socket.socket:
    """A socket that listens on 127.0.0.1 at this port, 0 for any free one. Raises ServerFailed."""
    try:
        return socket.create_server(("127.0.0.1", port))
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
        raise ServerFailed(_why(port, here)) from None


def _why(port: int, here: Path) -> str:
    owner = owner_of(port)
    if owner is not None and Path(owner["folder"]) == here:
        return f"This checkout's server already runs at http://127.0.0.1:{port} (process {owner['process']})."
    who = f"the server of {owner['folder']} (process {owner['process']})" if owner else "another program"
    return f"Port {port} of 127.0.0.1 belongs to {who}. To run beside it: make dev PORT={port + 1}"


def owner_of(port: int) -> dict[str, str] | None:
    """The folder and the process of the development server at a port; None if it is none, or does not answer."""
    try:
        with urllib3.PoolManager(retries=False, timeout=ANSWER_SECONDS) as pool:
            told = pool.request("GET", f"http://127.0.0.1:{port}/_").json()["developmentServer"]
            return {"folder": str(told["folder"]), "process": str(int(told["process"]))}
    except (urllib3.exceptions.HTTPError, ValueError, KeyError, TypeError):
        return None
