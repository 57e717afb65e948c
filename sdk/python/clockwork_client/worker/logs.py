"""Loggers whose calls never raise. A process that a worker runs in may have filters and handlers of any kind.

How it fails. A filter or a handler of the process's logging raises: that line is not logged, and the caller goes on.
"""

from __future__ import annotations

import logging
from contextlib import suppress

#: The frames between a caller and the logger itself, so that a line is said to come from the caller.
_FRAMES = 3


class Log:
    """A logger of the standard library that raises nothing."""

    def __init__(self, name: str) -> None:
        self._logger = logging.getLogger(name)

    def info(self, text: str, *args: object) -> None:
        """Log a line of the level INFO."""
        self._say(logging.INFO, text, args)

    def warning(self, text: str, *args: object) -> None:
        """Log a line of the level WARNING."""
        self._say(logging.WARNING, text, args)

    def error(self, text: str, *args: object) -> None:
        """Log a line of the level ERROR."""
        self._say(logging.ERROR, text, args)

    def exception(self, text: str, *args: object) -> None:
        """Log a line of the level ERROR, with the exception that is being handled."""
        self._say(logging.ERROR, text, args, has_error=True)

    def _say(self, level: int, text: str, args: tuple[object, ...], *, has_error: bool = False) -> None:
        with suppress(BaseException):
            self._logger.log(level, text, *args, exc_info=has_error, stacklevel=_FRAMES)


def logger(name: str) -> Log:
    """The logger of a module. Its calls raise nothing, even if the process's logging raises."""
    return Log(name)
