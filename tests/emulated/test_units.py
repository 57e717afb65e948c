"""Upper bounds on the cost of a job: the success path writes per job only what the design names."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from bench import idle, units
from bench.billing.controls import CONTROLS, meter_controls
from bench.billing.meter import item_bytes, read_units
from bench.billing.paths import PATHS
from bench.billing.prices import ON_DEMAND
from bench.billing.scheduler import Unexpected
from bench.billing.usage import Usage
from bench.costs.loads import Way
from bench.costs.metered import Paths
from clockwork.settings import Settings
from local.emulator import Credentials, Emulator

JOBS = 200
#: Enough jobs where each has a request of its own, since each then uses the same units.
SINGLE = 60
#: Writes of one poller visit (lease and commit), shared by the jobs.
VISIT = 2


@pytest.fixture(scope="module")
def plain(emulator: Emulator) -> Usage:
    """The cost of jobs created in a batch by a client without caps."""
    return PATHS["none_batch"].run(emulator, Credentials.root("222222222222"), JOBS)


@pytest.fixture(scope="module")
def single(emulator: Emulator) -> Usage:
    """The cost of jobs each created by a request of its own."""
    return PATHS["none_single"].run(emulator, Credentials.root("555555555555"), SINGLE)


def test_a_job_of_a_batch_is_a_third_of_a_write_at_most_a_small_part_of_a_read_and_a_third_of_an_sqs_request(
    emulator: Emulator, account: Credentials
) -> None:
    usage = PATHS["none_packed"].run(emulator, account, JOBS)
    assert 0.2 <= usage.write_units <= 0.35
    assert usage.read_units <= 0.5
    assert 0.3 <= usage.sqs_requests <= 0.35
    assert 0.1 <= usage.lambda_invocations <= 0.12


def test_a_single_job_is_one_write_and_one_look_at_its_shard(single: Usage) -> None:
    assert 1 <= single.write_units <= 1 + VISIT / SINGLE
    assert single.read_units <= 1.5


def test_a_recorded_job_is_three_writes_its_row_its_claim_and_its_outcome(
    emulator: Emulator, account: Credentials
) -> None:
    usage = PATHS["full_single"].run(emulator, account, SINGLE)
    assert 3 <= usage.write_units <= 3 + VISIT / SINGLE


def test_a_job_of_a_pool_is_its_row_its_claim_its_outcome_and_a_share_of_a_check(
    emulator: Emulator, account: Credentials
) -> None:
    usage = PATHS["pool_full"].run(emulator, account, SINGLE)
    assert 3.1 <= usage.write_units <= 3.4


@pytest.mark.parametrize(
    ("path", "nodes", "besides"),
    # Besides its nodes a run has claim, sets, begin and end, of two KB each, its row, and a tenth of a visit.
    [("workflow_chain_3", 3, 7.2), ("workflow_chain_10", 10, 8.2), ("workflow_fan_in_99", 100, 40)],
)
def test_a_node_of_a_workflow_is_three_writes_its_claim_its_outcome_and_its_mark(
    emulator: Emulator, account: Credentials, path: str, nodes: int, besides: float
) -> None:
    usage = PATHS[path].run(emulator, account, JOBS)
    assert usage.write_units <= 3 * nodes + besides
    assert usage.dollars_per_million <= max(40, 3 * nodes)


def test_nodes_that_are_skipped_together_are_one_write(emulator: Emulator, account: Credentials) -> None:
    usage = PATHS["workflow_skip"].run(emulator, account, JOBS)
    assert usage.write_units <= 3 + 1 + 7.2


def test_a_heartbeat_beside_a_large_checkpoint_is_one_write(emulator: Emulator, account: Credentials) -> None:
    usage = PATHS["pool_beat_checkpointed"].run(emulator, account, JOBS)
    assert 0.9 <= usage.write_units <= 1


def test_recording_costs_a_packed_job_as_much_as_any(emulator: Emulator, account: Credentials) -> None:
    usage = PATHS["full_packed"].run(emulator, account, JOBS)
    assert 2.2 <= usage.write_units <= 2.35


def test_a_herd_at_one_queue_shares_its_messages(emulator: Emulator, account: Credentials) -> None:
    usage = PATHS["herd_bundled"].run(emulator, account, JOBS)
    assert usage.sqs_requests <= 0.06
    assert usage.lambda_invocations <= 0.02
    assert usage.dollars_per_million <= 0.50


def test_jobs_of_a_minute_at_one_queue_share_rows_and_messages(emulator: Emulator, account: Credentials) -> None:
    usage = PATHS["packed_bundled"].run(emulator, account, 1_000)
    assert 0.2 <= usage.write_units <= 0.35
    assert 0 < usage.held_batches <= 0.05
    assert usage.dollars_per_million <= 0.50


def test_plain_batches_cost_a_dollar_per_million_at_most_with_the_time_for_which_they_are_held(plain: Usage) -> None:
    assert plain.held_batches == 0.1
    # With 200 jobs each has a larger share of the visit than with the 1,000 for which the bound is meant.
    assert plain.dollars_per_million - ON_DEMAND.dollars_per_million({"writeUnits": VISIT / JOBS}) <= 1.00


def test_a_payload_of_a_kilobyte_is_a_second_write_and_none_of_the_record(
    emulator: Emulator, account: Credentials
) -> None:
    usage = PATHS["full_single_1k"].run(emulator, account, SINGLE)
    assert 4 <= usage.write_units <= 4 + VISIT / SINGLE
    assert usage.sqs_requests <= 0.35


def test_what_changes_something_is_its_write_and_an_entry_in_the_trail(
    emulator: Emulator, account: Credentials
) -> None:
    controls = meter_controls(emulator, account)
    assert set(controls) == set(CONTROLS)
    writes = {name: usage.write_units for name, usage in controls.items()}
    assert writes["get_job"] == writes["list_jobs"] == 0
    assert writes["put_job"] == writes["pause_job"] == writes["cancel_job"] == writes["run_job"] == 2
    # A pause leaves the row of the next fire, and its end writes another; a client is a transaction, which costs twice.
    assert writes["resume_job"] == writes["put_client"] == writes["pause_client"] == writes["resume_client"] == 3
    assert all(usage.api_requests == 1 and usage.read_units <= 8 for usage in controls.values())


@pytest.mark.nightly
def test_the_stations_of_the_curve_add_up_to_what_a_whole_run_uses(emulator: Emulator) -> None:
    """The curve is put together from creates, visits and batches; a run of the same rate has all of them at once."""
    # In so many visits it hardly depends on chance how many phases of the second their jobs have.
    shards, minutes, jobs = 4, 10, 400
    path = replace(PATHS["none_spread"], shards=shards, within_seconds=minutes * 60)
    whole = path.run(emulator, Credentials.root("333333333333"), jobs)
    per_second = jobs / minutes / 60
    batch = (whole.sqs_consumed / 2) ** -1
    way = Way(name="none_single", says="", record="none", jobs_per_request=1)
    units = Paths(emulator, first_account=444_444_444_444).units(way, 200, per_second, 10, batch, shards)
    visits = shards * minutes / jobs  # each is a lease, a commit and a read, whatever it finds
    stations = (units.create, units.visit, units.deliver)
    assert sum(one.write_units for one in stations) + 2 * visits == pytest.approx(whole.write_units, rel=0.03)
    assert sum(one.read_units for one in stations) + visits == pytest.approx(whole.read_units, rel=0.15)
    assert sum(one.sqs_consumed for one in stations) == pytest.approx(whole.sqs_consumed, rel=0.05)
    assert sum(one.sqs_sends for one in stations) == pytest.approx(whole.sqs_sends, rel=0.15)


def test_a_retry_adds_its_failure_the_next_claim_and_the_two_writes_of_an_index(
    emulator: Emulator, account: Credentials
) -> None:
    usage = PATHS["retry_full"].run(emulator, account, SINGLE)
    assert 7 <= usage.write_units <= 7 + VISIT / SINGLE
    assert usage.sqs_requests <= 0.65


def test_a_cancel_adds_one_write_and_nothing_is_released(emulator: Emulator, account: Credentials) -> None:
    usage = PATHS["cancel_none"].run(emulator, account, SINGLE)
    assert 2 <= usage.write_units <= 2 + VISIT / SINGLE
    assert usage.sqs_requests == 0


def test_a_named_job_is_its_row_and_its_pointer_and_two_writes_for_its_record(
    emulator: Emulator, account: Credentials
) -> None:
    usage = PATHS["named_oneshot"].run(emulator, account, SINGLE)
    assert 4 <= usage.write_units <= 4 + VISIT / SINGLE


@pytest.mark.parametrize(("path", "writes", "reads"), [("recurring_fire", 3, 2.5), ("overlap_skip", 4, 4.5)])
def test_a_fire_of_a_recurring_job_is_the_next_pointer_and_two_writes_for_its_record(
    emulator: Emulator, account: Credentials, path: str, writes: int, reads: float
) -> None:
    """With `overlap: skip` one write more: the name of the execution that was let through last."""
    usage = PATHS[path].run(emulator, account, SINGLE)
    assert writes <= usage.write_units <= writes + VISIT / SINGLE
    assert usage.read_units <= reads


@pytest.mark.parametrize(("path", "writes"), [("capped", 1 / 10), ("narrow", 2 / 10), ("parked", 1)])
def test_a_cap_adds_writes_per_batch_of_ten_and_parking_one_per_job(
    emulator: Emulator, account: Credentials, plain: Usage, path: str, writes: float
) -> None:
    usage = PATHS[path].run(emulator, account, JOBS)
    # A margin: a slot after a pause takes a second try (two units), and the deliverer notes that it has parked
    # something.
    assert writes <= usage.write_units - plain.write_units + 1e-9 <= writes + 4 / JOBS
    assert usage.read_units - plain.read_units <= 0.1


def test_an_idle_minute_is_a_lease_and_a_commit_for_each_plain_shard(emulator: Emulator, account: Credentials) -> None:
    settings = Settings.for_account()
    minute = idle.measure(emulator, account, minutes=2)
    assert 0 < minute.usage.write_units <= 2 * settings.shards == idle.AT_MOST.usage.write_units
    # A sweep reads the lists of what is parked, open or to be looked at, and finds nothing.
    assert minute.usage.read_units <= settings.shards + 7 == idle.AT_MOST.usage.read_units
    assert minute.usage.sqs_requests <= idle.AT_MOST.usage.sqs_requests
    # From the second minute on quiet shards share pollers; ordered shards are not polled before their first job.
    assert minute.usage.lambda_invocations < settings.shards
    assert minute.usage.held_batches == minute.usage.api_requests == 0


def test_an_idle_minute_keeps_the_bounds_on_which_the_price_of_a_month_rests(
    emulator: Emulator, account: Credentials
) -> None:
    minute = idle.measure(emulator, account, minutes=30)
    assert 0 < minute.usage.lambda_invocations <= idle.AT_MOST.usage.lambda_invocations
    assert 0 < minute.gb_seconds <= idle.AT_MOST.gb_seconds
    assert minute.log_bytes <= idle.AT_MOST.log_bytes  # None without values of metrics: no Lambda writes a line.
    assert minute.own_metrics == idle.AT_MOST.own_metrics


def test_a_single_job_is_logged_once_by_the_api_and_with_nine_others_by_the_deliverer(
    single: Usage, plain: Usage
) -> None:
    assert 0.15 < single.as_json()["logKilobytes"] <= 0.3
    assert 0 < plain.as_json()["logKilobytes"] <= 0.05


def test_figures_of_jobs_that_did_not_arrive_are_not_reported(
    emulator: Emulator, account: Credentials, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bench.billing.scheduler.Scheduler.deliver", lambda _: None)
    with pytest.raises(Unexpected, match="0 attempts at 0 jobs instead of 20 at 20"):
        PATHS["none_batch"].run(emulator, account, 20)


def test_a_read_is_billed_by_what_it_returns_if_it_reports_less() -> None:
    item = {"key": {"S": "k" * 1_000}, "blob": {"B": b"x" * 5_000}}
    assert read_units({"Item": item, "ConsumedCapacity": {"CapacityUnits": 1.0}}) == 2
    assert read_units({"Items": [item, item], "ConsumedCapacity": {"CapacityUnits": 1.0}}) == 3
    assert read_units({"Responses": {"table": [item, item]}}) == 4
    assert read_units({"Items": [], "ConsumedCapacity": {"CapacityUnits": 1.0}}) == 1


@pytest.mark.parametrize(
    ("value", "size"), [({"S": "é"}, 2), ({"B": b"abc"}, 3), ({"N": "1234"}, 3), ({"NS": ["1", "22"]}, 7)]
)
def test_an_items_size_is_that_of_its_names_and_values(value: dict[str, Any], size: int) -> None:
    assert item_bytes({"name": value}) == 4 + size


@pytest.mark.nightly
def test_the_command_prints_the_units_and_the_price_of_each_path_last(capsys: pytest.CaptureFixture[str]) -> None:
    units.main(["--json", "--jobs", "20", "--path", "none_batch", "--path", "full_batch"])
    told = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert set(told) == {"none_batch", "full_batch", "dollarsPerMillion"}
    dollars = told.pop("dollarsPerMillion")
    metered = {"writeUnits", "readUnits", "sqsRequests", "lambdaInvocations", "heldBatches", "apiRequests"}
    metered |= {"logKilobytes"}
    for path, used in told.items():
        assert set(used) == metered
        assert dollars[path] == pytest.approx(ON_DEMAND.dollars_per_million(used), abs=0.0001)
    assert dollars["none_batch"] < dollars["full_batch"]
