"""Policies of a client for its jobs: defaults, lists of allowed targets, and caps on creates."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.handlers.handlers import Api, job_body
from tests.support.examples import ACME, ADMIN, ALICE

POLICY = {"maxAttempts": 2, "backoff": "fixed", "initialSeconds": 7, "retryStatusCodes": [404]}


def api_with(**client: Any) -> Api:
    """An API with one api environment, where an admin wrote the client acme with these fields."""
    api = Api(api_environments=1)
    answer = api.call("PUT", "/v1/clients/acme", {"principals": [ALICE], **client}, caller=ADMIN)
    assert answer.status == 200, answer.text
    shown = api.call("GET", "/v1/clients/acme").body
    assert shown == answer.body
    assert {name: shown[name] for name in client if name != "retryPolicy"} == {
        name: value for name, value in client.items() if name != "retryPolicy"
    }
    return api


def test_every_field_of_a_client_is_shown_as_it_was_written() -> None:
    queue = "arn:aws:sqs:us-east-1:123456789012:dead"
    api_with(
        retryPolicy=POLICY,
        relevancyWindowSeconds=600,
        precision="second",
        maxRatePerSecond=2.5,
        maxConcurrency=3,
        createsPerSecond=50,
        jobsPerDay=1_000_000,
        retentionDays=7,
        allowedTargetHosts=["example.com", "*.example.org"],
        allowedTargetArns=["arn:aws:lambda:us-east-1:123456789012:function:acme-*"],
        allowedQueueArns=[queue],
        deadLetterQueueArn=queue,
    )


@pytest.mark.parametrize("named", [{}, {"jobKey": "k", "schedule": {"every": {"seconds": 60}}}], ids=["once", "named"])
def test_a_job_without_policies_has_its_clients_and_one_with_them_its_own(named: dict[str, Any]) -> None:
    api = api_with(retryPolicy=POLICY, relevancyWindowSeconds=600)
    shown = api.call("GET", f"/v1/jobs/{api.create(**named).body['jobId']}").body
    assert shown["relevancyWindowSeconds"] == 600
    assert {name: shown["retryPolicy"][name] for name in POLICY} == POLICY
    again = {"jobKey": "other", "schedule": named["schedule"]} if named else {}
    own = api.create(**again, retryPolicy={"maxAttempts": 9}, relevancyWindowSeconds=30).body["jobId"]
    shown = api.call("GET", f"/v1/jobs/{own}").body
    assert (shown["retryPolicy"]["maxAttempts"], shown["retryPolicy"]["initialSeconds"]) == (9, 5)
    assert (shown["retryPolicy"]["retryStatusCodes"], shown["relevancyWindowSeconds"]) == ([], 30)


@pytest.mark.parametrize("named", [{}, {"jobKey": "k", "schedule": {"every": {"seconds": 60}}}], ids=["once", "named"])
@pytest.mark.parametrize(
    ("of_client", "of_job", "shown"),
    [
        ({}, {}, None),
        ({}, {"precision": "second"}, "second"),
        ({"precision": "second"}, {}, "second"),
        ({"precision": "second"}, {"precision": "millisecond"}, None),
    ],
)
def test_a_job_has_its_own_precision_or_its_clients(
    named: dict[str, Any], of_client: dict[str, Any], of_job: dict[str, Any], shown: str | None
) -> None:
    """Millisecond is what is meant where none is shown."""
    api = api_with(**of_client)
    job = api.call("GET", f"/v1/jobs/{api.create(**named, **of_job).body['jobId']}").body
    assert job.get("precision") == shown


def test_another_precision_is_refused() -> None:
    refused = api_with().create(precision="minute")
    assert (refused.status, refused.body["errors"][0]["pointer"]) == (422, "/precision")


def test_a_job_keeps_the_policies_that_its_client_had_when_it_was_created() -> None:
    api = api_with(retryPolicy=POLICY, relevancyWindowSeconds=600)
    job_id = api.create().body["jobId"]
    api.call("PUT", "/v1/clients/acme", {"principals": [ALICE]}, caller=ADMIN)
    shown = api.call("GET", f"/v1/jobs/{job_id}").body
    assert (shown["retryPolicy"]["maxAttempts"], shown["relevancyWindowSeconds"]) == (2, 600)


HOSTS = ["example.com", "*.example.org", "xn--bcher-kva.example", "203.0.113.5"]


@pytest.mark.parametrize(
    ("url", "status"),
    [
        ("https://example.com/hook", 201),
        ("https://EXAMPLE.com:8443/hook", 201),
        ("https://a.example.org/", 201),
        ("https://a.b.example.org/", 201),
        ("https://b\u00fccher.example/", 201),
        ("https://example.org/", 422),
        ("https://badexample.org/", 422),
        ("https://sub.example.com/", 422),
        ("https://example.com.evil.net/", 422),
        ("https://example.net/?https://example.com", 422),
        ("http://inside.internal:8080/", 201),
    ],
)
def test_webhooks_go_to_listed_hosts_only(url: str, status: int) -> None:
    api = api_with(allowedTargetHosts=HOSTS, allowedPrivateTargets=["inside.internal:8080"])
    answer = api.create(target={"type": "http", "url": url})
    assert answer.status == status, answer.text
    if status == 422:
        assert (answer.pointers, api.writes) == (["/target/url"], [])
        assert "allowedTargetHosts" in answer.details[0]


def test_for_development_a_client_may_call_every_port_of_a_host() -> None:
    api = api_with(allowedPrivateTargets=["127.0.0.1:*", "localhost:*", "[::1]:*"])
    for url in ("http://127.0.0.1:8080/hook", "http://localhost/", "https://LOCALHOST:1/", "http://[::1]:9/"):
        assert api.create(target={"type": "http", "url": url}).status == 201, url
    for url in (
        "http://127.0.0.2:8080/",
        "http://a.localhost:80/",
        "http://10.0.0.1/",
        "http://localhost.example.com/",
    ):
        assert api.create(target={"type": "http", "url": url}).status == 422, url


@pytest.mark.parametrize("target", ["127.0.0.1:*", "localhost:*", "10.0.0.1:*", "inside.internal:*"])
def test_in_an_account_a_private_target_names_its_port(target: str) -> None:
    api = Api(stage="account")
    answer = api.call("PUT", "/v1/clients/acme", {"allowedPrivateTargets": [target]}, caller=ADMIN)
    assert (answer.status, answer.pointers, api.writes) == (422, ["/allowedPrivateTargets/0"], [])


@pytest.mark.parametrize(
    ("target", "what"),
    [("10.0.0.1:80", "private"), ("[fd00::1]:80", "private"), ("inside.internal:8080", "local name")],
)
def test_in_an_account_without_a_network_what_cannot_be_reached_is_refused_with_the_reason(
    target: str, what: str
) -> None:
    api = Api(stage="account")
    answer = api.call("PUT", "/v1/clients/acme", {"allowedPrivateTargets": [target]}, caller=ADMIN)
    assert (answer.status, answer.pointers, api.writes) == (422, ["/allowedPrivateTargets/0"], [])
    assert what in answer.details[0]
    assert "option `network`" in answer.details[0]
    # A name may be public, and then its plain HTTP is reached without a network.
    body = {"allowedPrivateTargets": ["legacy.example.com:8080"]}
    assert api.call("PUT", "/v1/clients/acme", body, caller=ADMIN).status == 200
    api = Api(stage="account", has_network=True)
    assert api.call("PUT", "/v1/clients/acme", {"allowedPrivateTargets": [target]}, caller=ADMIN).status == 200


@pytest.mark.parametrize(
    "target", ["127.0.0.1:**", "*:*", "*:80", ":*", "127.0.0.1:80*", "u@h:*", "h/x:*", "h:1:*", "*"]
)
def test_a_star_stands_for_a_whole_port_and_for_nothing_else(target: str) -> None:
    api = Api()
    answer = api.call("PUT", "/v1/clients/acme", {"allowedPrivateTargets": [target]}, caller=ADMIN)
    assert (answer.status, answer.pointers, api.writes) == (422, ["/allowedPrivateTargets/0"], [])


def test_who_creates_too_fast_is_told_when_to_come_again_and_nothing_is_written() -> None:
    api = api_with(createsPerSecond=10)
    batch = {"jobs": [job_body()] * 100}
    assert api.call("POST", "/v1/jobs/batch", batch).status == 200
    for path, body in (("/v1/jobs", job_body()), ("/v1/jobs/batch", batch), ("/v1/jobs", job_body(jobKey="k"))):
        answer = api.call("POST", path, body)
        assert (answer.status, answer.headers["Retry-After"], api.writes) == (429, "9", [])
        assert "createsPerSecond is 10" in answer.body["detail"]
    api.clockwork.clock.at += 9_000
    assert api.create().status == 201


def test_who_has_created_the_days_jobs_is_told_to_come_tomorrow() -> None:
    api = api_with(jobsPerDay=3)
    assert api.call("POST", "/v1/jobs/batch", {"jobs": [job_body(), job_body(jobKey="k"), {}]}).status == 200
    assert api.create().status == 201
    answer = api.create()
    assert (answer.status, answer.headers["Retry-After"]) == (429, str(86_400 - 22 * 3_600 - 13 * 60 - 20))
    assert [call for call in api.writes if call != "regulation.count_created"] == []


def test_caps_bind_their_client_alone_and_no_request_that_is_refused_anyway() -> None:
    api = api_with(jobsPerDay=1)
    assert api.create(payload="a" * 300_000).status == 422
    assert api.create().status == 201
    assert api.create(clientId="globex").status == 403
    assert api.call("POST", "/v1/jobs", job_body(clientId="globex"), caller=ADMIN).status == 201


@pytest.mark.parametrize(
    ("least", "schedule", "pointer"),
    [
        (60, {"every": {"seconds": 59.999}}, "/schedule/every/seconds"),
        (60, {"every": {"seconds": 60}}, None),
        (60, {"cron": "*/30 * * * * *"}, "/schedule/cron"),
        (60, {"cron": "* * * * *"}, None),
        (60.5, {"cron": "* * * * *"}, "/schedule/cron"),
        (3_600, {"cron": "0,59 * * * *", "timezone": "Europe/Berlin"}, "/schedule/cron"),
        (3_600, {"cron": "0 0,23 * * *", "timezone": "Europe/Berlin"}, None),
        (86_401, {"cron": "0 3 * * *"}, "/schedule/cron"),
        (86_401, {"cron": "0 3 * * 1"}, None),
        (31_536_000, {"cron": "0 3 1 1 *"}, None),
        (31_536_000, {"delaySeconds": 1}, None),
    ],
)
def test_a_recurring_job_fires_no_more_often_than_its_client_may(
    least: float, schedule: dict[str, Any], pointer: str | None
) -> None:
    api = api_with(minIntervalSeconds=least)
    created = api.create(jobKey="k", schedule=schedule)
    assert (created.status, created.pointers) == ((201, []) if pointer is None else (422, [pointer]))
    batch = api.call("POST", "/v1/jobs/batch", {"jobs": [job_body(jobKey="b", schedule=schedule)]}).body["results"]
    assert batch[0]["status"] == created.status
    if pointer is not None:
        assert f"the client's minIntervalSeconds of {least:g}" in created.details[0]
        assert batch[0]["problem"]["errors"][0]["pointer"] == f"/jobs/0{pointer}"
        assert not [call for call in api.writes if call.startswith(("jobs", "timeline"))]


def test_a_changed_job_fires_no_more_often_than_its_client_may_by_then() -> None:
    api = api_with()
    created = api.create(jobKey="k", schedule={"every": {"seconds": 1}})
    path = f"/v1/jobs/{created.body['jobId']}"
    api.call("PUT", "/v1/clients/acme", {"principals": [ALICE], "minIntervalSeconds": 60}, caller=ADMIN)
    for schedule, pointer in (
        ({"every": {"seconds": 2}}, "/schedule/every/seconds"),
        ({"cron": "* * * * * *"}, "/schedule/cron"),
    ):
        put = api.call("PUT", path, job_body(schedule=schedule))
        patch = api.call("PATCH", path, {"schedule": {"every": None, "cron": None, **schedule}})
        assert [(put.status, put.pointers), (patch.status, patch.pointers)] == [(422, [pointer])] * 2
    # Its schedule as it stands is judged with whatever changes.
    assert api.call("PATCH", path, {"payload": 1}).pointers == ["/schedule/every/seconds"]
    assert api.call("PATCH", path, {"schedule": {"every": {"seconds": 60}}}).status == 200


def test_the_least_interval_of_a_client_is_a_second_unless_given_and_a_year_at_most() -> None:
    api = api_with()
    assert api.call("GET", "/v1/clients/acme").body["minIntervalSeconds"] == 1
    for seconds in (0.999, 31_536_001):
        answer = api.call("PUT", "/v1/clients/acme", {"minIntervalSeconds": seconds}, caller=ADMIN)
        assert answer.pointers == ["/minIntervalSeconds"]


def test_an_identical_put_takes_up_what_its_clients_defaults_are_by_now() -> None:
    api = api_with(retryPolicy=POLICY, relevancyWindowSeconds=600, retentionDays=7)
    sent = {**job_body(), "schedule": {"every": {"seconds": 10}}}
    path = f"/v1/jobs/{api.call('POST', '/v1/jobs', {'jobKey': 'tick', **sent}).body['jobId']}"
    assert api.call("PUT", path, sent).body["changed"] is False
    later = {"principals": [ALICE], "retryPolicy": {**POLICY, "maxAttempts": 6}, "relevancyWindowSeconds": 60}
    assert api.call("PUT", "/v1/clients/acme", later, caller=ADMIN).status == 200
    before = api.call("GET", path).body
    assert (before["retryPolicy"]["maxAttempts"], before["relevancyWindowSeconds"]) == (2, 600)
    for changed in (True, False):
        answer = api.call("PUT", path, sent).body
        assert (answer["changed"], answer["revision"]) == (changed, 2)
    after = api.call("GET", path).body
    assert (after["retryPolicy"]["maxAttempts"], after["relevancyWindowSeconds"]) == (6, 60)
    assert after["nextFires"] == before["nextFires"], "the beat goes on"
    # A patch that says nothing takes them up as well.
    assert api.call("PUT", "/v1/clients/acme", {"principals": [ALICE]}, caller=ADMIN).status == 200
    assert api.call("PATCH", path, {}).body["changed"] is True
    assert "relevancyWindowSeconds" not in api.call("GET", path).body


@pytest.mark.parametrize(
    "host",
    [
        *("127.0.0.1", "127.8.9.1", "0.0.0.0", "169.254.169.254", "localhost", "a.localhost", "10.99.0.1"),
        *("[::1]", "[::]", "[fe80::1]", "[fd00:ec2::254]", "[::ffff:7f00:1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]"),
    ],
)
@pytest.mark.parametrize("has_network", [True, False])
def test_in_an_account_no_target_is_the_machine_that_delivers(host: str, has_network: bool) -> None:
    api = Api(stage="account", has_network=has_network, runtime_api="10.99.0.1:9001")
    target = f"{host}:8080"
    answer = api.call("PUT", "/v1/clients/acme", {"allowedPrivateTargets": [target]}, caller=ADMIN)
    assert (answer.status, answer.pointers, api.writes) == (422, ["/allowedPrivateTargets/0"], [])
    assert "cannot be a target: " in answer.details[0]
    # Nor where the client lists it from another stage.
    api.clockwork.clients.put(msgspec.structs.replace(ACME, allowed_private_targets=(target,)))
    answer = api.create(target={"type": "http", "url": f"http://{target}/hook"})
    assert (answer.status, answer.pointers, api.writes) == (422, ["/target/url"], [])
    assert "cannot be delivered to: " in answer.details[0]
