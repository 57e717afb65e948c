"""The producer for the deployment's Kafka cluster: its delivery guarantees and its authentication.

Properties: https://github.com/confluentinc/librdkafka/blob/master/CONFIGURATION.md
"""

from __future__ import annotations

import json
import logging
from functools import partial
from typing import Any

from aws_msk_iam_sasl_signer.MSKAuthTokenProvider import generate_auth_token
from confluent_kafka import KafkaError, Producer

from clockwork.settings import Settings

#: The time after which the producer tells a missing topic from a cluster without an answer.
UNKNOWN_TOPIC_MS = 3_000
#: MSK closes a connection that was idle for ten minutes:
#: https://docs.aws.amazon.com/msk/latest/developerguide/msk-default-configuration.html
LONGEST_IDLE_MS = 300_000

_log = logging.getLogger(__name__)


class InvalidLogin(Exception):
    """The secret for SCRAM cannot be used.

    The message names the secret and never holds it.
    """


def make_producer(settings: Settings, secrets: Any, region: str) -> Producer:
    """A producer with its own threads and connections; raises InvalidLogin if the secret for SCRAM cannot be used.

    Make it while the environment starts: IAM's token takes a second.
    `secrets` is a Secrets Manager client, which is asked only if the authentication is `scram`.
    """
    return Producer({**_promises(settings), **_identity(settings, secrets, region)}, logger=_log)


def _promises(settings: Settings) -> dict[str, Any]:
    return {
        "bootstrap.servers": settings.kafka_bootstrap_servers,
        "client.id": "clockwork",
        "acks": "all",
        "enable.idempotence": True,
        "message.timeout.ms": settings.kafka_timeout_seconds * 1000,
        "allow.auto.create.topics": False,
        "topic.metadata.propagation.max.ms": UNKNOWN_TOPIC_MS,
        # A Lambda is frozen between invocations and may lose connections: the producer must notice, not log it.
        "socket.keepalive.enable": True,
        "connections.max.idle.ms": LONGEST_IDLE_MS,
        "log.connection.close": False,
        "error_cb": _note,
    }


def _identity(settings: Settings, secrets: Any, region: str) -> dict[str, Any]:
    if settings.kafka_auth == "plain":
        return {"security.protocol": "PLAINTEXT"}
    if settings.kafka_auth == "tls":
        return {"security.protocol": "SSL"}
    if settings.kafka_auth == "scram":
        username, password = _login(secrets, settings.kafka_secret)
        login = {"sasl.username": username, "sasl.password": password}
        return {"security.protocol": "SASL_SSL", "sasl.mechanism": "SCRAM-SHA-512", **login}
    token = partial(iam_token, region)
    return {"security.protocol": "SASL_SSL", "sasl.mechanism": "OAUTHBEARER", "oauth_cb": token}


def iam_token(region: str, _config: str = "") -> tuple[str, float]:
    """MSK's token for the role of this Lambda, signed here, and the instant at which it ends (UTC, epoch seconds).

    librdkafka asks for the next token after four fifths of that time, on a thread of its own.
    """
    token, expires_ms = generate_auth_token(region)
    return token, expires_ms / 1000


def _login(secrets: Any, name: str) -> tuple[str, str]:
    text = secrets.get_secret_value(SecretId=name).get("SecretString", "")
    try:
        login = json.loads(text)
        return str(login["username"]), str(login["password"])
    except (ValueError, KeyError, TypeError):
        # Without the cause, which may quote the secret.
        raise InvalidLogin(f'the secret {name} must be JSON: {{"username": ..., "password": ...}}') from None


def _note(error: KafkaError) -> None:
    """Log an error of the producer that belongs to no message; each message still gets its own result."""
    _log.warning("kafka: %s", error.str(), extra={"action": "kafka_error", "kafkaError": error.name()})
