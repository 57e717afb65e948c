"""Runs across jobs: the latest first, as far as they were looked at."""

from __future__ import annotations

from clockwork_client.console.context import Asked, Context, Page

#: The fields of the filter: all of them go to the API.
FIELDS = ("jobs", "from", "to", "state", "prefix", "tag")
STATES = ("SUCCEEDED", "DEAD", "FAILED", "RUNNING", "SKIPPED", "EXPIRED", "CANCELLED")


def show(context: Context, asked: Asked) -> Page:
    """The page. A refusal of the filter is told above the list, and the form keeps what was typed."""
    chosen = {name: asked.text(name) for name in FIELDS}
    runs = context.source.client_runs(asked.client, chosen, asked.behind)
    model = {
        "runs": runs,
        "items": runs.value.items if runs.value else (),
        "chosen": chosen,
        "states": STATES,
        "is_filtered": any(chosen.values()),
        "next": runs.value.next_token if runs.value else None,
        "is_first": asked.behind is None,
    }
    return Page("runs.html", "Runs", model)
