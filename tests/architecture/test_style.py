"""The style of pages, docstrings and comments: each rule finds its faults, and no file of the project has one."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.architecture import style
from tests.architecture.prose import sentences
from tests.architecture.sources import ROOT

LONG = " ".join(["word"] * 33)


def page(folder: Path, text: str) -> Path:
    path = folder / "page.md"
    path.write_text(text, encoding="utf-8")
    return path


def texts(path: Path) -> list[str]:
    return [one.text for one in sentences(path)]


def test_no_page_and_no_python_file_has_a_fault(capsys: pytest.CaptureFixture[str]) -> None:
    status = style.main([])
    assert capsys.readouterr().out == ""
    assert status == 0
    assert {ROOT / name for name in ("README.md", "docs/decisions.md", "app.py")} < set(style.everything())


def test_everything_has_new_files_and_none_that_git_ignores_or_that_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(style, "ROOT", tmp_path)
    (tmp_path / ".gitignore").write_text("ignored.md\n", encoding="utf-8")
    for name in ("known.md", "gone.md", "new.py", "ignored.md", "data.json"):
        (tmp_path / name).touch()
    for command in (["init", "-q"], ["add", "known.md", "gone.md"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    (tmp_path / "gone.md").unlink()
    assert style.everything() == [tmp_path / "known.md", tmp_path / "new.py"]


@pytest.mark.parametrize("word", ["What", "Who", "Whoever", "So", "One that"])
def test_no_sentence_begins_without_a_subject(tmp_path: Path, word: str) -> None:
    path = page(tmp_path, f"The poller reads.\n{word} reads is late. {word} is it?\n\n- **{word}:** the poller.\n")
    assert [(fault.line, fault.rule) for fault in style.faults_of(path)] == [(2, f"begins with {word}")]


def test_a_sentence_has_at_most_32_words_and_a_code_span_is_one(tmp_path: Path) -> None:
    at_most = LONG.removesuffix(" word")
    path = page(tmp_path, f"{at_most}.\n\n{LONG}.\n\n- {at_most.removesuffix(' word')} `a b c\n  d e`.\n")
    assert [(fault.line, fault.rule) for fault in style.faults_of(path)] == [(3, "33 words, at most 32")]


def test_a_file_has_at_most_20_words_a_sentence_on_average(tmp_path: Path) -> None:
    twenty = " ".join(["word"] * 20) + ".\n\n"
    assert style.faults_of(page(tmp_path, twenty * 5)) == []
    (fault,) = style.faults_of(page(tmp_path, twenty * 4 + "One " + twenty))
    assert (fault.rule, fault.sentence) == ("at most 20 words on average", "20.2 here")
    # Four sentences are too few for an average, and the cells of a table are fragments.
    assert style.faults_of(page(tmp_path, ("One " + twenty) * 4)) == []
    assert style.faults_of(page(tmp_path, twenty * 5 + "| a | b |\n|---|---|\n| One more | two |\n")) == []


def test_private_words_are_those_of_the_table(tmp_path: Path) -> None:
    words = style.private_words()
    assert len(words) > 10
    path = page(tmp_path, "\n\n".join(f"The worker {word} here." for word in words))
    assert len(style.faults_of(path)) >= len(words)
    (fault,) = style.faults_of(page(tmp_path, "A worker has ten jobs In Hand.\n\nA handy worker in-hand `in hand`.\n"))
    assert fault.rule == f'"in hand": say {words["in hand"]}'


def test_private_words_of_headings_and_comments_are_found_and_nothing_else_of_them(tmp_path: Path) -> None:
    path = page(tmp_path, f"# What is in hand\n\n```sh\n# in hand\n```\n\n## So {LONG}\n\n# `in hand`\n")
    assert [(fault.line, fault.sentence) for fault in style.faults_of(path)] == [(1, "What is in hand")]
    path = tmp_path / "module.py"
    path.write_text(
        f'A = "# in hand"\nB = 1  # What is in hand.\n# So {LONG}. It is in\n# hand.\n\n# `in hand`\n', encoding="utf-8"
    )
    assert [(fault.line, fault.sentence) for fault in style.faults_of(path)] == [
        *((2, "What is in hand."), (3, "It is in hand.")),
    ]


def test_code_headings_tables_and_lists_of_links_are_no_prose(tmp_path: Path) -> None:
    path = page(
        tmp_path,
        f"# What it costs\n\n```sh\n{LONG}\n```\n\n<!-- {LONG} -->\n\n"
        f"| what | who |\n|---|---|\n| A cell. So it is | `a|b` |\n\n- [{LONG}](a.md), [What](b.md)\n"
        "1. See [the page](a.md), e.g. `x`.\n2. **Next**: v1.2 ends. Then\n   https://a.b/c?d. It stops\n",
    )
    assert texts(path) == [
        *("A cell.", "So it is", "CODE"),
        *("See the page, eg CODE.", "Next: v1.2 ends.", "Then CODE.", "It stops"),
    ]
    assert [fault.rule for fault in style.faults_of(path)] == ["begins with So"]


def test_docstrings_and_documented_constants_are_prose_and_comments_are_not(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(
        '"""What a module has.\n\nSo\nit is:\n\n    what it runs\n"""\n\n# What a comment says.\n#: Seconds of\n'
        '#: a lease.\nA = "What a text has."\n\n\nclass B:\n    """Who asks."""\n\n    def c(self):\n'
        '        """Answers."""\n        return "So"\n',
        encoding="utf-8",
    )
    assert [(one.line, one.text) for one in sentences(path)] == [
        *((1, "What a module has."), (3, "So it is:"), (16, "Who asks."), (19, "Answers.")),
        (10, "Seconds of a lease."),
    ]


def test_a_pattern_names_files_and_a_folder_all_that_is_in_it() -> None:
    names = ["webhooks.md", "workers.md", "workflows.md"]
    assert style.expanded(["docs/howto/w*.md"]) == [ROOT / "docs/howto" / name for name in names]
    assert {path.name for path in style.expanded(["docs/howto"])} > set(names)


def test_a_pattern_that_names_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match=r"docs/no-such-page\.md names no page"):
        style.expanded(["docs/no-such-page.md"])


def test_the_command_prints_path_line_rule_and_sentence(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = page(tmp_path, "A poller reads.\n\nSo it reads.\n")
    assert style.main([str(path)]) == 1
    assert capsys.readouterr().out == f"{path}:3: begins with So: So it reads.\n"
