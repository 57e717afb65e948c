"""Leniencies: rules that a stand-in is known not to keep. Pytest does not collect the rule's test for that stand-in.

The emulator keeps every rule: it is the reference.
"""

from __future__ import annotations

MEMORY = "memory"
MOTO = "aws-moto"
EMULATOR = "aws-ministack"
DYNAMODB_LOCAL = "aws-dynamodb-local"

#: The files of tests about stores, which run on DynamoDB Local, too; all others are about other services.
OF_STORES = frozenset(
    {
        "test_capacity",
        "test_checkpoints",
        "test_clients",
        "test_damaged_items",
        "test_executions",
        "test_jobs",
        "test_jobs_of_a_day",
        "test_key_rows",
        "test_parked_rows",
        "test_pools",
        "test_regulation",
        "test_shards",
        "test_timeline",
        "test_trail",
        "test_workers",
    }
)

ONE_THREAD = "the ports in memory are for one thread: a call is the unit of interleaving"

NOT_KEPT: dict[str, dict[str, str]] = {
    MEMORY: {
        "test_of_changes_at_once_one_counts": ONE_THREAD,
        "test_of_pollers_at_once_one_gets_the_lease": ONE_THREAD,
        "test_a_commit_and_a_takeover_at_once_never_both_count": ONE_THREAD,
        "test_of_two_changes_of_one_revision_at_once_one_is_stored": ONE_THREAD,
        "test_of_requests_at_once_all_get_the_row_of_one": ONE_THREAD,
        "test_of_two_writers_of_a_job_at_once_one_wins": ONE_THREAD,
        "test_no_slot_is_given_twice": ONE_THREAD,
        "test_two_puts_of_a_client_at_once_leave_the_principals_of_one_of_them": ONE_THREAD,
        "test_a_cancel_and_a_repeated_put_at_once_leave_the_row_cancelled": ONE_THREAD,
    },
    MOTO: {
        "test_a_head_and_its_followers_that_are_hidden_come_back_together_and_in_order": (
            "moto frees a group whose messages become visible one by one, and hands out what is behind them"
        ),
        "test_what_is_sent_twice_is_taken_once_though_it_was_deleted_meanwhile": (
            "moto forgets a deduplication id when its message is deleted"
        ),
        "test_the_meter_adds_up_what_aws_bills": "moto reports one unit whatever the size",
        "test_a_request_is_charged_what_aws_bills_for_its_reads": "moto reports one unit whatever the size",
    },
    EMULATOR: {
        "test_a_request_is_charged_what_aws_bills_for_its_reads": "the emulator reports one unit for a large item",
    },
    DYNAMODB_LOCAL: {
        # https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_Query.html
        "test_a_read_that_finds_nothing_is_billed_too": (
            "DynamoDB Local reports no unit for a query that finds nothing, of which AWS bills the least"
        ),
    },
}
