"""The parts of a data plane that are rarely needed, imported when they first are.

No plane of a deployed function is watched, and its services give plain answers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clockwork.aws.plane.watching import Watcher
from clockwork.aws.plane.wire.plain import Answer


def announced(client: Any, *, validate: bool) -> Watcher:
    """The watcher that announces a data plane's calls by a client's events. It needs botocore."""
    from clockwork.aws.plane.announced import Announced

    return Announced(client, validate=validate)


def read_odd(received: bytes, receive: Callable[[int], bytes], most_bytes: int) -> tuple[Answer, bool]:
    """An answer that is not plain, and whether another one may come on its connection. It needs `http.client`."""
    from clockwork.aws.plane.wire import odd

    return odd.read_odd(received, receive, most_bytes)
