"""The account that stands for the stack of the end-to-end tests, and what its policies allow that nobody used."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from dataclasses import replace
from fnmatch import fnmatchcase

from tests.infra.conftest import ADMIN, synthesize
from tests.infra.template import as_list
from tests.support.emulator import CALLS, OPTIONS
from tests.support.iam.calls import Call, recorded
from tests.support.iam.policies import Account


def account_of_the_tests() -> Account:
    """An AWS account with the options of the end-to-end tests."""
    kafka = json.dumps({"bootstrapServers": "b-1.example.com:9092"})
    return Account(synthesize(**OPTIONS, kafka=kafka, adminPrincipals=ADMIN), number="000000000000")


def seen_by(account: Account) -> dict[Call, bool]:
    """The calls of the last run, by the logical ids of their roles, each with whether the emulator refused it."""
    named = {account.name(role): role for role in account.template.all("IAM::Role")}
    return {replace(call, role=named.get(call.role, call.role)): was for call, was in recorded(CALLS).items()}


def unused(account: Account, calls: Collection[Call]) -> Iterator[tuple[str, str, str]]:
    """Role, action and resource of each permission of our functions that none of the calls needed."""
    functions = account.template.all("Lambda::Function").items()
    for role in sorted({account.role_of(one) for key, one in functions if key.startswith("Functions")}):
        own = [call for call in calls if call.role == role]
        for statement in account.allowing(role):
            for action in as_list(statement["Action"]):
                for pattern in as_list(statement["Resource"]):
                    if not any(call.action == action and fnmatchcase(call.resource, pattern) for call in own):
                        yield role, action, pattern
