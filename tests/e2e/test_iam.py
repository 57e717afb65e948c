"""The calls of all Lambdas to AWS in all tests of this run, judged by the policies that an account would have."""

from __future__ import annotations

from tests.e2e.deployment import Deployment
from tests.e2e.tenant import Tenant
from tests.support.iam.by_aws import decryptions
from tests.support.iam.judged import account_of_the_tests, seen_by
from tests.support.iam.simulator import ALLOWED, verdicts


def test_the_accounts_policies_allow_what_the_lambdas_ask_for_and_refuse_what_the_emulator_refused(
    deployment: Deployment, acme: Tenant
) -> None:
    """It is the last test of the run (conftest), and judges what the tests before it have caused."""
    deployment.invoke("ticker", {})
    account = account_of_the_tests()
    seen = seen_by(account)
    judged = verdicts(account, [*seen, *decryptions(account, seen)])
    acting = {call.role.removeprefix("Functions").partition("Role")[0] for call in seen}
    assert {"Api", "Ticker", "Poller", "Deliverer"} <= acting
    expected = {call: seen.get(call, False) for call in judged}
    wrong = {call: verdict for call, verdict in judged.items() if (verdict != ALLOWED) != expected[call]}
    assert wrong == {}
    assert all(verdict in (ALLOWED, "ImplicitlyDenied", "ExplicitlyDenied") for verdict in judged.values())
