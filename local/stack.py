"""The local stack as demonstrations, tests and benchmarks use it.

with LocalStack.start() as stack:
    stack.deploy()
    print(stack.api().request("GET", "/v1/health"))
"""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from local import deployer, synth
from local.api import SignedApi
from local.dev.keys import KEYS, Key
from local.emulator import ACCOUNT, Credentials, Emulator, emulator

ADMIN = "admin"
ADMIN_ARN = f"arn:aws:iam::{ACCOUNT}:user/{ADMIN}"
_EVERYTHING = {"Effect": "Allow", "Action": "*", "Resource": "*"}


def say_on_terminal(line: str) -> None:
    """Print a line of progress on standard error: standard output is for results."""
    print(line, file=sys.stderr, flush=True)


class LocalStack:
    """An emulator and the stack that is deployed into it. `outputs` are the stack's, empty before `deploy`."""

    def __init__(self, running: Emulator, say: deployer.Say, keys: Mapping[str, Key] | None = None) -> None:
        self.emulator = running
        self._keys = keys or {}
        self.outputs: dict[str, str] = {}
        #: A user that may do everything and is an admin principal of the stack that `deploy` deploys.
        self.admin = self.create_user(ADMIN, _EVERYTHING)
        self._say = say
        self._apis: list[SignedApi] = []

    @classmethod
    @contextmanager
    def start(
        cls,
        *,
        port: int = 0,
        secure: bool = True,
        say: deployer.Say = say_on_terminal,
        address: socket.socket | None = None,
        state: Path | None = None,
        calls: Path | None = None,
    ) -> Iterator[LocalStack]:
        """An emulator on 127.0.0.1 (a free port unless one is given), still empty; at the end nothing of it is left.

        For `address`, `state` and `calls` see `local.emulator`. With an address, users have the keys of
        `local.dev.keys`.
        """
        with emulator(secure=secure, port=port, address=address, state=state, calls=calls) as running:
            stack = cls(running, say, KEYS if address else None)
            try:
                yield stack
            finally:
                for api in stack._apis:
                    api.close()

    @property
    def endpoint_url(self) -> str:
        """The address at which every AWS service of the emulator answers."""
        return self.emulator.endpoint_url

    @property
    def ca_bundle(self) -> Path | None:
        """The certificate that a client must trust; None without TLS."""
        return self.emulator.ca_bundle

    @property
    def api_url(self) -> str:
        """The address of the deployed API; its host resolves on some systems only, see `local.api`."""
        scheme = self.endpoint_url.partition("://")[0]
        return f"{scheme}://{self.outputs['ApiId']}.execute-api.localhost:{self.emulator.port}"

    def deploy(self, context: Mapping[str, str] | None = None, *, assembly: Path | None = None) -> dict[str, str]:
        """Synthesize (with `-c` values, if any) and deploy, or deploy a given assembly; returns the outputs."""
        if assembly is None:
            self._say("Synthesizing the CDK app")
            assembly = self.synthesize(context)
        self.outputs = deployer.deploy(self.emulator, assembly, self._say)
        return self.outputs

    @staticmethod
    def synthesize(context: Mapping[str, str] | None = None) -> Path:
        """The cloud assembly for these `-c` values, with `ADMIN` as the admin; made anew when a source has changed."""
        return synth.assembly({"stage": "local", "adminPrincipals": ADMIN_ARN, **(context or {})})

    def client(self, service: str, credentials: Credentials | None = None, *, connections: int = 20) -> Any:
        """A botocore client of a service, of the root user by default."""
        return self.emulator.client(service, credentials, connections=connections)

    def api(self, credentials: Credentials | None = None) -> SignedApi:
        """A client of the deployed API with a caller's credentials, the admin's by default."""
        api = SignedApi(
            self.api_url, credentials or self.admin, connect_to=self.emulator.port, ca_bundle=self.ca_bundle
        )
        self._apis.append(api)
        return api

    def create_user(self, name: str, *statements: Mapping[str, object]) -> Credentials:
        """An IAM user with these policy statements, and its access key; new unless the kept state has it."""
        iam = self.emulator.client("iam")
        try:
            arn = iam.create_user(UserName=name)["User"]["Arn"]
        except iam.exceptions.EntityAlreadyExistsException:
            if name not in self._keys:
                raise
            arn = iam.get_user(UserName=name)["User"]["Arn"]
        if statements:
            policy = json.dumps({"Version": "2012-10-17", "Statement": list(statements)})
            iam.put_user_policy(UserName=name, PolicyName="given", PolicyDocument=policy)
        if name in self._keys:
            return Credentials(*self._keys[name], arn)
        key = iam.create_access_key(UserName=name)["AccessKey"]
        return Credentials(key["AccessKeyId"], key["SecretAccessKey"], arn)
