"""A field that is left out says nothing: counts begin at 0, and what is not said has not happened.

A report of an idle sweep therefore shows zeros, and a decision that names no exception makes none. Stored values have a
table of their own (tests/unit/domain/test_stored_defaults.py).
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import msgspec
import pytest

from clockwork import domain, flows
from tests.unit.domain.test_stored_defaults import LEFT_OUT

#: Fields whose usual case is another one.
USUAL: dict[str, dict[str, Any]] = {
    # Its jobs start at their instants.
    "Bundle": {"is_exact": True},
    # A claim is for a plain queue, where what waits is sent anew.
    "Claim": {"resends": True},
    "Circuit": {"revision": 1},
    # All records of the job were read.
    "UnderWay": {"all_seen": True},
    "Written": {"is_changed": True},
    # An occurrence that is to come is to be tried for the first time.
    "Upcoming": {"attempt": 1},
    # A message that the queue hands over for the first time has come once.
    "Message": {"receive_count": 1},
    "OrderedMessage": {"receive_count": 1},
    # The only version there is.
    "Ticket": {"v": 1},
    # What has failed may be tried again.
    "Reported": {"retryable": True},
}


def structs_of(package: ModuleType) -> Iterator[type[msgspec.Struct]]:
    """All structs of a package that are not stored."""
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        module = importlib.import_module(found.name)
        for one in vars(module).values():
            is_own = isinstance(one, type) and one.__module__ == found.name and one.__name__ not in LEFT_OUT
            if is_own and issubclass(one, msgspec.Struct):
                yield one


def numbers_of(struct: type[msgspec.Struct]) -> dict[str, int | float]:
    """The numbers and truth values that are assumed for fields which are left out."""
    defaults = {one.name: one.default for one in msgspec.structs.fields(struct)}
    return {name: value for name, value in defaults.items() if isinstance(value, int | float)}


@pytest.mark.parametrize(
    "struct", [*structs_of(domain), *structs_of(flows)], ids=lambda one: f"{one.__module__}.{one.__name__}"
)
def test_what_is_left_out_was_not_counted_and_has_not_happened(struct: type) -> None:
    numbers = numbers_of(struct)
    usual = {name: value for name, value in USUAL.get(struct.__name__, {}).items() if name in numbers}
    assert {name: value for name, value in numbers.items() if value} == {name: v for name, v in usual.items() if v}
