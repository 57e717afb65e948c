"""The data plane with botocore: where calls go through a proxy, or to an endpoint with a path, and as a yardstick."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property, partial
from itertools import islice
from typing import Any

from clockwork.aws.plane.plane import WIDTH, Asked, Outcome
from clockwork.aws.repeats import Parallel


class OverBotocore:
    """`Plane` on one client of botocore, with a thread for each of the calls that are made at the same time."""

    def __init__(self, client: Callable[[], Any], parallel: Callable[[], Parallel]) -> None:
        self._client, self._parallel = client, parallel

    def call(self, operation: str, /, **asked: Any) -> dict[str, Any]:
        answer: dict[str, Any] = getattr(self._client(), self._methods[operation])(**asked)
        answer.pop("ResponseMetadata", None)
        return answer

    def call_all(self, operation: str, many: Iterable[Asked]) -> list[Outcome]:
        waiting, outcomes = iter(many), list[Outcome]()
        while wave := list(islice(waiting, WIDTH)):
            outcomes += self._parallel().map(partial(self._outcome, operation), wave)
        return outcomes

    def close(self) -> None:
        """Does nothing: the maker of the client closes it."""

    @cached_property
    def _methods(self) -> dict[str, str]:
        return {wire: method for method, wire in self._client().meta.method_to_api_mapping.items()}

    def _outcome(self, operation: str, asked: Asked) -> Outcome:
        try:
            return self.call(operation, **asked)
        except Exception as error:  # noqa: BLE001 - the other calls of the wave go on
            return error
