"""Outlines of a batch's jobs, read without validating them: a bad job keeps its place and does not move the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clockwork.domain import instants
from clockwork.domain.requests.create import FURTHEST_AHEAD_MS
from clockwork.domain.requests.packing import Outline
from clockwork.edge.http.body import canonical
from clockwork.edge.requests.jobs import payload_of


def outlines_of(elements: Sequence[Any]) -> tuple[Outline, ...]:
    """The outlines of the jobs that might share a row: the anonymous ones with an instant that can be read."""
    found = (_outline(index, element) for index, element in enumerate(elements))
    return tuple(outline for outline in found if outline is not None)


def _outline(index: int, element: Any) -> Outline | None:
    if not isinstance(element, dict) or element.get("jobKey") is not None:
        return None
    when = _when(element.get("schedule"))
    if when is None:
        return None
    alike = {name: value for name, value in element.items() if name not in ("schedule", "payload")}
    payload_bytes = len(payload_of(element.get("payload")).body)
    return Outline(index, *when, payload_bytes=payload_bytes, alike=canonical(alike))


def _when(schedule: Any) -> tuple[int | None, int] | None:
    """The instant of `at` (ms) and 0, or None and the delay (ms); None if the schedule has neither."""
    if not isinstance(schedule, dict):
        return None
    at, delay = schedule.get("at"), schedule.get("delaySeconds")
    if isinstance(at, str):
        return _instant(at)
    if isinstance(delay, int | float) and 0 <= delay * 1000 <= FURTHEST_AHEAD_MS:
        return None, round(delay * 1000)
    return None


def _instant(at: str) -> tuple[int, int] | None:
    try:
        instant = instants.from_text(at)
    except ValueError:
        return None
    return (instant, 0) if 0 <= instant <= instants.LAST else None
