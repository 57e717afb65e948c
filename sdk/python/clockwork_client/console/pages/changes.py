"""The trail of a client: each change with its author, its time and its reason."""

from __future__ import annotations

from clockwork_client.console import words
from clockwork_client.console.context import Asked, Context, Page
from clockwork_client.console.source import MOST_CHANGES


def show(context: Context, asked: Asked) -> Page:
    """The page."""
    trail = context.source.trail(asked.client)
    job, person = asked.text("job"), asked.text("person")
    items = trail.value.items if trail.value else ()
    shown = [
        one
        for one in items
        if job.casefold() in (one.job_key or one.job_id or "").casefold()
        and person in ("", words.person(one.principal))
    ]
    people = sorted({words.person(one.principal) for one in items})
    model = {"trail": trail, "shown": shown, "job": job, "person": person, "people": people, "most": MOST_CHANGES}
    return Page("changes.html", "Changes", model)
