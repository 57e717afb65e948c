"""A plugin of pytest's for tests of mutants: bounded memory, and an example that fails is enough, none is made smaller.

Pytest keeps the time of each test by itself.
"""

from __future__ import annotations

from hypothesis import Phase, settings

from tests.simulation.mutants.bounds import bound_memory


def pytest_configure() -> None:
    bound_memory()
    settings.register_profile("mutants", phases=(Phase.explicit, Phase.generate))
    settings.load_profile("mutants")
