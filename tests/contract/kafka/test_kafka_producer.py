"""The Kafka producer: its configuration for each kind of authentication that a cluster may ask for."""

from __future__ import annotations

import base64
import json
import time
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from clockwork.settings import Settings
from clockwork.targets.kafka import producer
from clockwork.targets.kafka.producer import InvalidLogin, iam_token, make_producer

SETTINGS = Settings(kafka_bootstrap_servers="127.0.0.1:1", kafka_timeout_seconds=7, kafka_secret="clockwork/kafka")


class Vault:
    """Secrets Manager with one secret."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.asked: list[str] = []

    def get_secret_value(self, SecretId: str) -> dict[str, str]:  # noqa: N803 - botocore's name
        self.asked.append(SecretId)
        return {"SecretString": self.text}


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The configurations of the producers that a test makes; none of them is really built."""
    configurations: list[dict[str, Any]] = []
    monkeypatch.setattr(producer, "Producer", lambda configuration, **_: configurations.append(configuration))
    return configurations


@pytest.mark.parametrize(("auth", "protocol"), [("plain", "PLAINTEXT"), ("tls", "SSL")])
def test_without_a_login_only_the_wire_differs(made: list[dict[str, Any]], auth: str, protocol: str) -> None:
    make_producer(SETTINGS.with_(kafka_auth=auth), Vault(""), "us-east-1")
    assert made[0]["security.protocol"] == protocol
    assert not [name for name in made[0] if name.startswith("sasl")]


def test_every_message_is_acknowledged_by_all_replicas_without_duplicates_and_in_bounded_time(
    made: list[dict[str, Any]],
) -> None:
    make_producer(SETTINGS, Vault(""), "us-east-1")
    assert (made[0]["acks"], made[0]["enable.idempotence"], made[0]["message.timeout.ms"]) == ("all", True, 7_000)
    assert made[0]["allow.auto.create.topics"] is False


def test_scram_logs_in_with_the_named_secret_over_tls(made: list[dict[str, Any]]) -> None:
    vault = Vault(json.dumps({"username": "clockwork", "password": "s3cret"}))
    make_producer(SETTINGS.with_(kafka_auth="scram"), vault, "us-east-1")
    assert vault.asked == ["clockwork/kafka"]
    assert (made[0]["security.protocol"], made[0]["sasl.mechanism"]) == ("SASL_SSL", "SCRAM-SHA-512")
    assert (made[0]["sasl.username"], made[0]["sasl.password"]) == ("clockwork", "s3cret")


@pytest.mark.parametrize("text", ["", "s3cret", '"s3cret"', '{"username":"s3cret"}', "[]"])
def test_a_secret_that_is_no_login_is_refused_by_name_and_not_told(made: list[dict[str, Any]], text: str) -> None:
    with pytest.raises(InvalidLogin, match="the secret clockwork/kafka must be JSON") as refused:
        make_producer(SETTINGS.with_(kafka_auth="scram"), Vault(text), "us-east-1")
    assert "s3cret" not in str(refused.value)
    assert refused.value.__suppress_context__
    assert made == []


@pytest.fixture
def role(monkeypatch: pytest.MonkeyPatch) -> None:
    """Credentials as Lambda gives them."""
    for name, value in {"ACCESS_KEY_ID": "AKIDEXAMPLE", "SECRET_ACCESS_KEY": "s3cret", "SESSION_TOKEN": "t"}.items():
        monkeypatch.setenv(f"AWS_{name}", value)


def test_an_iam_token_is_a_request_to_connect_that_the_role_has_signed(role: None) -> None:
    token, expires_seconds = iam_token("eu-central-1")
    url = urlsplit(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)).decode())
    query = parse_qs(url.query)
    assert url.hostname == "kafka.eu-central-1.amazonaws.com"
    assert query["Action"] == ["kafka-cluster:Connect"]
    assert query["X-Amz-Credential"][0].startswith("AKIDEXAMPLE/")
    assert query["X-Amz-Security-Token"] == ["t"]
    assert query["X-Amz-Expires"] == ["900"]
    assert 880 < expires_seconds - time.time() < 910


def test_a_producer_with_iam_asks_for_its_token_while_it_is_made(role: None, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def sign(region: str) -> tuple[str, int]:
        asked.append(region)
        return "token", round(time.time() * 1000) + 900_000

    monkeypatch.setattr(producer, "generate_auth_token", sign)
    make_producer(SETTINGS.with_(kafka_auth="iam"), None, "eu-central-1")
    assert asked == ["eu-central-1"]
