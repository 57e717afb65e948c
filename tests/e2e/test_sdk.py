"""The Python client over its real transport, against signatures that the emulator checks as AWS does."""

from __future__ import annotations

import pytest
from botocore.credentials import Credentials

from clockwork_client import Clockwork, NotAllowed, NotFound, http, job, verify_webhook
from tests.e2e.conftest import SECRET, SECRET_NAME
from tests.e2e.deployment import Deployment
from tests.e2e.hooks import Hook, Hooks
from tests.e2e.tenant import Tenant


@pytest.mark.usefixtures("resolving")
def test_jobs_are_created_delivered_verified_and_listed(
    deployment: Deployment, acme: Tenant, webhooks: Hooks, hook: Hook
) -> None:
    # The fixture `acme` has made the secret.
    with deployment.clockwork("by-sdk", allowedPrivateTargets=[webhooks.place], signingSecrets=[SECRET_NAME]) as cw:
        made = cw.schedule(http(hook.url), {"order": 17}, in_=1)
        (arrival,) = hook.await_arrivals(1)
        context = verify_webhook(arrival.headers, arrival.body, [SECRET])
        assert (context.job_id, context.attempt, context.due_at) == (made.job_id, 1, made.due_at)
        (execution,) = cw.executions.list(made.job_id)
        assert execution.execution_id == context.execution_id
        results = list(cw.schedule_many(job(http(hook.url), number, in_=3600) for number in range(501)))
        assert sum(one.job is not None for one in results) == 501
        cw.schedule(http(hook.url), cron="0 3 * * *", key="a b/c+d~e:*'()ü", tags={"team": "a b"})
        (found,) = cw.jobs.list(prefix="a b/c+d~e:*'()", tag="team=a b")
        assert found.job_key == "a b/c+d~e:*'()ü"
        assert cw.jobs.cancel(found.job_id).result == "cancelled"
        with pytest.raises(NotFound):
            cw.jobs.get("no such/job ü")


@pytest.mark.usefixtures("resolving")
def test_a_wrong_secret_is_refused(deployment: Deployment) -> None:
    caller = deployment.caller("misspelt")
    forged = Credentials(caller.access_key, "not the secret of this key")
    with (
        Clockwork(deployment.stack.api_url, "acme", region="us-east-1", credentials=forged) as cw,
        pytest.raises(NotAllowed),
    ):
        cw.jobs.get("j")
