"""In which turns ordered releases are sent: at most one of a group is on its way at any time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count

from clockwork.domain.ordering import group_of
from clockwork.domain.releases import Release


def turns_of(releases: Sequence[Release]) -> list[list[int]]:
    """The places of the first release of each group, then those of the second ones, and so on."""
    turns: list[list[int]] = []
    counts: dict[str, count[int]] = {}
    for place, release in enumerate(releases):
        turn = next(counts.setdefault(group_of(release.occurrence), count()))
        if turn == len(turns):
            turns.append([])
        turns[turn].append(place)
    return turns


def send_in_turns(
    releases: Sequence[Release], send: Callable[[Sequence[Release]], Sequence[tuple[int, bool, str]]]
) -> list[tuple[int, bool, str]]:
    """Send turn by turn, nothing of a group behind what was refused for now.

    `send` takes releases of different groups; it and this answer (place, whether for good, why) of what was not taken.
    """
    refused: list[tuple[int, bool, str]] = []
    blocked: set[str] = set()
    for turn in turns_of(releases):
        groups = {place: group_of(releases[place].occurrence) for place in turn}
        going = [place for place in turn if groups[place] not in blocked]
        why = "an earlier one of its ordering key was not taken"
        refused += [(place, False, why) for place in turn if groups[place] in blocked]
        for index, permanent, reason in send([releases[place] for place in going]) if going else ():
            refused.append((going[index], permanent, reason))
            if not permanent:
                blocked.add(groups[going[index]])
    return sorted(refused)
