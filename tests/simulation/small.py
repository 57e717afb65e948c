"""Small bounds: in some seeds the flows read and hand over so little at once that everything takes many turns."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

from clockwork.domain.pools import presence
from clockwork.flows import hardening
from clockwork.flows.deliver import circuits
from clockwork.flows.named import in_flight, marks, unended
from clockwork.flows.poll import portions, sending
from clockwork.flows.requests import clients, read, upcoming
from clockwork.flows.sweep import deletion, too_long, unpark
from clockwork.flows.timeline import later
from clockwork.ports import registry

#: The bounds that may be anything: more turns make the same, and who is refused may ask again.
BOUNDS: dict[tuple[ModuleType, str], int] = {
    (portions, "ROWS_AT_ONCE"): 3,
    (portions, "OCCURRENCES_AT_ONCE"): 60,
    (unended, "PAGE"): 5,
    (unended, "OLDER_PAGES"): 2,
    (unended, "MOST_PAGES"): 4,
    (deletion, "PAGE"): 2,
    (unpark, "PAGE"): 3,
    (too_long, "PAGE"): 8,
    (unpark, "MOST_TRIES"): 2,
    (circuits, "MOST_RATIOS"): 1,
    (in_flight, "MOST_AT_ONCE"): 2,
    (clients, "MOST_REPLANS"): 1,
    (later, "MOST_TRIES"): 2,
    (registry, "MOST_TRIES"): 2,
    (presence, "MOST_REMEMBERED"): 2,
    (upcoming, "MOST_AHEAD"): 3,
    (read, "MOST_BYTES"): 400,
    (marks, "AT_ONCE"): 1,
    (sending, "MOST_POOLED"): 5,
    (hardening, "PIECE"): 2,
}


@contextmanager
def small_bounds() -> Iterator[None]:
    """Within the block the bounds are small."""
    before = {place: getattr(*place) for place in BOUNDS}
    for (module, name), bound in BOUNDS.items():
        setattr(module, name, bound)
    try:
        yield
    finally:
        for (module, name), bound in before.items():
            setattr(module, name, bound)
