"""Signatures: those of botocore for the same request and clock, and those that AWS's documentation gives."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from clockwork.aws.plane.signing import Keys, Signer
from clockwork.memory.clock import MemoryClock
from tests.contract.plane.hostile import serving
from tests.contract.plane.planes import BOTOCORE, CALLS, LEAN, PATIENT, connected, outcome

AT = 1_800_000_000_000
#: The credentials, the instant and the scope of AWS's test suite for Signature Version 4.
SUITE = Keys("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
SUITE_AT = int(datetime(2015, 8, 30, 12, 36, tzinfo=UTC).timestamp() * 1000)
SUITE_HOST = "example.amazonaws.com"
TOKEN = (
    "AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfIeoIYRqTflfKD8YUuwthAx"
    "7mSEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVXAkiY9q6d"
    "+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+scqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA=="
)


@pytest.mark.parametrize("operation", CALLS)
def test_both_planes_send_the_same_signed_headers_and_the_same_json(operation: str) -> None:
    sent = {}
    for kind in (LEAN, BOTOCORE):
        with serving() as service, connected(kind, service.url, clock=MemoryClock(AT)) as aws:
            outcome(aws.plane(CALLS[operation][0], 1, PATIENT), operation)
            (sent[kind],) = service.requests
    lean, botocore = sent[LEAN], sent[BOTOCORE]
    assert json.loads(lean.body) == json.loads(botocore.body)
    names = [request.headers["authorization"].split("SignedHeaders=")[1].split(",")[0] for request in (lean, botocore)]
    assert names[0] == names[1]
    of_request = {"host", "x-amz-date"}
    for name in set(names[0].split(";")) - of_request:
        assert lean.headers[name] == botocore.headers[name]
    assert botocore.headers.keys() - lean.headers.keys() == {"amz-sdk-invocation-id", "amz-sdk-request"}
    assert lean.headers.keys() <= botocore.headers.keys()


@pytest.mark.parametrize("at", [AT, AT + 86_399_999, AT + 86_400_000, 1_798_761_600_000])
@pytest.mark.parametrize("token", [None, "token/+="])
@pytest.mark.parametrize("service", ["dynamodb", "sqs"])
def test_the_same_request_at_the_same_instant_has_botocores_signature(
    service: str, token: str | None, at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("botocore.auth.get_current_datetime", lambda **_: datetime.fromtimestamp(at / 1000, UTC))
    signer, body = Signer("eu-central-1", service), '{"a": "é", "b": "x y"}'.encode()
    headers = (("content-type", "application/x-amz-json-1.0"), ("x-amz-target", "A.B"), ("x-amzn-query-mode", "true"))
    for keys in (Keys("AKIDONE", "one", token), Keys("AKIDTWO", "two", token)):
        ours = dict(signer.signed(keys, at, "127.0.0.1:4566", headers, body).headers)
        request = AWSRequest("POST", "http://127.0.0.1:4566/", headers=dict(headers), data=body)
        SigV4Auth(Credentials(keys.access_key, keys.secret_key, token), service, "eu-central-1").add_auth(request)
        theirs = {name.lower(): value for name, value in request.headers.items()}
        assert ours == theirs


@pytest.mark.parametrize(
    ("headers", "body", "signature"),
    [
        ([], b"", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"),
        ([("my-header1", "VALUE1")], b"", "cdbc9802e29d2942e5e10b5bccfdd67c5f22c7c4e8ae67b53629efa58b974b7d"),
        (
            [("content-type", "application/x-www-form-urlencoded")],
            b"Param1=value1",
            "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a",
        ),
    ],
    ids=["post-vanilla", "post-header-value-case", "post-x-www-form-urlencoded"],
)
def test_the_vectors_of_aws(headers: list[tuple[str, str]], body: bytes, signature: str) -> None:
    signed = dict(Signer("us-east-1", "service").signed(SUITE, SUITE_AT, SUITE_HOST, tuple(headers), body).headers)
    names = ";".join(sorted(["host", "x-amz-date", *(name for name, _ in headers)]))
    assert signed["authorization"] == (
        "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, "
        f"SignedHeaders={names}, Signature={signature}"
    )


def test_the_vector_of_aws_with_a_token() -> None:
    keys = Keys(SUITE.access_key, SUITE.secret_key, TOKEN)
    signed = dict(Signer("us-east-1", "service").signed(keys, SUITE_AT, SUITE_HOST, (), b"").headers)
    assert signed["authorization"].endswith("85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead")


def test_a_prefix_is_used_again_within_its_second_with_the_same_keys_and_headers() -> None:
    """Each signature is that of a signer which has signed nothing before."""
    signer = Signer("us-east-1", "dynamodb")
    for n in range(200):
        keys = Keys("AKIDONE", "one", "token") if n % 7 else Keys("AKIDTWO", "two", None)
        at, headers = AT + n * 250 - n % 3 * 900, (("x-amz-target", f"A.{n % 5}"),)
        host, body = f"host{n % 2}", b"{}" * (n % 4)
        fresh = Signer("us-east-1", "dynamodb").signed(keys, at, host, headers, body)
        signed = signer.signed(keys, at, host, headers, body)
        assert signed.headers == fresh.headers
        assert signed.lines == "".join(f"{name}: {value}\r\n" for name, value in signed.headers)


def test_keys_are_not_shown() -> None:
    assert repr(Keys("AKIDEXAMPLE", "secret", "token")) == str(Keys("AKIDEXAMPLE", "secret")) == "Keys(AKIDEXAMPLE)"
