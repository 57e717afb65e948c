"""Cold starts are spared the search for garbage, and modules that packages load for what no Lambda here uses.

How it fails. A later version of a package may use at once what it is spared here. Its import fails then in every Lambda
of the tests of bundles. The locks keep the versions that were tested. Outside Lambda nothing is spared.
"""

from __future__ import annotations

import gc
import sys
from importlib.machinery import PathFinder
from types import ModuleType

_POWERTOOLS = "aws_lambda_powertools"
#: Loaded by Powertools' Logger to search events, with jmespath and gzip.
_SEARCH = f"{_POWERTOOLS}.utilities.jmespath_utils"
#: Loaded by msgspec for what the typing module of Python 3.11 has, too.
_TYPES = "typing_extensions"


def begin() -> None:
    """Stop the collector, and load the packages that each Lambda needs; called before any other module is loaded.

    Of Powertools that is Logger and Metrics. Its package would load the tracer as well, and touch botocore's sessions.
    Raises ModuleNotFoundError if a layer is missing.
    """
    gc.disable()
    sys.modules[_SEARCH] = ModuleType(_SEARCH)
    # As the import system marks what cannot be imported.
    sys.modules[_TYPES] = None  # type: ignore[assignment]
    try:
        if spec := PathFinder.find_spec(_POWERTOOLS):
            sys.modules[_POWERTOOLS] = package = ModuleType(_POWERTOOLS)
            package.__path__ = spec.submodule_search_locations or []
        import aws_lambda_powertools.logging
        import aws_lambda_powertools.metrics  # noqa: F401
        import msgspec  # noqa: F401
    finally:
        # Whoever needs them later has the real ones: pydantic, and botocore's clients.
        del sys.modules[_SEARCH], sys.modules[_TYPES]


def end() -> None:
    """Start the collector. Nearly all that was made lives as long as the environment, and is never looked at again."""
    gc.freeze()
    gc.enable()
