"""Pages of lists: bounded in bytes, and complete when followed to their end."""

from __future__ import annotations

import pytest

from clockwork.edge.http.pages import LARGEST_PAGE, page
from tests.handlers.handlers import Api


def test_a_page_ends_before_it_is_too_large_and_goes_on_behind_its_last_item() -> None:
    items = [(f"t{n}", {"n": n, "text": "x" * (LARGEST_PAGE // 3)}) for n in range(5)]
    first, goes_on = page(items, "after-all")
    assert ([item["n"] for item in first], goes_on) == ([0, 1], "t1")
    last, goes_on = page(items[4:], None)
    assert ([item["n"] for item in last], goes_on) == ([4], None)


def test_one_item_is_shown_however_large_it_is() -> None:
    large = {"text": "x" * (LARGEST_PAGE + 1)}
    assert page([("t", large), ("u", {})], None) == ([large], "t")


def test_the_last_page_has_no_token() -> None:
    assert page([("t", {})], None) == ([{}], None)
    assert page([], None) == ([], None)


@pytest.mark.parametrize("limit", ["1", "2", "7", "1000"])
def test_the_executions_of_a_job_are_all_listed_once_whatever_the_page(limit: str) -> None:
    api = Api()
    job_id = api.create(jobKey="k", schedule={"every": {"seconds": 10}}).body["jobId"]
    api.clockwork.run_until(api.clockwork.clock.at + 95_000)
    seen: list[str] = []
    query = {"limit": limit}
    while True:
        answer = api.call("GET", f"/v1/jobs/{job_id}/executions", query=query).body
        seen += [item["executionId"] for item in answer["items"]]
        assert len(answer["items"]) <= int(limit)
        if "nextToken" not in answer:
            break
        query["nextToken"] = answer["nextToken"]
    assert len(seen) >= 9
    assert seen == sorted(set(seen), reverse=True)
    assert set(seen) == {execution.execution_id for execution in api.clockwork.executions.all()}
