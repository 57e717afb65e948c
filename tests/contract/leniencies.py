"""Leniencies: rules that a stand-in is known not to keep. Pytest does not collect the rule's test for that stand-in.

The emulator keeps every rule: it is the reference.
"""

from __future__ import annotations

MEMORY = "memory"
MOTO = "aws-moto"
EMULATOR = "aws-ministack"
DYNALITE = "aws-dynalite"
#: Runs only where somebody asks for it by name: `make contract-dynamodb-local`.
DYNAMODB_LOCAL = "aws-dynamodb-local"

#: The files of tests about stores, which run on dynalite and DynamoDB Local, too; all others are about other services.
OF_STORES = frozenset(
    {
        "test_activity",
        "test_capacity",
        "test_checkpoints",
        "test_clients",
        "test_damaged_items",
        "test_executions",
        "test_jobs",
        "test_jobs_of_a_day",
        "test_key_rows",
        "test_operations",
        "test_parked_rows",
        "test_pools",
        "test_regulation",
        "test_runs",
        "test_runs_index",
        "test_shards",
        "test_timeline",
        "test_trail",
        "test_turnstiles",
        "test_workers",
    }
)

ONE_THREAD = "the ports in memory are for one thread: a call is the unit of interleaving"
#: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
NO_TRANSACTIONS = "dynalite 4 knows no TransactWriteItems, with which a client and its principals are put"
#: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_PutItem.html
NO_OLD_ITEM = "dynalite 4 refuses a write without the stored item: it knows no ReturnValuesOnConditionCheckFailure"

NOT_KEPT: dict[str, dict[str, str]] = {
    MEMORY: {
        "test_of_changes_at_once_one_counts": ONE_THREAD,
        "test_of_two_that_change_at_once_one_wins": ONE_THREAD,
        "test_of_pollers_at_once_one_gets_the_lease": ONE_THREAD,
        "test_a_commit_and_a_takeover_at_once_never_both_count": ONE_THREAD,
        "test_of_two_changes_of_one_revision_at_once_one_is_stored": ONE_THREAD,
        "test_of_requests_at_once_all_get_the_row_of_one": ONE_THREAD,
        "test_of_two_writers_of_a_job_at_once_one_wins": ONE_THREAD,
        "test_no_slot_is_given_twice": ONE_THREAD,
        "test_of_99_additions_at_once_one_answer_alone_is_the_first_full_one": ONE_THREAD,
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
    DYNALITE: {
        "test_one_that_cannot_be_read_is_told_and_replaced_once": "dynalite does not take two equal maps for equal",
        "test_a_read_that_finds_nothing_is_billed_too": (
            "dynalite reports no unit for a query that finds nothing, of which AWS bills the least"
        ),
        **dict.fromkeys(
            (
                "test_a_client_is_read_as_it_was_put",
                "test_an_unknown_client_is_none",
                "test_a_put_replaces_the_whole_client",
                "test_the_same_put_again_is_no_error",
                "test_only_the_revision_that_was_read_is_replaced",
                "test_a_put_whose_answer_was_lost_is_done_when_it_is_repeated",
                "test_of_several_that_replace_one_revision_at_once_one_does",
                "test_a_principal_may_act_for_several_clients",
                "test_a_principal_that_no_client_lists_acts_for_none",
                "test_a_principal_that_was_dropped_no_longer_finds_the_client_and_one_that_was_added_does",
                "test_two_puts_of_a_client_at_once_leave_the_principals_of_one_of_them",
                "test_all_clients_are_listed_once_whatever_the_page",
                "test_whatever_is_wrong_with_an_item_the_others_are_read",
                "test_a_pool_is_no_client_and_no_principal_of_one",
            ),
            NO_TRANSACTIONS,
        ),
        **dict.fromkeys(
            (
                "test_a_circuit_that_cannot_be_read_is_replaced",
                "test_a_new_record_does_not_replace_a_stored_one",
                "test_a_change_of_an_older_revision_is_refused_with_what_is_stored",
                "test_a_change_of_a_revision_that_was_never_stored_is_refused",
                "test_a_record_that_is_stored_already_counts_as_stored",
                "test_many_changes_are_judged_each_on_its_own_and_answered_in_order",
                "test_of_two_changes_of_one_revision_at_once_one_is_stored",
                "test_a_record_that_cannot_be_read_is_not_replaced_and_fails_no_other",
                "test_a_repeat_of_a_stored_change_counts_as_stored",
                "test_a_key_in_use_answers_with_what_the_first_promised",
                "test_a_key_is_in_use_to_the_last_millisecond_and_free_from_then_on",
                "test_keys_are_compared_whole",
                "test_of_requests_at_once_all_get_the_row_of_one",
                "test_no_slot_is_taken_that_would_come_too_late",
                "test_beside_a_line_a_reservation_reaches_less_far",
                "test_a_place_is_given_once_behind_all_slots_and_places",
                "test_a_place_that_another_takes_meanwhile_is_not_given_twice",
                "test_where_slots_pass_unused_nobody_stands_in_line",
                "test_a_poller_whose_clock_is_behind_does_not_move_the_horizon_back",
                "test_of_pollers_at_once_one_gets_the_lease",
                "test_a_record_is_replaced_at_its_revision_alone_and_a_repeat_counts",
                "test_a_list_of_open_ones_is_replaced_as_it_was_read_alone",
            ),
            NO_OLD_ITEM,
        ),
    },
    DYNAMODB_LOCAL: {
        # https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_Query.html
        "test_a_read_that_finds_nothing_is_billed_too": (
            "DynamoDB Local reports no unit for a query that finds nothing, of which AWS bills the least"
        ),
    },
}
