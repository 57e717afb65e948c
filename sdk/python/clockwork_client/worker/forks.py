"""Processes that a handler forks. A process that leaves the handler ends there, and is no second worker.

How it fails. If such a process cannot write its last output, it ends all the same.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn


@contextmanager
def forked_ones_end() -> Iterator[None]:
    """End a process that was forked within the block and leaves it, with the status that Python would end it with."""
    parent = os.getpid()
    try:
        yield
    except BaseException as error:
        if os.getpid() == parent:
            raise
        _end(error)
    if os.getpid() != parent:
        _end(None)


def _end(error: BaseException | None) -> NoReturn:
    status = 1
    try:
        status = _status_of(error)
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(status)


def _status_of(error: BaseException | None) -> int:
    """The exit status that Python gives for an exception. Prints the exception as Python does."""
    code = error.code if isinstance(error, SystemExit) else None
    if isinstance(code, int):
        return code & 0xFF
    if code is not None:
        print(code, file=sys.stderr)
    elif error is not None and not isinstance(error, SystemExit):
        sys.excepthook(type(error), error, error.__traceback__)
    else:
        return 0
    return 1
