"""`AsyncClockwork`: the client for programs on asyncio, with the surface of `Clockwork`.

Each call runs in a thread of its own pool, by the methods of `Clockwork` itself, so that the two cannot drift apart.
`make openapi` writes the types, `asynchronous.pyi`, from the same methods.

If the task that awaits a call is cancelled, the call goes on in its thread: the API may carry it out. Repeat a create
under its `idempotency_key`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from clockwork_client.client import Clockwork
from clockwork_client.pages import Pages, Resource

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

#: Return types of methods that send nothing before somebody iterates, and of those that never send anything.
ITERATED, PLAIN = ("Pages", "Iterator", "Bulk"), ("Workflow",)
_END = object()


class AsyncClockwork:
    """`Clockwork` for asyncio. `threads`: so many calls run at once, and further ones wait for a thread."""

    def __init__(self, *given: Any, threads: int = 32, **settings: Any) -> None:
        from concurrent.futures import ThreadPoolExecutor

        self._client = Clockwork(*given, **settings)
        self._threads = ThreadPoolExecutor(threads, "clockwork")

    def __getattr__(self, name: str) -> Any:
        return _of(getattr(self._client, name), self._threads)

    def __repr__(self) -> str:
        return f"Async{self._client!r}"

    async def __aenter__(self) -> AsyncClockwork:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections. Calls that have not begun are cancelled, and others end in their threads."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._client.close()


class AsyncResource:
    """A part of the API, as `cw.jobs`."""

    def __init__(self, resource: Resource, threads: ThreadPoolExecutor) -> None:
        self._resource = resource
        self._threads = threads

    def __getattr__(self, name: str) -> Any:
        return _of(getattr(self._resource, name), self._threads)

    def __aiter__(self) -> AsyncItems:
        return AsyncItems(iter(self._resource), self._threads)  # type: ignore[call-overload]


class AsyncItems:
    """The items of an iteration. Each is fetched in a thread, and those of a page that is there already without one."""

    def __init__(self, items: Iterator[Any], threads: ThreadPoolExecutor) -> None:
        self._items = items
        self._threads = threads
        self._page: list[Any] = []

    @property
    def next_token(self) -> str | None:
        """As of `Pages`: leads to the page after the present one."""
        assert isinstance(self._items, Pages)
        return self._items.next_token

    async def page(self) -> list[Any]:
        """As of `Pages`: the rest of the present page, or else the next one."""
        left, self._page = self._page, []
        assert isinstance(self._items, Pages)
        return left[::-1] or await _run(self._threads, self._items.page)

    def __aiter__(self) -> AsyncItems:
        return self

    async def __anext__(self) -> Any:
        if isinstance(self._items, Pages):
            while not self._page:
                self._page = (await self.page())[::-1]
                if not self._page and self._items.next_token is None:
                    raise StopAsyncIteration
            return self._page.pop()
        found = await _run(self._threads, next, self._items, _END)
        if found is _END:
            raise StopAsyncIteration
        return found


def _of(value: Any, threads: ThreadPoolExecutor) -> Any:
    """A value of the client for asyncio: parts of the API and methods; others stay as they are."""
    if isinstance(value, Resource):
        return AsyncResource(value, threads)
    if not callable(value) or not hasattr(value, "__func__"):
        return value
    returned = str(value.__annotations__.get("return", "")).partition("[")[0]
    if returned in PLAIN:
        return value
    if returned in ITERATED:
        return lambda *given, **options: AsyncItems(iter(value(*given, **options)), threads)

    async def call(*given: Any, **options: Any) -> Any:
        return await _run(threads, lambda: value(*given, **options))

    return call


async def _run(threads: ThreadPoolExecutor, call: Callable[..., Any], *given: Any) -> Any:
    import asyncio

    return await asyncio.get_running_loop().run_in_executor(threads, call, *given)
