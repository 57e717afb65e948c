"""Whether a signing secret exists, in AWS Secrets Manager or SSM Parameter Store. No call here could read a secret."""

from __future__ import annotations

from clockwork.aws import botocore_errors
from clockwork.aws.errors import ask
from clockwork.aws.secret_names import PARAMETERS
from clockwork.aws.session import Aws

_MISSING = frozenset({"ResourceNotFoundException", "InvalidResourceId"})


class AwsSigningSecrets:
    """`ports.SigningSecrets` by a description of the secret.

    Parameter Store describes no single parameter, only all of an account. The tags of a parameter can be listed only if
    it exists, and the right to list them is no right to read its value.
    """

    def __init__(self, aws: Aws) -> None:
        self._secrets_manager = aws.client_later("secretsmanager")
        self._parameter_store = aws.client_later("ssm")

    def exists(self, name: str) -> bool:
        return ask(self._is_there, name)

    def _is_there(self, name: str) -> bool:
        try:
            return self._is_parameter(name) if name.startswith(PARAMETERS) else self._is_secret(name)
        except botocore_errors.ClientError as error:
            if error.response["Error"].get("Code") in _MISSING:
                return False
            raise

    def _is_secret(self, name: str) -> bool:
        return "DeletedDate" not in self._secrets_manager.describe_secret(SecretId=name)

    def _is_parameter(self, name: str) -> bool:
        wanted = name.removeprefix(PARAMETERS)
        self._parameter_store.list_tags_for_resource(ResourceType="Parameter", ResourceId=wanted)
        return True
