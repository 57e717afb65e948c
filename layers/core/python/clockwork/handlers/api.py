"""The api Lambda: answers the signed HTTPS requests of clients."""

from __future__ import annotations

from clockwork import bootstrap
from clockwork.edge.app import make_api


def make_handler(app: bootstrap.App) -> bootstrap.Handler:
    """The handler of one environment."""
    return make_api(app.world, count=app.emit)


lambda_handler = bootstrap.entry_point(make_handler)
