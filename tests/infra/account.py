"""An account that gives the answers a test names, for what asks AWS and needs no behaviour of it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from botocore.exceptions import ClientError, ParamValidationError

from rollout.account import Account
from rollout.checks import Facts

#: An account in which nothing is deployed, and nothing stands in the way.
FACTS = Facts(
    account="123456789012",
    region="us-east-1",
    bootstrap=29,
    concurrency=1_000,
    unreserved=1_000,
    status="",
    live=None,
)


class Service:
    """A client of any service. `answers` are by the name of the call; a text is the code of the error that it raises.

    `asked` has the names of the calls, in their order. A waiter is a call by its own name.
    """

    meta = SimpleNamespace(region_name="us-east-1")

    def __init__(self, answers: dict[str, Any], asked: list[str]) -> None:
        self.answers = answers
        self.asked = asked

    def __getattr__(self, call: str) -> Any:
        def answer(**given: Any) -> Any:
            if None in given.values():
                raise ParamValidationError(report=f"{call} with {given}")
            self.asked.append(call)
            found = self.answers[call]
            if isinstance(found, str):
                raise ClientError({"Error": {"Code": found, "Message": found}}, call)
            return found

        return answer

    def get_paginator(self, call: str) -> Any:
        return SimpleNamespace(paginate=lambda **asked: [getattr(self, call)(**asked)])

    def get_waiter(self, name: str) -> Any:
        return SimpleNamespace(wait=getattr(self, name))


def account_of(asked: list[str] | None = None, **answers: Any) -> Account:
    """An account that gives these answers, and notes in `asked` what it was asked."""
    service = Service(answers, asked if asked is not None else [])
    session: Any = SimpleNamespace(create_client=lambda name: service, set_config_variable=lambda variable, value: None)
    return Account(session)
