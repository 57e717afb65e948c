"""The progress of one redrive or discard of many."""

from __future__ import annotations

from clockwork_client.console.context import Asked, Context, NoSuchPage, Page
from clockwork_client.console.pages import dead


def show(context: Context, asked: Asked, run_id: str) -> Page:  # noqa: ARG001 - as all pages
    """The page. Raises NoSuchPage for a run of another console."""
    run = context.bulk.find(run_id)
    if run is None:
        raise NoSuchPage
    token = f" --next-token {run.next_token}" if run.next_token else ""
    model = {"run": run, "command": dead.command(run.verb, run.chosen) + token, "can_act": not context.is_read_only}
    return Page("bulk.html", f"{run.verb.capitalize()} of many", model)
