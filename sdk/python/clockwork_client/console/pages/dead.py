"""The dead executions of a client: groups by cause, as far as they were looked at, then each of those due last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from clockwork_client.attention import AttentionGroup
from clockwork_client.console.context import Asked, Context, Page
from clockwork_client.console.pages.attention import Need
from clockwork_client.console.source import MOST_DEAD
from clockwork_client.results import Execution

#: The fields of the filter: all of them go to the API, so what a button does is what the page shows.
FIELDS = ("prefix", "from", "to")
#: The causes that the page shows.
MOST_CAUSES = 50


def chosen(given: Mapping[str, str]) -> dict[str, str]:
    """The filter in a query or a form, without what is empty."""
    return {name: given[name].strip()[:1_024] for name in FIELDS if given.get(name, "").strip()}


def show(context: Context, asked: Asked) -> Page:
    """The page."""
    which, behind = chosen(asked.query), asked.behind
    source = context.source
    source.together(
        lambda: source.dead(asked.client, which.get("prefix"), which.get("from"), which.get("to")),
        lambda: source.causes(asked.client, which, behind, asked.goes_on),
    )
    dead = source.dead(asked.client, which.get("prefix"), which.get("from"), which.get("to"))
    causes = source.causes(asked.client, which, behind, asked.goes_on)
    items = dead.value.items if dead.value else ()
    model = {
        "dead": dead,
        "items": items,
        "causes": causes,
        "groups": told(causes.value.groups[:MOST_CAUSES] if causes.value else (), items),
        "most": MOST_DEAD,
        "most_causes": MOST_CAUSES,
        "is_first": behind is None,
        "chosen": which,
        "can_act": not context.is_read_only,
    }
    return Page("dead.html", "Dead", model)


def told(groups: Sequence[AttentionGroup], known: Sequence[Execution]) -> list[Need]:
    """The causes as the page tells them. The answer of a target is there if its execution is among those known."""
    excerpts = {one.execution_id: one.attempts[-1].response_excerpt for one in known if one.attempts}
    return [
        Need(
            tone="bad",
            kind="dead",
            title=one.job_key or "One-off jobs",
            says=one.cause or "No reason was kept.",
            many=one.count,
            excerpt=excerpts.get(one.execution_id) or "",
            since=one.first_due_at,
            latest=one.last_due_at,
            job_id=one.job_id or "",
            job_key=one.job_key or "",
        )
        for one in groups
    ]
