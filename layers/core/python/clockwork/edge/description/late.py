"""difflib, loaded by the first query with a parameter that nobody knows: queries without one go without it."""

from __future__ import annotations

from collections.abc import Sequence


def meant_by(name: str, known: Sequence[str]) -> str:
    """The end of a refusal of an unknown name, as `shown.meant_by` gives it."""
    from clockwork.edge.http import shown

    return shown.meant_by(name, known)
