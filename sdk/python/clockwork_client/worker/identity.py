"""How a worker names itself and its handlers, by the rules of the API, which refuses every claim under other names."""

from __future__ import annotations

import os
import re
import secrets
import socket
from collections.abc import Collection

WORKER_ID = re.compile(r"[\x21-\x7e]{1,128}")
HANDLER = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}")
MOST_HANDLERS = 200


def new_worker_id() -> str:
    """Host, process and chance."""
    host = re.sub(r"[^\x21-\x7e]", "-", socket.gethostname())[:64]
    return f"{host}-{os.getpid()}-{secrets.token_hex(3)}"


def check(worker_id: str, handlers: Collection[str]) -> None:
    """Raise ValueError if the API would refuse the claims of such a worker."""
    if not WORKER_ID.fullmatch(worker_id):
        raise ValueError(f"the worker id {worker_id!r} is not 1 to 128 visible characters of ASCII")
    for name in handlers:
        if not HANDLER.fullmatch(name):
            raise ValueError(f"the handler {name!r} is not named as handlers are: {HANDLER.pattern}")
    if len(handlers) > MOST_HANDLERS:
        raise ValueError(f"there are {len(handlers)} handlers; a worker has up to {MOST_HANDLERS}")
