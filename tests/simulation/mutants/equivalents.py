"""Random mutants that change nothing which anybody could see, each with the reason. Nothing else is excluded."""

from __future__ import annotations

EQUIVALENT: dict[str, str] = {}
