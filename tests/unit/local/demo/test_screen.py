"""The progress that the demonstration shows."""

import io

from rich.console import Console

from local.demo.screen import Screen, plain, render
from local.demo.summary import Lateness, Row

QUIET = Row("due soon", 3, 0, 0, 0, None)
ALL = Row("all", 3, 2, 2, 4, Lateness(3, 8, 9))


def _screen() -> tuple[Screen, io.StringIO]:
    written = io.StringIO()
    return Screen(Console(file=written, width=80)), written


def test_a_log_that_is_no_terminal_gets_the_final_table_without_control_codes() -> None:
    screen, written = _screen()
    with screen.table(lambda: ([QUIET, ALL], "2 on their way")):
        pass
    assert "2 on their way" in written.getvalue()
    assert "\x1b" not in written.getvalue()


def test_a_step_says_its_title_at_once_and_its_duration_at_the_end() -> None:
    screen, written = _screen()
    with screen.step("Deploying"):
        assert written.getvalue() == "Deploying ...\n"
    assert written.getvalue().splitlines()[-1].startswith("Deploying: 0.")


def test_a_long_command_stays_on_one_line_and_its_brackets_are_no_markup() -> None:
    screen, written = _screen()
    screen.say("[red] " + "x" * 200)
    assert written.getvalue() == "[red] " + "x" * 200 + "\n"


def test_a_row_reads_as_a_phrase() -> None:
    assert plain(ALL) == "created 3, due 2, delivered 2, attempts 4, late p50/p99/max 3/8/9 ms"
    assert plain(QUIET).endswith("nothing arrived yet")


def test_the_table_fits_a_narrow_terminal() -> None:
    written = io.StringIO()
    Console(file=written, width=80).print(render([QUIET, ALL], ""))
    assert "due soon" in written.getvalue()
    assert "attempts" in written.getvalue()
    assert max(map(len, written.getvalue().splitlines())) <= 80
