"""The saved state of an emulator, as another emulator can begin from it."""

from __future__ import annotations

import re
from pathlib import Path

#: Addresses of the emulator itself. It finds a queue by its URL, and so by the port at which it once listened.
_OWN = re.compile(
    rb"(https?://(?:[a-z0-9]+\.execute-api\.)?localhost:)[0-9]+(?=/[0-9]{12}/|/_ministack/)"
    rb'|(https://(?:[a-z0-9]+\.execute-api\.)?localhost:)[0-9]+(?=")'
)
#: Data that clients have stored stays unchanged, even where it looks like an address.
_OF_CLIENTS = "dynamodb.json"


def move_to_port(state: Path, port: str) -> None:
    """Let everything in a folder of saved state name this port as the emulator's. Doing so again changes nothing."""
    for path in state.glob("*.json"):
        if path.name == _OF_CLIENTS:
            continue
        before = path.read_bytes()
        after = _OWN.sub(lambda match: (match[1] or match[2]) + port.encode(), before)
        if after != before:
            draft = path.with_suffix(".moved")
            draft.write_bytes(after)
            draft.replace(path)
