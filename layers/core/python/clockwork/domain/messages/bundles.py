"""Bundles: which releases travel in one message, so that queue requests are paid by the bundle, not the occurrence."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from clockwork.domain.releases import Deliver, Release

MOST_IN_BUNDLE = 16
#: The most bytes of all payloads in a bundle. Create bounds the other fields of an occurrence, and sixteen of the
#: largest stay below the size that SQS takes in one message.
LARGEST_BUNDLE = 64 * 1024
#: A message of jobs with the precision of a second is delayed so much longer (ms), and by the tolerance of its queue. A
#: delay is whole seconds, rounded down, so it comes when they are due or up to a second later.
SECOND_LATER_MS = 900
#: A message of a watch or a check is delayed so much longer (ms): its delay is rounded up, by any tolerance.
#: Nobody holds it until its instant. A watch that came before would be sent again and again until then.
WATCHED_LATER_MS = 999


class Bundle(msgspec.Struct, frozen=True, gc=False):
    """The contents of one message: releases by their index, and the instant until which it is to be delayed (ms).

    `is_exact`: it is the earliest instant at which one of them is to run. Else it comes later by up to a second, a
    watch by a tenth more.
    """

    indexes: tuple[int, ...]
    run_at: int
    is_exact: bool = True


def plan_bundles(releases: Sequence[Release], now: int) -> list[Bundle]:
    """A message for each release, or one for several first attempts of one client at one target in the same second.

    Releases share a message only if their target takes many messages at once. An overdue release counts as due now. A
    retry goes alone, and so does a release that is marked `alone`: the deliverer split a bundle that came back, since
    one of its occurrences may have been the cause. A release that ends by callback goes alone, too: its message lives
    on as the watch of its attempt.
    """
    filling: dict[tuple[str, str, bool, int], int] = {}
    room: dict[int, int] = {}
    bundles: list[list[int]] = []
    for index, release in enumerate(releases):
        key = _bundle_key(release, now)
        if key is None:
            bundles.append([index])
            continue
        size = len(release.occurrence.payload.body)
        number = filling.get(key)
        if number is None or len(bundles[number]) == MOST_IN_BUNDLE or size > room[number]:
            number = filling[key] = len(bundles)
            bundles.append([])
            room[number] = LARGEST_BUNDLE
        bundles[number].append(index)
        room[number] -= size
    return [_bundle(indexes, releases, now) for indexes in bundles]


def _bundle(indexes: Sequence[int], releases: Sequence[Release], now: int) -> Bundle:
    later_ms = _later_ms(releases[indexes[0]], now)
    run_at = min([releases[index].run_at for index in indexes])
    return Bundle(tuple(indexes), run_at + later_ms, later_ms == 0)


def _later_ms(release: Release, now: int) -> int:
    """How much longer (ms) its message is delayed. A watch that is sent for now, as of a report, is not delayed."""
    if isinstance(release, Deliver):
        return SECOND_LATER_MS if release.occurrence.may_come_later else 0
    return WATCHED_LATER_MS if release.run_at > now else 0


def _bundle_key(release: Release, now: int) -> tuple[str, str, bool, int] | None:
    """The key that releases have in common which may share a message; None for a release that must go alone."""
    destination = release.occurrence.target.destination
    if destination is None or not isinstance(release, Deliver) or release.travels.alone:
        return None
    if release.attempt > 1 or release.sweeps:
        return None
    if release.occurrence.is_reported:
        return None
    if release.occurrence.ordering_key is not None:
        return None  # each waits for the one ahead, in a message group of its own
    occurrence = release.occurrence
    return occurrence.client_id, destination, occurrence.may_come_later, max(release.run_at, now) // 1000
