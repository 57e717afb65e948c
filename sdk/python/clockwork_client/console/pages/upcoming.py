"""The starts of the next hours, anonymous jobs included."""

from __future__ import annotations

from clockwork_client.console.context import Asked, Context, Page
from clockwork_client.console.source import within

HOURS = (1, 6, 24)


def show(context: Context, asked: Asked) -> Page:
    """The page."""
    wanted = asked.number("hours", 24, 24) if asked.text("hours") not in map(str, HOURS) else int(asked.text("hours"))
    until = within(context.now(), wanted)
    upcoming = context.source.upcoming(asked.client, until, wanted, asked.goes_on, asked.behind)
    model = {"upcoming": upcoming, "hours": wanted, "choices": HOURS, "is_first": asked.behind is None}
    return Page("upcoming.html", "Upcoming", model)
