"""Races: runs several calls at the same moment."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any


def at_once(*calls: Callable[[], object]) -> list[Any]:
    """Start all calls at the same moment, on threads; returns their results in order."""
    barrier = Barrier(len(calls))

    def start(call: Callable[[], object]) -> object:
        barrier.wait(5)
        return call()

    with ThreadPoolExecutor(len(calls)) as threads:
        return list(threads.map(start, calls))
