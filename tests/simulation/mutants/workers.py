"""Workers: each has a copy of the tree to itself, so that as many mutants are tried at once."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from typing import TypeVar

from tests.simulation.mutants.tree import Tree

T = TypeVar("T")
R = TypeVar("R")


class Workers:
    """A pool of threads with copies of the tree, all taken when it is made."""

    def __init__(self, count: int, place: Path) -> None:
        self._pool = ThreadPoolExecutor(count)
        self._trees: SimpleQueue[Tree] = SimpleQueue()
        for number in range(count):
            self._trees.put(Tree(place / str(number)))

    def each(self, work: Callable[[Tree, T], R], items: Iterable[T]) -> Iterator[R]:
        """The results of the work, in the order of the items."""

        def with_tree(item: T) -> R:
            tree = self._trees.get()
            try:
                return work(tree, item)
            finally:
                self._trees.put(tree)

        return self._pool.map(with_tree, items)

    def close(self) -> None:
        """Waits for the work under way, and starts no more."""
        self._pool.shutdown(cancel_futures=True)


@contextmanager
def workers(count: int) -> Iterator[Workers]:
    """Runs `count` workers in a folder that is removed at the end."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as place:
        these = Workers(count, Path(place))
        try:
            yield these
        finally:
            these.close()
