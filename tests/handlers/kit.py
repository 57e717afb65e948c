"""The testing kit in the place of the api Lambda: the same requests through the kit's own gateway, on its own world."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from unittest import mock
from urllib.parse import quote, urlencode

from clockwork.bootstrap import App, noting
from clockwork.edge.app import make_api
from clockwork.settings import Settings
from clockwork_client.testing import VirtualClockwork, further, virtual
from clockwork_client.testing.deliveries import moment
from clockwork_client.testing.gateway import URL, Gateway
from clockwork_client.transport import Request
from tests.handlers.description import check_answer
from tests.handlers.handlers import CONTEXT, GLOBEX, Answer, Api, recorded
from tests.support.events import NO_ROUTE, encoded
from tests.support.examples import ACME, ADMIN, ALICE, NOW


class KitApi(Api):
    """An `Api` made of a VirtualClockwork: acme and globex are its clients, ADMIN is its admin."""

    def __init__(self, **settings: Any) -> None:
        self.calls: list[str] = []
        with (
            # The bounds of these tests are those of the stage `local`.
            mock.patch.object(Settings, "for_account", return_value=Settings.for_local().with_(**settings)),
            mock.patch.object(virtual, "_ADMIN", ADMIN),
            mock.patch.object(further, "make_api", lambda world, count: make_api(recorded(world, self.calls), count)),
        ):
            self.kit = VirtualClockwork(at=moment(NOW))
            served = self.kit._api
        self.clockwork = self.kit._core
        self.clockwork.targets._answer = self.clockwork.targets._succeed  # these tests let time pass by themselves
        self.handle = noting(App(self.clockwork.world), served)
        for client in (ACME, GLOBEX):
            self.clockwork.clients.put(client)

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        caller: str | None = ALICE,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
    ) -> Answer:
        """Send a request as the kit's clients do: its gateway makes the event of it."""
        assert caller is not None, "whoever calls the kit is signed"
        text = body if body is None or isinstance(body, str | bytes) else encoded(body)
        sent = text.encode(errors="surrogatepass") if isinstance(text, str) else text
        url = URL + quote(path) + (f"?{urlencode(query)}" if query else "")
        self.calls.clear()
        response = Gateway(self._served, caller, self.kit._lock)(Request(method, url, headers or {}, sent, 29))
        told = {name.title(): value for name, value in response.headers.items()}
        return Answer(response.status, told["Content-Type"], response.body.decode(), told)

    def _served(self, event: dict[str, Any], _: Any) -> dict[str, Any]:
        raw: dict[str, Any] = self.handle(event, CONTEXT)
        if event["routeKey"] != NO_ROUTE:
            check_answer(event["routeKey"], raw["statusCode"], raw["headers"]["Content-Type"], raw["body"])
        return raw
