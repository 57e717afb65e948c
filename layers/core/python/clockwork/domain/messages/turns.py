"""Turns: how ordered releases are sent so that at most one of a message group is on its way at any time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count

import msgspec

from clockwork.domain.ordering import group_of
from clockwork.domain.releases import Refused, Release


def turns_of(releases: Sequence[Release]) -> list[list[int]]:
    """The indexes of the first release of each group, then those of the second ones, and so on."""
    turns: list[list[int]] = []
    counts: dict[str, count[int]] = {}
    for index, release in enumerate(releases):
        turn = next(counts.setdefault(group_of(release.occurrence), count()))
        if turn == len(turns):
            turns.append([])
        turns[turn].append(index)
    return turns


def send_in_turns(releases: Sequence[Release], send: Callable[[Sequence[Release]], Sequence[Refused]]) -> list[Refused]:
    """Send the releases turn by turn. Behind a release that was refused for now, nothing of its group is sent.

    `send` takes releases of different groups, and the indexes of its answer count these alone.
    """
    refused: list[Refused] = []
    blocked: set[str] = set()
    for turn in turns_of(releases):
        groups = {index: group_of(releases[index].occurrence) for index in turn}
        going = [index for index in turn if groups[index] not in blocked]
        why = "an earlier one of its ordering key was not taken"
        refused += [Refused(index, False, why) for index in turn if groups[index] in blocked]
        for refusal in send([releases[index] for index in going]) if going else ():
            index = going[refusal.index]
            refused.append(msgspec.structs.replace(refusal, index=index))
            if not refusal.permanent:
                blocked.add(groups[index])
    return sorted(refused, key=lambda refusal: refusal.index)
