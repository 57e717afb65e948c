"""The starts of the next hours, anonymous jobs included."""

from __future__ import annotations

from clockwork_client.console.context import Asked, Context, Page
from clockwork_client.console.source import MOST_UPCOMING, within

HOURS = (1, 6, 24)


def show(context: Context, asked: Asked) -> Page:
    """The page."""
    wanted = asked.number("hours", 24, 24) if asked.text("hours") not in map(str, HOURS) else int(asked.text("hours"))
    upcoming = context.source.upcoming(asked.client, within(context.now(), wanted), wanted)
    model = {"upcoming": upcoming, "hours": wanted, "choices": HOURS, "most": MOST_UPCOMING}
    return Page("upcoming.html", "Upcoming", model)
