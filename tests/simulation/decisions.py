"""Decisions that raise: every function of the domain that a flow calls, when it is asked about one client.

To make a release of one job of a row is among them. To decode the bytes of a row or a message is not: nobody knows
whose they are before they are read. Bytes that nobody can read are a fault of their own.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from clockwork import flows
from tests.simulation.defects import Defect, Strikes

#: The flows of the api, whose caller learns of the defect: it is the work of that one caller.
OF_THE_API = ("clockwork.flows.requests", "clockwork.flows.named.write", "clockwork.flows.named.trigger")
#: It encodes what was decoded a moment ago, and decides nothing.
ENCODING = frozenset({"row_of"})
#: They look at the first letter of an id: there is nothing in them that could raise.
TOTAL = frozenset({"is_named", "is_node"})


def decisions() -> Iterator[tuple[Any, str, Callable[..., Any]]]:
    """Each decision of the domain that a flow beside the api's calls: the module, the name there, the function."""
    for found in pkgutil.walk_packages(flows.__path__, f"{flows.__name__}."):
        if not found.ispkg and not found.name.startswith(OF_THE_API):
            module = importlib.import_module(found.name)
            for name, value in vars(module).items():
                if (
                    inspect.isfunction(value)
                    and value.__module__.startswith("clockwork.domain.")
                    and name not in ENCODING | TOTAL
                ):
                    yield module, name, value


@contextmanager
def raising(strikes: Strikes) -> Iterator[None]:
    """Within the block a decision raises whenever `strikes` says so."""
    replaced = list(decisions())
    for module, name, decision in replaced:
        setattr(module, name, _odd(decision, strikes))
    try:
        yield
    finally:
        for module, name, decision in replaced:
            setattr(module, name, decision)


def _odd(decision: Callable[..., Any], strikes: Strikes) -> Callable[..., Any]:
    @functools.wraps(decision)
    def odd(*args: Any, **named: Any) -> Any:
        if strikes(decision.__name__, args):
            raise Defect(decision.__name__)
        return decision(*args, **named)

    return odd
