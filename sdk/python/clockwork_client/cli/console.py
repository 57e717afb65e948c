"""`clockwork console`: a browser's view of one Clockwork, on this machine alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from clockwork_client.errors import NotConfigured

if TYPE_CHECKING:
    from clockwork_client.cli.state import State

#: For all tries of a call of a page. A reader who waits longer loads the page again.
_READING_SECONDS = 4.0


@click.command()
@click.option("--port", type=click.IntRange(1, 65535), default=4785, help="On 127.0.0.1 (4785).")
@click.option("--read-only", is_flag=True, help="Without what changes something.")
@click.option("--no-open", is_flag=True, help="Print the link, and open no browser.")
@click.pass_obj
def console(state: State, port: int, read_only: bool, no_open: bool) -> None:
    """Show jobs and their executions in a browser, until Ctrl-C.

    The console listens on 127.0.0.1, and acts with your AWS credentials. Pages are open to whoever has the link that it
    prints, once.
    """
    from clockwork_client.client import Clockwork

    try:
        from clockwork_client.console.context import Context
        from clockwork_client.console.serving import from_terminal, listen, serve
        from clockwork_client.console.sessions import Sessions
    except ImportError as error:
        raise NotConfigured(
            f"the console needs more packages: pip install 'clockwork-client[console]' ({error})"
        ) from None
    reading = Clockwork(**{**state.settings, "deadline": _READING_SECONDS})
    with listen(port) as listener:
        context = Context(
            state.cw,
            Sessions(listener.getsockname()[1]),
            is_read_only=read_only,
            profile=state.settings.get("profile"),
            reading=reading,
        )
        serve(listener, context, lambda line: click.echo(line, err=True), opens=not no_open, keys=from_terminal())
