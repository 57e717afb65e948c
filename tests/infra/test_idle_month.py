"""An upper bound on the cost of an idle month of the account's template, with all that is deployed by default."""

from __future__ import annotations

from bench.billing.deployed import deployed
from bench.idle import AT_MOST, MOST_DOLLARS, bill
from clockwork.settings import Settings
from tests.infra.conftest import synthesize
from tests.infra.template import Template

NAMESPACE = Settings.for_account().metrics_namespace


def test_an_idle_month_costs_less_than_four_dollars_with_everything_that_is_deployed_by_default() -> None:
    # The bounds on a minute are those of the metered one in tests/emulated/test_units.py.
    items = bill(AT_MOST, deployed(synthesize(), NAMESPACE))
    free = {item for item, dollars in items.items() if dollars == 0}
    assert free == {"requests for the tables' keys", "own metrics: 0"}  # AWS owns the keys, and nothing is late
    assert sum(items.values()) < MOST_DOLLARS


def test_what_the_template_has_more_of_is_paid_for(account: Template) -> None:
    plain = sum(bill(AT_MOST, deployed(account, NAMESPACE)).values())
    for option, at_least in (({"platformLogs": "INFO"}, 0.03), ({"releaseQueues": 3}, 0.25), ({"alarms": "all"}, 2.0)):
        assert sum(bill(AT_MOST, deployed(synthesize(**option), NAMESPACE)).values()) >= plain + at_least


def test_without_own_metrics_no_alarm_looks_at_any() -> None:
    found = deployed(synthesize(ownMetrics="none"), NAMESPACE)
    assert (found.alarms_on_own_metrics, found.alarms) == (
        0,
        deployed(synthesize(), NAMESPACE).alarms + 3,  # NoPolls, TimelineThrottled, ExecutionsThrottled
    )
