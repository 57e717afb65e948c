"""Changes of many: the question with its number, the progress that needs no page, the stop, and each refusal."""

from __future__ import annotations

import pytest

from clockwork_client.console.context import Context
from clockwork_client.console.pages.operations import progress
from clockwork_client.operations import Operation
from tests.console.scenes import DOWN, ONCE, Shop
from tests.console.visitor import Visitor

NEW = "/operations/new"


@pytest.fixture
def trouble(shop: Shop) -> Shop:
    """A shop whose target has been down for a while, and is mended by now."""
    shop.v.advance(minutes=10)
    shop.v.on_deliver(lambda _: 200)
    return shop


def only(shop: Shop) -> Operation:
    (found,) = shop.cw.operations
    return found


def test_the_dead_are_redriven_by_the_deployment_whatever_becomes_of_the_page(trouble: Shop, reader: Visitor) -> None:
    many = len(trouble.dead())
    assert many > 5
    page = reader.look("/dead?prefix=crm")
    address = f"{NEW}?kind=redriveDead&prefix=crm"
    assert address.replace("&", "&amp;") in page.text
    asked = reader.look(address)
    assert f"Redrive {many} dead runs?" in asked.words
    assert "clockwork operation begin redriveDead --prefix 'crm'" in asked.words
    begun = reader.submit(address, NEW, reason="mended", max_per_second="100")
    assert "It begins within a minute." in begun.words
    made = only(trouble)
    assert (made.kind, made.filter.prefix, made.reason, made.max_per_second) == ("redriveDead", "crm", "mended", 100)
    trouble.v.advance(minutes=2)
    shown = reader.look(f"/operations/{made.operation_id}")
    assert f"Done. {many} changed of {many} found." in shown.words
    assert trouble.dead() == []
    assert "Redrive of many" in reader.look("/operations").words


def test_an_operation_is_stopped_by_its_button_and_the_rest_stays(trouble: Shop, reader: Visitor) -> None:
    many = len(trouble.dead())
    reader.submit(f"{NEW}?kind=discardDead", NEW, max_per_second="0.1")
    page = f"/operations/{only(trouble).operation_id}"
    trouble.v.advance(minutes=1)
    assert "Running." in reader.look(page).words
    stopped = reader.submit(page, f"{page}/stop")
    assert "Nothing more is changed." in stopped.words
    assert "Stopped. " in reader.look(page).words
    trouble.v.advance(hours=1)
    assert many - 3 <= len(trouble.dead()) < many


def test_jobs_are_counted_paused_resumed_and_cancelled_by_tag(shop: Shop, reader: Visitor) -> None:
    assert f"{NEW}?kind=pauseJobs" in reader.look("/jobs").text
    assert "Name the jobs first" in reader.look(f"{NEW}?kind=pauseJobs").words
    address = f"{NEW}?kind=pauseJobs&tag=team%3Dshop"
    assert "Pause 1 job?" in reader.look(address).words
    reader.submit(address, NEW, reason="incident", waiting="cancel")
    shop.v.advance(minutes=1)
    found = shop.cw.jobs.find("shop/heartbeat")
    assert found is not None
    assert (found.state, found.reason) == ("PAUSED", "incident")
    reader.submit(f"{NEW}?kind=resumeJobs&tag=team&paused_reason=incident", NEW)
    shop.v.advance(minutes=1)
    found = shop.cw.jobs.find("shop/heartbeat")
    assert found is not None
    assert found.state == "ACTIVE"
    reader.submit(f"{NEW}?kind=cancelJobs&prefix=shop", NEW)
    shop.v.advance(minutes=1)
    assert shop.cw.jobs.find("shop/heartbeat") is None


@pytest.mark.parametrize("rate", ["lots", "inf", "nan", "1e999", "-1"])
def test_a_refused_field_has_its_fault_beside_it_and_keeps_what_was_typed(
    trouble: Shop, reader: Visitor, rate: str
) -> None:
    answer = reader.submit(f"{NEW}?kind=redriveDead", NEW, max_per_second=rate, reason="mended")
    assert answer.status == 422
    assert 'aria-invalid="true"' in answer.text
    assert f'value="{rate}"' in answer.text
    assert 'value="mended"' in answer.text
    assert list(trouble.cw.operations) == []


def test_a_fifth_is_refused_with_the_reason(trouble: Shop, reader: Visitor) -> None:
    for _ in range(4):
        reader.submit(f"{NEW}?kind=redriveDead", NEW)
    refused = reader.submit(f"{NEW}?kind=redriveDead", NEW)
    assert "4 operations that are not over" in refused.words
    assert len(list(trouble.cw.operations)) == 4


def test_what_was_passed_has_its_reason(shop: Shop, reader: Visitor) -> None:
    gone = shop.make("gone", DOWN, every=20, retry=ONCE)
    shop.v.advance(minutes=1)
    shop.cw.jobs.cancel(gone.job_id)
    made = shop.cw.operations.begin("redriveDead", prefix="gone")
    shop.v.advance(minutes=1)
    page = reader.look(f"/operations/{made.operation_id}").words
    assert "could not be changed" in page
    assert "its job was deleted" in page


def test_a_console_that_only_reads_shows_operations_and_begins_none(trouble: Shop) -> None:
    made = trouble.cw.operations.begin("redriveDead", max_per_second=0.1)
    reader = Visitor(trouble.cw, trouble.v, is_read_only=True).enter()
    page = reader.look(f"/operations/{made.operation_id}")
    assert "Running." in page.words
    assert "/stop" not in page.text
    assert reader.get(f"{NEW}?kind=redriveDead").status == 404


@pytest.mark.parametrize("path", [f"{NEW}?kind=burnDead", NEW, "/operations/none"])
def test_what_is_not_there_is_not_found(reader: Visitor, path: str) -> None:
    assert reader.get(path).status == 404


@pytest.mark.parametrize(
    ("state", "says"),
    [("STOPPING", "may change up to 100 more"), ("FAILED", "Given up. 3 changed of 7 found."), ("DONE", "Done. 3")],
)
def test_each_state_is_a_true_sentence(shop: Shop, state: str, says: str) -> None:
    made = shop.cw.operations.begin("redriveDead")
    assert says in progress(Operation({**made.raw, "state": state, "changed": 3, "matched": 7})).says


def test_the_console_keeps_no_progress_of_its_own() -> None:
    assert "bulk" not in Context.__dataclass_fields__
