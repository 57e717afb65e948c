"""An upper bound on the cost of an idle month of the account's template."""

from __future__ import annotations

from bench.billing.deployed import deployed
from bench.billing.usage import Usage
from bench.idle import Minute, bill
from clockwork.settings import Settings
from tests.infra.template import Template

#: At least the bound on a metered idle minute in tests/e2e/test_units.py.
MOST = Minute(
    usage=Usage(
        write_units=32,
        read_units=22,
        sqs_sends=0,
        sqs_consumed=3,
        lambda_invocations=16,
        held_batches=0,
        api_requests=0,
    ),
    gb_seconds=0.4,
    log_bytes=20_000,
    own_metrics=30,
)


def test_an_idle_month_costs_less_than_five_dollars_without_dashboard_and_own_metrics(account: Template) -> None:
    items = bill(MOST, deployed(account, Settings.for_account().metrics_namespace))
    assert all(dollars > 0 for dollars in items.values())
    assert sum(items.values()) < 5
