"""The fixed access keys of the development server. They are no secrets: nothing but a server on loopback takes them."""

from __future__ import annotations

from typing import NamedTuple


class Key(NamedTuple):
    """An access key of an IAM user of the emulator."""

    access_key: str
    secret_key: str


ADMIN = "admin"
DEMO = "demo"
KEYS = {
    ADMIN: Key("CLOCKWORKDEVADMIN000", "dev-admin-0000000000000000000000000000000"),
    DEMO: Key("CLOCKWORKDEVDEMO0000", "dev-demo-00000000000000000000000000000000"),
}
#: The name of the secret that signs the webhooks of the client `demo`, and the secret.
SIGNING_SECRET = "clockwork/demo"
WEBHOOK_SECRET = "whsec_ZGV2ZWxvcG1lbnQtb25seS1zZWNyZXQ="
