"""The command `clockwork`. Its parts are imported only when it runs; `click` and `rich` come with the extra `cli`."""

from __future__ import annotations

import sys
from typing import Any


def main(args: list[str] | None = None, **settings: Any) -> Any:
    """Run the command line and exit with its status."""
    try:
        import click  # noqa: F401
    except ImportError:
        print("clockwork needs more packages: pip install 'clockwork-client[cli]'", file=sys.stderr)
        sys.exit(2)
    from clockwork_client.cli.app import clockwork

    return clockwork.main(args, prog_name="clockwork", **settings)
