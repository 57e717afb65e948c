"""The frame of the demonstration's scenes that call the API themselves: what went wrong, and the numbers shown."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter

from local.api import SignedApi
from local.demo.screen import Screen
from local.dev.running import Server


class Scene(ABC):
    """A part of the demonstration. A subclass has `_play`, whose TimeoutError becomes a fault."""

    def __init__(self, server: Server, screen: Screen) -> None:
        self._server = server
        self._screen = screen
        #: The faults of the demonstration, in words.
        self.faults: list[str] = []
        #: The numbers shown, by the name that the summary knows.
        self.shown = Counter[str]()

    def play(self) -> None:
        """Play this part. A wait that was in vain becomes a fault."""
        api = self._server.api()
        try:
            self._play(api)
        except TimeoutError as error:
            self.faults.append(str(error))
        finally:
            api.close()

    @abstractmethod
    def _play(self, api: SignedApi) -> None:
        """The calls of this part, and what it judges."""
