"""The Lambda of the custom resource: it writes the admins, and CloudFormation always hears how that went."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

import pytest

from clockwork import bootstrap
from clockwork.domain.errors import Unavailable
from clockwork.handlers.admins import write_admins
from clockwork.memory.clients import MemoryClients

ADMIN = "arn:aws:iam::123456789012:role/Admin"


class CloudFormation:
    """Waits for answers at an address; `refuses` so many with 403."""

    def __init__(self) -> None:
        self.answers: list[dict[str, Any]] = []
        self.content_types: list[str | None] = []
        self.refuses = 0
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_PUT(self) -> None:
                outer.content_types.append(self.headers["content-type"])
                outer.answers.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
                self.send_response(403 if len(outer.answers) <= outer.refuses else 200)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)

    def event(self, kind: str = "Create", **properties: object) -> dict[str, Any]:
        return {
            "RequestType": kind,
            "ResponseURL": f"http://127.0.0.1:{self.server.server_port}/answer?signature=a%2Bb",
            "StackId": "arn:aws:cloudformation:us-east-1:123456789012:stack/Clockwork/1",
            "RequestId": "request-1",
            "LogicalResourceId": "AdminsRow",
            "ResourceProperties": {"AdminPrincipals": [ADMIN], **properties},
        }


@pytest.fixture
def cloudformation() -> Iterator[CloudFormation]:
    waiting = CloudFormation()
    thread = Thread(target=waiting.server.serve_forever)
    thread.start()
    yield waiting
    waiting.server.shutdown()
    thread.join()
    waiting.server.server_close()


@pytest.fixture
def clients(monkeypatch: pytest.MonkeyPatch) -> MemoryClients:
    clients = MemoryClients()
    monkeypatch.setenv("CLIENTS_TABLE", "clients")
    monkeypatch.setattr(bootstrap, "clients_in", {"clients": clients}.__getitem__)
    return clients


@pytest.mark.parametrize("kind", ["Create", "Update"])
def test_the_admins_are_written_and_that_is_told(
    kind: str, cloudformation: CloudFormation, clients: MemoryClients
) -> None:
    clients.name_admins(["arn:aws:iam::123456789012:role/Former"])
    write_admins(cloudformation.event(kind), None)
    assert clients.admins() == {ADMIN}
    (answer,) = cloudformation.answers
    assert answer["Status"] == "SUCCESS"
    assert {name: answer[name] for name in ("StackId", "RequestId", "LogicalResourceId")} == {
        name: cloudformation.event()[name] for name in ("StackId", "RequestId", "LogicalResourceId")
    }
    assert cloudformation.content_types == [""]


def test_the_id_stays_so_that_nothing_is_deleted_in_an_update(
    cloudformation: CloudFormation, clients: MemoryClients
) -> None:
    for kind in ("Create", "Update"):
        write_admins(cloudformation.event(kind, AdminPrincipals=[]), None)
    assert len({answer["PhysicalResourceId"] for answer in cloudformation.answers}) == 1
    assert clients.admins() == frozenset()


def test_a_deletion_leaves_the_row_to_the_table(cloudformation: CloudFormation, clients: MemoryClients) -> None:
    clients.name_admins([ADMIN])
    write_admins(cloudformation.event("Delete"), None)
    assert (clients.admins(), cloudformation.answers[0]["Status"]) == (frozenset({ADMIN}), "SUCCESS")


def test_a_row_that_cannot_be_written_fails_the_deployment_at_once(
    cloudformation: CloudFormation, clients: MemoryClients, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(_: Sequence[str]) -> None:
        raise Unavailable("AccessDenied " * 1_000)

    monkeypatch.setattr(clients, "name_admins", refuses)
    write_admins(cloudformation.event(), None)
    (answer,) = cloudformation.answers
    assert answer["Status"] == "FAILED"
    assert "Unavailable: AccessDenied" in answer["Reason"]
    assert len(json.dumps(answer)) < 4_096


def test_an_event_without_admins_fails_the_deployment(cloudformation: CloudFormation, clients: MemoryClients) -> None:
    event = cloudformation.event()
    del event["ResourceProperties"]["AdminPrincipals"]
    write_admins(event, None)
    assert cloudformation.answers[0]["Status"] == "FAILED"
    assert clients.admins() == frozenset()


@pytest.mark.parametrize("refused", [0, 1, 2])
def test_an_answer_that_nobody_takes_is_given_again(
    refused: int, cloudformation: CloudFormation, clients: MemoryClients, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "sleep", lambda _: None)
    cloudformation.refuses = refused
    write_admins(cloudformation.event(), None)
    assert [answer["Status"] for answer in cloudformation.answers] == ["SUCCESS"] * (refused + 1)
    assert clients.admins() == {ADMIN}


def test_an_answer_that_nobody_ever_takes_raises(
    cloudformation: CloudFormation, clients: MemoryClients, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "sleep", lambda _: None)
    cloudformation.refuses = 99
    with pytest.raises(OSError, match="403"):
        write_admins(cloudformation.event(), None)
    assert clients.admins() == {ADMIN}
