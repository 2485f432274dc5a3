"""Files that are replaced, read and locked."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from iac_base.files import (
    IrregularFileError,
    TooLargeError,
    locked,
    read_bounded,
    replacing,
    try_lock,
    write_whole,
)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


@pytest.mark.parametrize("sync", [False, True])
def test_a_link_stays_a_link_and_its_target_keeps_its_mode(tmp_path: Path, sync: bool) -> None:
    home, settings = tmp_path / "home", tmp_path / "settings"
    home.mkdir()
    settings.mkdir()
    target, middle, link = settings / "real", settings / "middle", home / "link"
    target.write_text("old")
    target.chmod(0o640)
    middle.symlink_to("real")
    link.symlink_to("../settings/middle")
    write_whole(link, "new é", sync=sync)
    assert (link.is_symlink(), middle.is_symlink(), target.is_symlink()) == (True, True, False)
    assert target.read_text(encoding="utf-8") == "new é"
    assert mode(target) == 0o640
    assert names(settings) == ["middle", "real"]
    assert names(home) == ["link"]


def test_a_new_file_is_private_and_a_mode_can_be_asked_for(tmp_path: Path) -> None:
    write_whole(tmp_path / "a", b"x")
    assert mode(tmp_path / "a") == 0o600
    write_whole(tmp_path / "a", b"y", mode=0o644)
    assert mode(tmp_path / "a") == 0o644
    write_whole(tmp_path / "a", b"z", mode=0o600)
    assert mode(tmp_path / "a") == 0o600


def test_a_link_to_a_file_that_is_not_there_makes_it(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("new")
    write_whole(tmp_path / "link", "x")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "new").read_text() == "x"


def test_what_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("old")

    def changed() -> None:
        raise ValueError

    def halfway() -> None:
        with replacing(path) as file:
            file.write(b"half")
            changed()

    with pytest.raises(ValueError):
        halfway()
    with pytest.raises(ValueError):
        write_whole(path, "new", check=changed)
    assert path.read_text() == "old"
    assert names(tmp_path) == ["a"]


def test_what_is_no_file_is_neither_replaced_nor_read(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, tmp_path):
        with pytest.raises(IrregularFileError):
            write_whole(path, "x")
        with pytest.raises(IrregularFileError):
            read_bounded(path, 10)
    loop = tmp_path / "loop"
    loop.symlink_to("loop")
    with pytest.raises(OSError, match="symbolic links"):
        write_whole(loop, "x")


def test_no_more_is_read_than_was_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"12345")
    content, status = read_bounded(path, 5)
    assert (content, status.st_size) == (b"12345", 5)
    with pytest.raises(TooLargeError):
        read_bounded(path, 4)
    with pytest.raises(TooLargeError):
        read_bounded(Path("/proc/cpuinfo") if sys.platform == "linux" else path, 4)


def test_a_lock_holds_against_others_until_it_is_let_go(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with locked(path):
        assert try_lock(path) is None
        program = (
            "import sys, pathlib, iac_base.files as files\n"
            "print(files.try_lock(pathlib.Path(sys.argv[1])))"
        )
        words = [sys.executable, "-c", program, str(path)]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
        assert done.stdout == "None\n"
    handle = try_lock(path)
    assert handle is not None
    assert mode(path) == 0o600
    os.close(handle)
    (tmp_path / "link").symlink_to("lock")
    with pytest.raises(OSError, match="symbolic links"), locked(tmp_path / "link"):
        pass
