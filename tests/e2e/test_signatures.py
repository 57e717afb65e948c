"""Webhook signatures on the deployed stack, with signing secrets from both secret stores."""

from __future__ import annotations

import base64

from tests.e2e.conftest import SECRET, SECRET_NAME
from tests.e2e.deployment import Deployment
from tests.e2e.hooks import Hooks, is_signed
from tests.e2e.tenant import Tenant


def test_a_parameter_signs_and_so_does_the_secret_beside_it(
    deployment: Deployment, acme: Tenant, webhooks: Hooks
) -> None:
    other = "whsec_" + base64.b64encode(b"kept in parameter store").decode()
    deployment.stack.client("ssm").put_parameter(Name="/clockwork/rotating", Value=other, Type="SecureString")
    tenant = deployment.tenant(
        "rotating",
        signingSecrets=[SECRET_NAME, "ssm:/clockwork/rotating"],
        allowedPrivateTargets=[webhooks.place],
    )
    hook = webhooks.hook()
    tenant.create(hook)
    (arrival,) = hook.await_arrivals(1)
    assert [is_signed(arrival, secret) for secret in (SECRET, other)] == [True, True]


def test_a_parameter_in_plain_text_signs_nothing_and_is_told_to_nobody(deployment: Deployment, webhooks: Hooks) -> None:
    plain = "whsec_" + base64.b64encode(b"anybody may read this").decode()
    deployment.stack.client("ssm").put_parameter(Name="/clockwork/plain", Value=plain, Type="String")
    names = ["ssm:/clockwork/plain"]
    tenant = deployment.tenant("plain", signingSecrets=names, allowedPrivateTargets=[webhooks.place])
    hook = webhooks.hook()
    job = tenant.await_job(tenant.create(hook, retryPolicy={"maxAttempts": 1})["jobId"], "DEAD")
    (attempt,) = job["lastExecution"]["attempts"]
    assert attempt["error"] == "signing secret ssm:/clockwork/plain cannot be read: it is no SecureString"
    assert hook.arrivals == []
