"""Where calls go, with which keys, and by which certificates: as botocore decides it from the same environment."""

from __future__ import annotations

import logging
import os
import ssl
from pathlib import Path
from typing import Any

import botocore.session
import pytest
from botocore.exceptions import NoCredentialsError

from clockwork.aws.errors import RefusedToAll, ask
from clockwork.aws.plane.credentials import keys_of_environment
from clockwork.aws.plane.endpoints import endpoint_of, is_plain, plain_url
from clockwork.aws.plane.lean import Lean
from clockwork.aws.plane.over_botocore import OverBotocore
from clockwork.aws.session import Aws
from tests.contract.authority import Authority
from tests.contract.plane.hostile import answer, closes, refusal, serving
from tests.contract.plane.planes import BOTH, LEAN, PATIENT, PUT, connected, outcome, session_of, told

PLAIN = {"AWS_DEFAULT_REGION": "eu-west-1", "AWS_CONFIG_FILE": "/none", "AWS_SHARED_CREDENTIALS_FILE": "/none"}
KEYS = {"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "se+cret/", "AWS_SESSION_TOKEN": "tok/en+="}


@pytest.fixture
def environ(monkeypatch: pytest.MonkeyPatch, no_pauses_of_botocore: None) -> pytest.MonkeyPatch:
    """An environment like Lambda's."""
    for name in os.environ:
        if name.startswith("AWS_") or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    for name, value in {**PLAIN, **KEYS}.items():
        monkeypatch.setenv(name, value)
    return monkeypatch


@pytest.mark.parametrize("service", ["dynamodb", "sqs"])
def test_an_address_that_is_written_down_is_botocores(service: str) -> None:
    session = session_of()
    known = 0
    for partition in session.get_available_partitions():
        for region in session.get_available_regions(service, partition):
            if is_plain({**PLAIN, "AWS_DEFAULT_REGION": region}):
                client = session.create_client(service, region_name=region)
                assert client.meta.endpoint_url == plain_url(service, region), region
                known += 1
    assert known >= 20


@pytest.mark.parametrize(
    "region", ["", "cn-north-1", "us-gov-west-1", "us-iso-east-1", "eusc-de-east-1", "x\r\ny", "local"]
)
def test_a_region_of_which_nothing_is_written_down_is_left_to_botocore(region: str) -> None:
    assert not is_plain({**PLAIN, "AWS_DEFAULT_REGION": region})


@pytest.mark.parametrize(
    "name",
    [
        "AWS_ENDPOINT_URL",
        "AWS_ENDPOINT_URL_DYNAMODB",
        "AWS_ENDPOINT_URL_SQS",
        "AWS_PROFILE",
        "AWS_USE_FIPS_ENDPOINT",
        "AWS_USE_DUALSTACK_ENDPOINT",
    ],
)
def test_what_is_configured_is_left_to_botocore(name: str) -> None:
    assert is_plain(PLAIN)
    assert not is_plain({**PLAIN, name: "x"})


def test_a_file_of_settings_is_left_to_botocore(tmp_path: Path) -> None:
    (tmp_path / "config").write_text("[default]\nendpoint_url = http://127.0.0.1:9\n")
    assert not is_plain({**PLAIN, "AWS_CONFIG_FILE": str(tmp_path / "config")})


@pytest.mark.parametrize("variable", ["AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_DYNAMODB"])
@pytest.mark.parametrize("kind", BOTH)
def test_a_configured_endpoint_is_called(kind: str, variable: str, environ: pytest.MonkeyPatch) -> None:
    with serving() as service:
        environ.setenv(variable, service.url)
        with connected(kind, None, session=None) as aws:
            assert told(outcome(aws.plane("dynamodb", 3, PATIENT), "PutItem")) == {}
        (request,) = service.requests
    assert "AKIDEXAMPLE/" in request.headers["authorization"]
    assert "/eu-west-1/dynamodb/" in request.headers["authorization"]
    assert request.headers["x-amz-security-token"] == KEYS["AWS_SESSION_TOKEN"]


def test_a_plain_environment_needs_no_botocore_to_know_its_endpoint(environ: pytest.MonkeyPatch) -> None:
    aws = Aws()
    environ.setattr(aws, "client", lambda *_: pytest.fail("botocore was asked"))
    plane = aws.plane("dynamodb")
    assert isinstance(plane, Lean)
    assert plane.authority == "dynamodb.eu-west-1.amazonaws.com"
    assert plane.keys().token == KEYS["AWS_SESSION_TOKEN"]


@pytest.mark.parametrize(
    ("url", "authority"),
    [
        ("https://sqs.eu-west-1.amazonaws.com", "sqs.eu-west-1.amazonaws.com"),
        ("https://sqs:443/", "sqs"),
        ("http://127.0.0.1:4566", "127.0.0.1:4566"),
        ("http://[::1]:80", "[::1]"),
        ("https://sqs:80", "sqs:80"),
    ],
)
def test_the_host_is_named_as_it_is_signed(url: str, authority: str) -> None:
    endpoint = endpoint_of(url)
    assert endpoint is not None
    assert endpoint.authority == authority


def test_an_endpoint_with_a_path_is_called_with_botocore() -> None:
    with connected(LEAN, "http://127.0.0.1:9/aws") as aws:
        assert isinstance(aws.plane("dynamodb"), OverBotocore)


@pytest.mark.parametrize("name", ["HTTPS_PROXY", "https_proxy", "http_proxy", "ALL_PROXY"])
def test_calls_go_through_a_proxy_with_botocore(name: str, environ: pytest.MonkeyPatch) -> None:
    environ.setenv(name, "http://127.0.0.1:9")
    assert isinstance(Aws().plane("dynamodb"), OverBotocore)


@pytest.mark.parametrize(
    "environ_of_keys",
    [
        {},
        {"AWS_SESSION_TOKEN": ""},
        {"AWS_SESSION_TOKEN": "", "AWS_SECURITY_TOKEN": "old"},
        {"AWS_SECURITY_TOKEN": "old"},
    ],
)
def test_keys_of_the_environment_are_those_that_botocore_finds(
    environ_of_keys: dict[str, str], environ: pytest.MonkeyPatch
) -> None:
    for name, value in environ_of_keys.items():
        environ.setenv(name, value)
    found = botocore.session.Session().get_credentials()
    assert found is not None
    theirs = found.get_frozen_credentials()
    ours = keys_of_environment(os.environ)
    assert ours is not None
    assert (ours.access_key, ours.secret_key) == (theirs.access_key, theirs.secret_key)
    assert (ours.token or "") == (theirs.token or "")


@pytest.mark.parametrize("name", ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"])
def test_half_a_pair_of_keys_is_left_to_botocore(name: str) -> None:
    assert keys_of_environment({**KEYS, name: ""}) is None


def test_keys_that_end_are_left_to_botocore() -> None:
    assert keys_of_environment({**KEYS, "AWS_CREDENTIAL_EXPIRATION": "2026-11-22T00:00:00Z"}) is None


@pytest.mark.parametrize("kind", BOTH)
def test_without_credentials_nothing_is_sent(kind: str, environ: pytest.MonkeyPatch) -> None:
    for name in KEYS:
        environ.delenv(name)
    environ.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with serving() as service, connected(kind, service.url, session=None) as aws:
        plane = aws.plane("dynamodb", 3, PATIENT)
        with pytest.raises(NoCredentialsError):
            plane.call("PutItem", **PUT)
        with pytest.raises(RefusedToAll, match="credentials"):
            ask(plane.call, "PutItem", **PUT)
        assert service.requests == []


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("tls"), "127.0.0.1")


@pytest.fixture(scope="module")
def other_name(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("tls"), "sqs.example.com")


@pytest.mark.parametrize("kind", BOTH)
def test_a_certificate_of_the_bundle_is_trusted(kind: str, authority: Authority, environ: pytest.MonkeyPatch) -> None:
    environ.setenv("AWS_CA_BUNDLE", str(authority.path))
    with serving(wrap=_server(authority)) as service, connected(kind, service.url) as aws:
        plane = aws.plane("dynamodb", 1, PATIENT)
        assert [told(outcome(plane, "PutItem")) for _ in range(2)] == [{}, {}]
        assert service.connections == 1


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("why", ["no bundle", "another bundle", "another name"])
def test_a_certificate_that_is_not_trusted_is_sent_nothing(
    kind: str, why: str, authority: Authority, other_name: Authority, environ: pytest.MonkeyPatch
) -> None:
    if why != "no bundle":
        environ.setenv("AWS_CA_BUNDLE", str(other_name.path))
    server = _server(other_name if why == "another name" else authority)
    with serving(wrap=server) as service, connected(kind, service.url) as aws:
        assert told(outcome(aws.plane("dynamodb", 1, PATIENT), "PutItem")) == "SSLError"
        assert service.requests == []


def _server(authority: Authority) -> Any:
    return lambda sock: authority.server.wrap_socket(sock, server_side=True)


def test_a_connection_over_tls_that_was_closed_costs_no_attempt(
    authority: Authority, environ: pytest.MonkeyPatch
) -> None:
    environ.setenv("AWS_CA_BUNDLE", str(authority.path))
    with serving(lambda _: None, wrap=_server(authority)) as service, connected(LEAN, service.url) as aws:
        plane = aws.plane("dynamodb", 1, PATIENT)
        assert told(outcome(plane, "PutItem")) in ("ConnectionClosedError", "SSLError")
        for _ in range(2):
            assert told(outcome(plane, "PutItem")) == {}
        assert service.connections == 2


def test_old_tls_is_not_spoken() -> None:
    from clockwork.aws.trust import trusting

    context = trusting(None)
    assert context.minimum_version >= ssl.TLSVersion.TLSv1_2
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)


def test_no_secret_is_told_by_a_fault_or_a_log(environ: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    faults = [closes, refusal("AccessDeniedException"), answer(200, b"no"), answer(503, b""), closes, closes]
    with serving(*faults) as service, connected(LEAN, service.url, session=None) as aws:
        plane = aws.plane("dynamodb", 1, PATIENT)
        raised = [outcome(plane, "PutItem") for _ in faults]
        sent = [request.headers["authorization"].rpartition("=")[2] for request in service.requests]
    assert all(isinstance(one, Exception) for one in raised)
    told_of = [*(f"{one} {one!r} {vars(one)}" for one in raised), repr(plane), caplog.text]
    secrets = [KEYS["AWS_SECRET_ACCESS_KEY"], KEYS["AWS_SESSION_TOKEN"], *sent]
    assert [(secret, text) for secret in secrets for text in told_of if secret in text] == []
