"""Aliases go back to the versions of before the last deployment, and forward again; nothing else is moved."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from rollout.live import Live, Resource
from rollout.rollback import NotRolledBack, rollback

DEPLOYED_AT = datetime(2026, 5, 5, 10, tzinfo=UTC)
BEFORE, SINCE = (f"{DEPLOYED_AT + timedelta(seconds=s):%Y-%m-%dT%H:%M:%S}.000+0000" for s in (-86_400, 30))


class Lambdas:
    """Lambda and CloudFormation of one stack: for each function its versions with the time of each, and its alias."""

    def __init__(self, **functions: tuple[int, dict[int, str]]) -> None:
        self.made = {name: made for name, (_, made) in functions.items()}
        self.alias = {name: live for name, (live, _) in functions.items()}
        self.description = dict.fromkeys(functions, "")
        self.state = "UPDATE_COMPLETE"
        self.session = None

    def client(self, service: str) -> Lambdas:
        assert service in ("lambda", "cloudformation")
        return self

    def status(self, stack: str) -> str:
        return self.state

    def describe_stacks(self, **asked: Any) -> Any:
        created = DEPLOYED_AT - timedelta(days=9)
        return {"Stacks": [{"CreationTime": created, "LastUpdatedTime": DEPLOYED_AT}]}

    def get_paginator(self, name: str) -> Lambdas:
        assert name == "list_versions_by_function"
        return self

    def paginate(self, **asked: str) -> Iterator[Any]:
        """Two versions a page, as an account answers fifty."""
        made = [{"Version": "$LATEST", "LastModified": SINCE}]
        made += [{"Version": str(n), "LastModified": at} for n, at in self.made[asked["FunctionName"]].items()]
        for start in range(0, len(made), 2):
            yield {"Versions": made[start : start + 2]}

    def get_alias(self, **asked: str) -> Any:
        assert asked["Name"] == "live"
        function = asked["FunctionName"]
        return {"FunctionVersion": str(self.alias[function]), "Description": self.description.get(function, "")}

    def update_alias(self, **asked: str) -> None:
        assert asked["Name"] == "live"
        self.alias[asked["FunctionName"]] = int(asked["FunctionVersion"])
        self.description[asked["FunctionName"]] = asked["Description"]
        assert len(asked["Description"]) <= 256

    def deploy(self, function: str) -> None:
        """A deployment of new code: the versions of before are older than it, and the alias keeps its description."""
        self.made[function] = dict.fromkeys(self.made[function], BEFORE)
        self.alias[function] = max(self.made[function]) + 1
        self.made[function][self.alias[function]] = SINCE


class Stack(Live):
    """A live stack of these Lambdas."""

    def __init__(self, lambdas: Lambdas) -> None:
        self.name = "Clockwork"
        self.account: Any = lambdas
        self.resources = [Resource("AWS::Lambda::Function", f"Functions{name}", name, False) for name in lambdas.alias]


def two_deployments() -> Lambdas:
    """The last deployment changed the api, and left the poller alone."""
    return Lambdas(api=(4, {1: BEFORE, 2: BEFORE, 3: BEFORE, 4: SINCE}), poller=(2, {1: BEFORE, 2: BEFORE}))


def test_only_what_the_last_deployment_changed_goes_back_and_a_repeat_finds_nothing_to_do() -> None:
    lambdas, said = two_deployments(), list[str]()
    rollback(Stack(lambdas), said.append)
    assert lambdas.alias == {"api": 3, "poller": 2}
    assert said[1] == "api: version 3, was 4"
    said.clear()
    rollback(Stack(lambdas), said.append)
    assert lambdas.alias == {"api": 3, "poller": 2}
    assert said[0].startswith("Nothing to do: every Lambda is of a version from before the last deployment")


@pytest.mark.parametrize(("forward", "live"), [(False, 2), (True, 1)])
def test_the_lambdas_of_a_stack_whose_name_goes_on_with_release_stay(forward: bool, live: int) -> None:
    lambdas, other = two_deployments(), "Clockwork-Release-Api"
    stack = Stack(lambdas)
    lambdas.made[other], lambdas.alias[other] = {1: BEFORE, 2: SINCE}, live
    rollback(stack, list[str]().append, forward=forward)
    assert lambdas.alias[other] == live


def test_a_version_that_was_rolled_back_is_no_place_to_go_back_to() -> None:
    """A release is rolled back, and what was to mend it is, too: that goes back to the one before both."""
    lambdas = Lambdas(api=(1, {1: BEFORE}))
    for _ in range(20):
        lambdas.deploy("api")
        rollback(Stack(lambdas), list[str]().append)
        assert lambdas.alias == {"api": 1}
    lambdas.deploy("api")
    good = lambdas.alias["api"]
    lambdas.deploy("api")
    rollback(Stack(lambdas), list[str]().append)
    assert lambdas.alias == {"api": good}


def test_a_version_to_which_forward_went_is_a_place_to_go_back_to() -> None:
    lambdas = two_deployments()
    rollback(Stack(lambdas), list[str]().append)
    rollback(Stack(lambdas), list[str]().append, forward=True)
    lambdas.deploy("api")
    rollback(Stack(lambdas), list[str]().append)
    assert lambdas.alias["api"] == 4


def test_forward_goes_to_the_newest_versions_again() -> None:
    lambdas, said = two_deployments(), list[str]()
    rollback(Stack(lambdas), said.append)
    rollback(Stack(lambdas), said.append, forward=True)
    assert lambdas.alias == {"api": 4, "poller": 2}
    said.clear()
    rollback(Stack(lambdas), said.append, forward=True)
    assert said[0].startswith("Nothing to do: every Lambda is of its newest version")


def test_nothing_is_moved_if_one_has_no_version_to_go_back_to() -> None:
    lambdas = two_deployments()
    lambdas.made["sweeper"], lambdas.alias["sweeper"] = {7: SINCE}, 7
    with pytest.raises(NotRolledBack, match="sweeper has no version"):
        rollback(Stack(lambdas), print)
    assert lambdas.alias == {"api": 4, "poller": 2, "sweeper": 7}


@pytest.mark.parametrize("state", ["UPDATE_IN_PROGRESS", "UPDATE_ROLLBACK_FAILED"])
def test_nothing_is_moved_while_cloudformation_is_not_done(state: str) -> None:
    lambdas = two_deployments()
    lambdas.state = state
    with pytest.raises(NotRolledBack, match=state):
        rollback(Stack(lambdas), print)
    assert lambdas.alias == {"api": 4, "poller": 2}
