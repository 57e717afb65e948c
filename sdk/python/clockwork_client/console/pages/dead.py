"""The dead executions of a client: groups by cause, then each of them."""

from __future__ import annotations

from collections.abc import Mapping

from clockwork_client.console.context import Asked, Context, Page
from clockwork_client.console.pages.attention import groups
from clockwork_client.console.source import MOST_DEAD

#: The fields of the filter: all of them go to the API, so what a button does is what the page shows.
FIELDS = ("prefix", "from", "to")


def chosen(given: Mapping[str, str]) -> dict[str, str]:
    """The filter in a query or a form, without what is empty."""
    return {name: given[name].strip()[:1_024] for name in FIELDS if given.get(name, "").strip()}


def show(context: Context, asked: Asked) -> Page:
    """The page."""
    which = chosen(asked.query)
    dead = context.source.dead(asked.client, which.get("prefix"), which.get("from"), which.get("to"))
    items = dead.value.items if dead.value else ()
    model = {
        "dead": dead,
        "items": items,
        "groups": groups(items),
        "most": MOST_DEAD,
        "chosen": which,
        "can_act": not context.is_read_only,
    }
    return Page("dead.html", "Dead", model)
