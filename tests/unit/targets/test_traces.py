"""The trace context of a webhook: a valid header for every state of Lambda's own, and no import without the option."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clockwork.targets.message import Message, Payload
from clockwork.targets.web.traces import headers_of
from infra import ROOT
from tests.support.deployed_settings import deployed

MESSAGE = Message("ajob.1777975200250.0", "ajob", 1, 1_777_975_200_250, Payload(b"{}"))
ROOT_OF = "1-5759e988-bd862e3fe1be46a994272793"
#: https://www.w3.org/TR/trace-context/#traceparent-header-field-values
VALID = re.compile(r"00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-0[01]")


def header_of(trace: str | None = None, kept: str = "", **changes: Any) -> str:
    environment = {} if trace is None else {"_X_AMZN_TRACE_ID": trace}
    (header,) = headers_of(msgspec.structs.replace(MESSAGE, **changes), kept, environment).items()
    assert header[0] == "traceparent"
    return header[1]


def test_a_webhook_is_in_the_trace_of_its_invocation() -> None:
    told = header_of(f"Root={ROOT_OF};Parent=53995c3f42cd8ad8;Sampled=1;Lineage=1:a87bd80c:0")
    assert told.startswith("00-5759e988bd862e3fe1be46a994272793-")
    assert told.endswith("-01")
    assert header_of(f"Root={ROOT_OF};Parent=53995c3f42cd8ad8;Sampled=0").endswith("-00")


def test_each_attempt_has_a_span_of_its_own_and_the_same_one_when_it_is_sent_again() -> None:
    first, again, second = header_of(), header_of(), header_of(attempt=2)
    assert first == again
    assert first.split("-")[1] == second.split("-")[1]
    assert first.split("-")[2] != second.split("-")[2]
    assert header_of(execution_id="bjob.1777975200250.0").split("-")[1] != first.split("-")[1]


def test_the_context_of_its_create_goes_on_as_it_is() -> None:
    kept = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"
    assert header_of(f"Root={ROOT_OF};Sampled=1", kept) == kept
    assert header_of(None, kept, attempt=2) == kept


@pytest.mark.parametrize(
    "trace",
    [
        "",
        "Root=",
        "Root=1-5759e988-bd862e3fe1be46a99427279",
        f"Root={ROOT_OF}f",
        f"Root={ROOT_OF.upper()}",
        f"XRoot={ROOT_OF}",
        f"Root={ROOT_OF}\r\nx-evil: 1",
        "Root=1-00000000-000000000000000000000000;Sampled=1",
    ],
)
def test_a_trace_that_cannot_be_read_is_left_out(trace: str) -> None:
    assert header_of(trace) == header_of()


@given(st.text(max_size=200) | st.from_regex(r"Root=1-[0-9a-f]{8}-[0-9a-f]{24}(;Sampled=[01])?"))
def test_the_header_is_valid_whatever_lambda_tells(trace: str) -> None:
    assert VALID.fullmatch(header_of(trace))


@pytest.mark.parametrize("tracing", [False, True])
def test_nothing_is_imported_without_the_option(tracing: bool) -> None:
    from clockwork.settings import Settings

    environment = deployed(Settings.for_local()).with_(tracing=tracing).to_environment()
    code = (
        "import os, sys\n"
        "from clockwork.bootstrap import aws_world\n"
        "from clockwork.settings import Settings\n"
        "aws_world(Settings.from_environment(os.environ), delivers=True)\n"
        "print('clockwork.targets.web.traces' in sys.modules)"
    )
    keys = {"AWS_DEFAULT_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x"}
    ran = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": str(ROOT / "layers/core/python"), "PATH": "/usr/bin", **keys, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.strip() == str(tracing)
