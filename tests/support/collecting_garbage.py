"""Keeps Python's garbage collector away from the objects that live as long as the run: a tenth of the CPU of tests.

A run imports and collects some hundred thousand objects that stay. Each full collection would look at all of them.
"""

from __future__ import annotations

import gc

import pytest

#: Collections of the young come after so many new objects, and of the older ones after so many of the former.
THRESHOLDS = 50_000, 20, 50


def pytest_configure() -> None:
    gc.disable()


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Leave all objects of now out of further collections. Garbage of the tests is collected, but less often."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
    gc.enable()
