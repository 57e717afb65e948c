"""Tests of many alike cases: `@pytest.mark.sampled(4)` leaves three of four cases to the night."""

from __future__ import annotations

from collections import Counter

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark all but each n-th case of a sampled test `nightly`, before pytest leaves out what has that mark."""
    cases: Counter[str] = Counter()
    for item in items:
        if (mark := item.get_closest_marker("sampled")) is not None:
            test = item.nodeid.partition("[")[0]
            if cases[test] % mark.args[0]:
                item.add_marker(pytest.mark.nightly)
            cases[test] += 1
