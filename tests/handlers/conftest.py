"""Requests are answered alike by the api Lambda and by the testing kit: tests that make an `Api` run over both.

Of a test with many cases `make test` runs the first over the kit, and `make nightly` the others: what tells the cases
apart is code of the edge, which both share. `make fast` leaves the kit out.
"""

from __future__ import annotations

import os

import pytest

from tests.handlers.kit import KitApi
from tests.support.searches import WHOLE

#: Of what the kit has no part in: Lambdas, their log lines, and rights. Or a search by chance, which finds no request
#: of another kind than the rest has.
ONCE = ("arbitrary_input", "arbitrary_messages", "authorisation", "description", "lambdas", "metrics")
#: Files that cost seconds before their first test, of which all tests run by night.
collect_ignore = [] if os.environ.get(WHOLE) else ["test_description_at_bounds.py"]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Have the tests of every module with an `Api` run twice."""
    if hasattr(metafunc.module, "Api") and metafunc.module.__name__.rpartition(".test_")[2] not in ONCE:
        metafunc.parametrize("answered_by", ["api", "kit"], indirect=True)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave the further cases of each test to the night, where the testing kit answers."""
    for item in items:
        if isinstance(item, pytest.Function) and (of := getattr(item, "callspec", None)) is not None:
            further = any(number for name, number in of.indices.items() if name != "answered_by")
            if of.params.get("answered_by") == "kit":
                item.add_marker(pytest.mark.nightly if further else pytest.mark.long)


@pytest.fixture(autouse=True)
def answered_by(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the `Api` of the test's module the testing kit's, if the test is to run on that."""
    if getattr(request, "param", "api") == "kit":
        monkeypatch.setattr(request.module, "Api", KitApi)
