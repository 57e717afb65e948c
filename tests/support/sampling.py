"""Tests of many alike cases: some of them now, the others later.

`@pytest.mark.sampled(4)` leaves three of four cases to the night. `--few 2` leaves out all but the first two of each
test, for the run before a commit.
"""

from __future__ import annotations

from collections import Counter

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--few", type=int, metavar="N", help="of each test, run the first N cases at most")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark all but each n-th case of a sampled test `nightly`, before pytest leaves out what has that mark."""
    cases: Counter[str] = Counter()
    few = config.getoption("few") or len(items)
    left_out: list[pytest.Item] = []
    kept: list[pytest.Item] = []
    for item in items:
        test = item.nodeid.partition("[")[0]
        if (mark := item.get_closest_marker("sampled")) is not None and cases[test] % mark.args[0]:
            item.add_marker(pytest.mark.nightly)
        (kept if cases[test] < few else left_out).append(item)
        cases[test] += 1
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = kept
