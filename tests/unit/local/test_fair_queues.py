"""The emulator's fair queues: who is noisy by the rule that SQS publishes, and that quiet groups come first."""

from local.fair_queues import LEAST_IN_FLIGHT, Consumption, quiet_first


def test_a_group_with_thirty_in_flight_and_more_than_a_tenth_of_all_is_noisy() -> None:
    assert Consumption().noisy({"loud": LEAST_IN_FLIGHT, "quiet": 2}, 100.0) == {"loud"}


def test_a_group_with_fewer_in_flight_is_not_noisy_at_once() -> None:
    assert not Consumption().noisy({"loud": LEAST_IN_FLIGHT - 1, "quiet": 2}, 100.0)


def test_a_group_with_a_tenth_of_all_in_flight_or_less_is_not_noisy() -> None:
    others = {f"client-{number}": LEAST_IN_FLIGHT for number in range(10)}
    assert not Consumption().noisy(others, 100.0)


def test_a_group_that_has_taken_more_than_a_tenth_of_the_time_is_noisy() -> None:
    consumption = Consumption()
    consumption.noisy({"loud": 19, "quiet": 1}, 100.0)
    assert consumption.noisy({}, 101.0) == {"loud"}


def test_what_was_taken_long_ago_counts_no_more() -> None:
    consumption = Consumption()
    consumption.noisy({"once": 20}, 100.0)
    consumption.noisy({"quiet": 1}, 101.0)
    consumption.noisy({"others": 1}, 400.0)
    assert "once" not in consumption.noisy({}, 700.0)


def test_messages_of_quiet_groups_come_first_and_keep_their_order() -> None:
    messages = [{"id": number, "group_id": group} for number, group in enumerate(["loud", "quiet", None, "loud"])]
    assert [one["id"] for one in quiet_first(messages, {"loud"})] == [1, 2, 0, 3]
