"""Signatures as botocore makes and AWS checks them, and where credentials and region come from."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

import botocore.auth
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials, RefreshableCredentials
from hypothesis import given
from hypothesis import strategies as st

from clockwork_client import Clockwork, NotConfigured, NotFound
from clockwork_client.signing import Signer
from clockwork_client.transport import Request, Response
from tests.sdk.edge import CREDENTIALS, URL, Hands, client_of

#: Headers that botocore adds, and that a signature covers.
NAMES = ("Authorization", "X-Amz-Date", "X-Amz-Security-Token", "User-Agent")


def sent(transport_client: Clockwork | None = None, **query: str) -> Request:
    seen: list[Request] = []

    def keep(request: Request) -> Response:
        seen.append(request)
        return Response(404, {}, b"{}")

    with pytest.raises(NotFound):
        next(client_of(keep).jobs.list(**query))  # type: ignore[arg-type]
    return seen[0]


def by_botocore(request: Request, monkeypatch: pytest.MonkeyPatch, credentials: Credentials = CREDENTIALS) -> str:
    """The signature that botocore makes for the same request at the same second, from the parts of its query."""
    parts = urlsplit(request.url)
    at = datetime.strptime(request.headers["X-Amz-Date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    plain = {name: value for name, value in request.headers.items() if name not in NAMES}
    again = AWSRequest(
        request.method,
        f"{parts.scheme}://{parts.netloc}{parts.path}",
        plain,
        request.body,
        params=dict(parse_qsl(parts.query)),
    )
    monkeypatch.setattr(botocore.auth, "get_current_datetime", lambda *_, **__: at.replace(tzinfo=None))
    SigV4Auth(credentials, "execute-api", "us-east-1").add_auth(again)
    return str(again.headers["Authorization"])


@pytest.mark.parametrize("prefix", ["plain", "a b+c", "ü/ö", "x&y=z", "~-_.!*'()", "%2F", "\u202e", "a:b@c"])
def test_a_signature_is_that_of_botocore(prefix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    request = sent(prefix=prefix, tag="team:billing", state="ACTIVE")
    assert request.headers["Authorization"] == by_botocore(request, monkeypatch)


@pytest.mark.parametrize(
    ("url", "scope"),
    [
        ("https://abc.lambda-url.eu-west-1.on.aws", "/eu-west-1/lambda/aws4_request"),
        ("https://abc.lambda-url.eu-west-1.on.aws/", "/eu-west-1/lambda/aws4_request"),
        ("https://abc.execute-api.eu-west-1.amazonaws.com", "/eu-west-1/execute-api/aws4_request"),
        ("https://abc.lambda-url.eu-west-1.on.aws.example.com", "/us-east-2/execute-api/aws4_request"),
        ("https://jobs.example.com", "/us-east-2/execute-api/aws4_request"),
    ],
)
def test_a_url_tells_the_service_and_the_region_of_its_signature(url: str, scope: str) -> None:
    region = None if "eu-west-1" in scope else "us-east-2"
    signed = Signer(url, region, None, CREDENTIALS)("GET", f"{url}/v1/jobs", {}, None)
    assert scope in signed["Authorization"]


@given(st.text(min_size=1).filter(lambda text: text.isprintable()))
def test_a_query_is_sent_as_a_signature_has_it(prefix: str) -> None:
    """The strict encoding, sorted, is signed: AWS encodes anew what it received, and must come to the same."""
    parts = urlsplit(sent(prefix=prefix).url)
    assert dict(parse_qsl(parts.query, keep_blank_values=True))["prefix"] == prefix
    pairs = sorted(parse_qsl(parts.query, keep_blank_values=True))
    assert sorted(parts.query.split("&")) == urlencode(pairs, quote_via=quote, safe="").split("&")


def test_a_body_and_its_key_are_signed(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Request] = []

    def keep(request: Request) -> Response:
        seen.append(request)
        return Response(202, {}, b'{"executionId": "e"}')

    client_of(keep).jobs.run("job.1")
    (request,) = seen
    assert request.headers["Authorization"] == by_botocore(request, monkeypatch)
    assert "SignedHeaders=content-type;host;idempotency-key;x-amz-date" in request.headers["Authorization"]


def test_credentials_that_change_are_read_for_each_try() -> None:
    fresh = iter(
        {
            "access_key": f"AKIA{number}",
            "secret_key": "s",
            "token": f"token-{number}",
            "expiry_time": (datetime.now(UTC) + timedelta(seconds=1)).isoformat(),
        }
        for number in range(99)
    )
    credentials = RefreshableCredentials.create_from_metadata(next(fresh), lambda: next(fresh), "test")
    seen: list[str] = []

    def lose(request: Request) -> Response:
        seen.append(request.headers["X-Amz-Security-Token"])
        return Response(503, {}, b"") if len(seen) < 3 else Response(404, {}, b"{}")

    cw = Clockwork(URL, credentials=credentials, transport=lose, machine=Hands().machine)
    with pytest.raises(NotFound):
        cw.jobs.get("j")
    assert seen == ["token-1", "token-2", "token-3"]


@pytest.fixture
def no_aws(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_REGION",
                 "AWS_DEFAULT_REGION", "CLOCKWORK_URL", "CLOCKWORK_CLIENT_ID"):  # fmt: skip
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    (tmp_path / "config").write_text("[profile work]\nregion = eu-west-1\n")
    (tmp_path / "credentials").write_text("[work]\naws_access_key_id = AKIAWORK\naws_secret_access_key = s\n")
    return monkeypatch


def credential_of(**options: str) -> str:
    seen: list[Request] = []

    def keep(request: Request) -> Response:
        seen.append(request)
        return Response(404, {}, b"{}")

    cw = Clockwork(transport=keep, machine=Hands().machine, **options)  # type: ignore[arg-type]
    with pytest.raises(NotFound):
        cw.jobs.get("j")
    return seen[0].headers["Authorization"].partition("Credential=")[2].partition(",")[0]


def test_the_environment_is_enough(no_aws: pytest.MonkeyPatch) -> None:
    no_aws.setenv("CLOCKWORK_URL", "https://api.example.com/")
    no_aws.setenv("AWS_ACCESS_KEY_ID", "AKIAENV")
    no_aws.setenv("AWS_SECRET_ACCESS_KEY", "s")
    no_aws.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    assert credential_of().startswith("AKIAENV/")
    assert credential_of().endswith("/eu-central-1/execute-api/aws4_request")


def test_aws_region_is_read_as_lambda_and_other_sdks_do(no_aws: pytest.MonkeyPatch) -> None:
    no_aws.setenv("AWS_REGION", "eu-central-1")
    assert "/eu-central-1/" in credential_of(url="https://api.example.com", profile="work")
    assert "/us-east-1/" in credential_of(url=URL, profile="work")


def test_a_profile_is_read_and_the_url_tells_the_region(no_aws: pytest.MonkeyPatch) -> None:
    assert credential_of(url=URL, profile="work").startswith("AKIAWORK/")
    assert "/us-east-1/" in credential_of(url=URL, profile="work")
    assert "/eu-west-1/" in credential_of(url="https://api.example.com", profile="work")
    assert "/ap-south-1/" in credential_of(url=URL, profile="work", region="ap-south-1")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({}, "CLOCKWORK_URL"),
        ({"url": "api.example.com"}, "no URL of an API"),
        ({"url": "https://a:b@example.com"}, "no user"),
        ({"url": "https://example.com?x"}, "query"),
        ({"url": URL}, "no AWS credentials"),
        ({"url": URL, "profile": "none"}, "none"),
        ({"url": "https://api.example.com", "credentials": CREDENTIALS}, "no AWS region"),
    ],
)
def test_what_is_missing_is_named(no_aws: pytest.MonkeyPatch, options: dict[str, str], told: str) -> None:
    with pytest.raises(NotConfigured, match=told):
        credential_of(**options)


def test_a_call_that_needs_a_client_says_so() -> None:
    with pytest.raises(NotConfigured, match="CLOCKWORK_CLIENT_ID"):
        client_of(lambda _: Response(200, {}, b"{}"), client_id=None).dead.list()
