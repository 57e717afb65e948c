"""Asks the offline IAM simulator of a development package (package.json) for its verdicts."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.support.iam.calls import REGION, Call
from tests.support.iam.policies import Account

ALLOWED = "Allowed"
_PROGRAM = Path(__file__).with_name("simulator.mjs")
#: The simulator does not know keys that end in a name of the caller's. It compares this one under another's name.
_STAND_INS = {"kms:EncryptionContext:PARAMETER_ARN": "kms:RequestAlias"}


class NotInstalled(Exception):
    """The simulator is missing, or Node is."""


def verdicts(account: Account, calls: Iterable[Call]) -> dict[Call, str]:
    """Each call with `Allowed`, `ImplicitlyDenied` or `ExplicitlyDenied`, by the policies of its role; or an error.

    It is an error if AWS knows no such action, or if the action takes no resource of this kind. Raises NotInstalled.
    """
    asked = sorted(set(calls))
    requests = json.dumps([_request(account, call) for call in asked])
    for key, stand_in in _STAND_INS.items():
        requests = requests.replace(f'"{key}"', f'"{stand_in}"')
    done = subprocess.run(
        ["node", str(_PROGRAM)],
        input=requests,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise NotInstalled(f"`make setup-dev` installs it.\n{done.stderr}")
    return dict(zip(asked, json.loads(done.stdout), strict=True))


def _request(account: Account, call: Call) -> dict[str, Any]:
    # Every call of ours is made over TLS.
    always = {"aws:SecureTransport": "true", "aws:RequestedRegion": REGION, "aws:PrincipalAccount": account.number}
    root = {"AWS": f"arn:aws:iam::{account.number}:root"}
    # KMS asks the policy of the key, too; the default one leaves everything to IAM.
    everything = {"Effect": "Allow", "Action": "kms:*", "Resource": "*", "Principal": root}
    of_key = {"Version": "2012-10-17", "Statement": [everything]}
    return {
        "principal": f"arn:aws:iam::{account.number}:role/{call.role}",
        "action": call.action,
        "resource": call.resource,
        "account": account.number,
        "context": {**always, **dict(call.context)},
        "statements": account.statements(call.role),
        "resourcePolicy": of_key if call.action.startswith("kms:") else None,
    }
