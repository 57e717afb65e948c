"""The functions of a pool's handlers, as a worker looks them up."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

Handler = TypeVar("Handler", bound=Callable[..., Any])


class Registry:
    """Functions for the handlers of a pool. Each takes the payload and a Context; it may be `async`."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._handlers: dict[str, Callable[..., Any]] = {}

    @property
    def handlers(self) -> Mapping[str, Callable[..., Any]]:
        """The functions by the names of their handlers."""
        return self._handlers

    def handler(self, name: str | None = None) -> Callable[[Handler], Handler]:
        """Let a function do the jobs of a handler. The handler has the function's name unless another is given.

        Write `@pool.handler()`, with parentheses. Raises TypeError without them, and for a generator: its body would
        never run.
        """
        if callable(name):
            raise TypeError("write @pool.handler(), with parentheses: without them the function is taken for a name")

        def register(function: Handler) -> Handler:
            wanted = name or function.__name__
            if wanted in self._handlers:
                raise ValueError(f"the pool {self.name} has a handler {wanted} already")
            if _is(function, inspect.isgeneratorfunction) or _is(function, inspect.isasyncgenfunction):
                raise TypeError(f"the handler {wanted} is a generator, as it has a yield: let it return its result")
            self._handlers[wanted] = function
            return function

        return register

    def is_async(self, name: str) -> bool:
        """Whether a handler's function is `async`, or an object whose call is. Behind a decorator none seems so."""
        return _is(self._handlers[name], inspect.iscoroutinefunction)


def _is(function: Callable[..., Any], kind: Callable[[object], bool]) -> bool:
    """Whether a function is of a kind, or an object whose call is."""
    return kind(function) or kind(getattr(function, "__call__", None))  # noqa: B004 - not whether it can be called
