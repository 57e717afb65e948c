"""Repeats of calls that AWS refused for now, with pauses between them, and several calls at the same time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from random import SystemRandom
from typing import TypeVar

import msgspec

T = TypeVar("T")
R = TypeVar("R")


class Backoff(msgspec.Struct, frozen=True):
    """Exponential backoff: a bounded number of rounds with growing, jittered pauses between them.

    The jitter is "full jitter": https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/
    """

    first_seconds: float = 0.05
    longest_seconds: float = 1.0
    sleep: Callable[[float], object] = time.sleep
    fraction: Callable[[], float] = SystemRandom().random

    def rounds(self, count: int) -> Iterator[int]:
        """Yield 0, 1, ... `count` - 1, with a pause before each number except the first."""
        for number in range(count):
            if number:
                longest = min(self.longest_seconds, self.first_seconds * 2**number)
                self.sleep(self.fraction() * longest)
            yield number


class Parallel:
    """Runs up to `width` calls at the same time, in threads that start when they are first needed."""

    def __init__(self, width: int) -> None:
        self._threads = ThreadPoolExecutor(max_workers=width, thread_name_prefix="aws")

    def map(self, work: Callable[[T], R], items: Sequence[T]) -> list[R]:
        """The results of `work` for each item, in the order of `items`.

        If any failed, raises the first error in that order once all have ended.
        """
        if len(items) == 1:
            return [work(items[0])]
        futures = [self._threads.submit(work, item) for item in items]
        wait(futures)
        return [future.result() for future in futures]

    def close(self) -> None:
        """Wait for the calls under way, then end the threads."""
        self._threads.shutdown()


def batches(items: Sequence[T], size: int) -> list[Sequence[T]]:
    """`items` in order, in pieces of at most `size`."""
    return [items[start : start + size] for start in range(0, len(items), size)]


def batches_within(items: Sequence[T], size: int, largest: int, bytes_of: Callable[[T], int]) -> list[list[T]]:
    """`items` in order, in pieces of at most `size`, and of at most `largest` bytes; a larger item goes alone."""
    pieces: list[list[T]] = []
    room = 0
    for item in items:
        taken = bytes_of(item)
        if not pieces or len(pieces[-1]) == size or taken > room:
            pieces.append([])
            room = largest
        pieces[-1].append(item)
        room -= taken
    return pieces
