"""The testing kit: a whole Clockwork in memory, in virtual time, for tests of one's own schedules and receivers.

from clockwork_client.testing import VirtualClockwork

It needs the extra `testing`, which brings Clockwork's core, and Python >= 3.11. No other part of this package does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clockwork_client.testing.deliveries import Answer, Delivery
    from clockwork_client.testing.inline import InlineContext, run_handler
    from clockwork_client.testing.scheduled import Scheduled
    from clockwork_client.testing.steps import Run
    from clockwork_client.testing.virtual import VirtualClockwork

__all__ = ["Answer", "Delivery", "InlineContext", "Run", "Scheduled", "VirtualClockwork", "run_handler"]


def __getattr__(name: str) -> Any:
    """A name of the kit, imported when it is first asked for: the pytest plugin is loaded in every run of pytest."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        import pydantic  # noqa: F401 - which the kit's API loads for the first request that has a fault

        from clockwork_client.testing import virtual
    except ImportError as error:
        missing = (error.name or "clockwork").partition(".")[0]
        advice = "pip install 'clockwork-client[testing]', or in a checkout `make setup`"
        raise ImportError(f"the testing kit needs the package {missing}: {advice} ({error})", name=missing) from error
    return getattr(virtual, name)
