"""After all earlier tests, no log, table or answer contains a signing secret."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

from tests.e2e.conftest import SECRET
from tests.e2e.deployment import Deployment
from tests.e2e.hooks import Hooks
from tests.e2e.tenant import Tenant

_ENCODED = SECRET.removeprefix("whsec_")
_RAW = base64.b64decode(_ENCODED)


def tells(text: bytes) -> bool:
    """Whether the text contains the secret in any of its forms."""
    return any(form in text for form in (_ENCODED.encode(), _RAW, _RAW.hex().encode(), base64.b64encode(_RAW)))


def stored(deployment: Deployment) -> Iterator[bytes]:
    """Every attribute of every row of every table, as bytes."""
    dynamodb = deployment.stack.client("dynamodb")
    for table in dynamodb.list_tables()["TableNames"]:
        for page in dynamodb.get_paginator("scan").paginate(TableName=table):
            for item in page["Items"]:
                for value in item.values():
                    yield from _bytes(value)


def _bytes(value: dict[str, Any]) -> Iterator[bytes]:
    ((kind, content),) = value.items()
    yield content if kind == "B" else json.dumps(content).encode()


def test_a_signing_secret_is_used_and_told_to_nobody(deployment: Deployment, acme: Tenant, webhooks: Hooks) -> None:
    hook = webhooks.hook(failures=10)
    job_id = acme.create(hook, retryPolicy={"maxAttempts": 1})["jobId"]
    dead = acme.await_job(job_id, "DEAD")
    assert "v1," in hook.arrivals[0].headers["webhook-signature"]
    lines, attributes = list(deployment.logged()), list(stored(deployment))
    assert any("Delivered" in line for line in lines)
    assert any(b"clockwork/acme" in attribute for attribute in attributes)
    answers = [dead, acme.get("/v1/clients/acme"), acme.get(f"/v1/jobs/{job_id}/executions")]
    for text in (*lines, *map(json.dumps, answers)):
        assert not tells(text.encode())
    for attribute in attributes:
        assert not tells(attribute)


def test_the_secret_would_be_found() -> None:
    for form in (SECRET.encode(), b"x" + _RAW, _RAW.hex().encode()):
        assert tells(form)
