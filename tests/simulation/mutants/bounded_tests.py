"""A pytest plugin for tests of mutants: it bounds memory, and lets Hypothesis stop at the first failing example.

Pytest itself bounds the time of each test.
"""

from __future__ import annotations

from hypothesis import Phase, settings

from tests.simulation.mutants.bounds import bound_memory


def pytest_configure() -> None:
    bound_memory()
    settings.register_profile("mutants", phases=(Phase.explicit, Phase.generate))
    settings.load_profile("mutants")
