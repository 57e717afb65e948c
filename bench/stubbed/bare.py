"""Records the calls to AWS that a workload cannot do without, and repeats them with botocore alone."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import groupby
from typing import Any

import botocore.session
from botocore.config import Config
from botocore.model import OperationModel

from clockwork.aws.repeats import batches
from clockwork.aws.session import THREADS

Calls = list[tuple[OperationModel, dict[str, Any]]]


class Recorder:
    """Notes all calls of a botocore session: the operation and its parameters."""

    def __init__(self, session: botocore.session.Session) -> None:
        self.calls: Calls = []
        session.register("before-parameter-build", self._note)

    def _note(self, **call: Any) -> None:
        self.calls.append((call["model"], dict(call["params"])))


class Bare:
    """The leanest low-level clients of botocore, and as many threads as the adapters use."""

    def __init__(self, session: botocore.session.Session, endpoint_url: str) -> None:
        config = Config(parameter_validation=False, max_pool_connections=THREADS + 2)
        self._clients = {
            name: session.create_client(name, endpoint_url=endpoint_url, config=config) for name in ("dynamodb", "sqs")
        }
        self._threads = ThreadPoolExecutor(THREADS)

    def replay(self, calls: Calls) -> Callable[[], None]:
        """A function that makes the same calls: one operation after the other, each on all threads at once."""
        stages = [
            [self._call(model, params) for model, params in some]
            for _, same in groupby(calls, key=lambda call: call[0].name)
            for some in batches(list(same), THREADS)
        ]

        def run() -> None:
            for stage in stages:
                if len(stage) == 1:
                    stage[0]()
                else:
                    for future in [self._threads.submit(call) for call in stage]:
                        future.result()

        return run

    def close(self) -> None:
        """End the threads and close the connections."""
        self._threads.shutdown()
        for client in self._clients.values():
            client.close()

    def _call(self, model: OperationModel, params: dict[str, Any]) -> Callable[[], object]:
        client = self._clients[model.service_model.service_name]
        method = {client.meta.method_to_api_mapping[name]: name for name in client.meta.method_to_api_mapping}
        return partial(getattr(client, method[model.name]), **params)
