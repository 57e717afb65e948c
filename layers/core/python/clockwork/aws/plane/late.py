"""The watcher that needs botocore, imported when a plane is first watched: no plane of a deployed function is."""

from __future__ import annotations

from typing import Any

from clockwork.aws.plane.watching import Watcher


def announced(client: Any, *, validate: bool) -> Watcher:
    """The watcher that announces a data plane's calls by a client's events."""
    from clockwork.aws.plane.announced import Announced

    return Announced(client, validate=validate)
