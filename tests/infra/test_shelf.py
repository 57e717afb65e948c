"""The shelf of builds: each digest is built once, completely or not at all, and old builds are removed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from infra.packaging import shelf
from infra.packaging.shelf import digest_of, shelved


@pytest.fixture(autouse=True)
def build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A build folder of the test's own."""
    monkeypatch.setattr(shelf, "ROOT", tmp_path)
    monkeypatch.setattr(shelf, "BUILD", tmp_path / "build")
    return tmp_path / "build"


def an_old_thing(folder: Path) -> None:
    """Fills a folder with a file, and gives the folder an old modification time, as a copy of something old has."""
    (folder / "thing").write_text("made")
    os.utime(folder, (0, 0))


def test_the_same_digest_is_built_once() -> None:
    built: list[Path] = []
    for _ in range(2):
        folder = shelved("thing", "1234", built.append)
        assert folder.is_dir()
    assert len(built) == 1


def test_a_build_that_fails_leaves_nothing(build: Path) -> None:
    def fail(folder: Path) -> None:
        (folder / "half").touch()
        raise RuntimeError("no network")

    with pytest.raises(RuntimeError, match="no network"):
        shelved("thing", "1234", fail)
    assert list(build.iterdir()) == []


def test_what_another_process_built_meanwhile_is_taken(build: Path) -> None:
    def come_second(folder: Path) -> None:
        an_old_thing(folder)
        (build / "thing-1234").mkdir()
        (build / "thing-1234/thing").write_text("theirs")

    assert (shelved("thing", "1234", come_second) / "thing").read_text() == "theirs"


def test_only_the_last_used_stay_whatever_the_age_of_their_contents(build: Path) -> None:
    digests = [f"{number:04d}" for number in range(shelf.KEPT + 3)]
    for digest in digests:
        assert (shelved("thing", digest, an_old_thing) / "thing").read_text() == "made"
    assert sorted(path.name for path in build.iterdir()) == [f"thing-{digest}" for digest in digests[-shelf.KEPT :]]


def test_other_kinds_are_not_counted(build: Path) -> None:
    for number in range(shelf.KEPT):
        shelved("thing", str(number), an_old_thing)
        shelved("other", str(number), an_old_thing)
    assert len(list(build.iterdir())) == 2 * shelf.KEPT


def test_a_digest_is_of_names_contents_and_traits(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "a").write_text("1")
    first = digest_of([source], "x")
    assert digest_of([source], "x") == first
    assert digest_of([source], "y") != first
    (source / "a").write_text("2")
    second = digest_of([source], "x")
    (source / "a").rename(source / "b")
    assert len({first, second, digest_of([source], "x")}) == 3


def test_what_the_interpreter_leaves_behind_is_not_part_of_a_digest(tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "__pycache__").mkdir(parents=True)
    before = digest_of([source])
    (source / "__pycache__/a.pyc").touch()
    assert digest_of([source]) == before


def test_everybody_may_read_what_was_built_under_a_strict_umask() -> None:
    """Lambda unpacks it with these modes, and runs it as another user."""

    def build(folder: Path) -> None:
        (folder / "package").mkdir()
        (folder / "package/module.py").touch()
        (folder / "program").touch(mode=0o700)

    before = os.umask(0o077)
    try:
        folder = shelved("thing", "1234", build)
    finally:
        os.umask(before)
    modes = {path.name: path.stat().st_mode & 0o777 for path in (folder, *folder.rglob("*"))}
    assert modes == {folder.name: 0o755, "package": 0o755, "module.py": 0o644, "program": 0o755}
