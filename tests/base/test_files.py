"""Files that are replaced, read and locked."""

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from iac_base.errors import SetupError
from iac_base.files import (
    FileContent,
    IrregularFileError,
    StateFileError,
    TooLargeError,
    config_file,
    data_folder,
    ensure_private_folder,
    hold_lock,
    open_replacement,
    open_state,
    read_bounded,
    read_file_content,
    remove_file,
    replace_file_content,
    require_private_file,
    try_lock,
    write_whole,
)

MOVE = "Move it away"


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
        with open_replacement(path) as file:
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
        with pytest.raises(IrregularFileError) as found:
            read_bounded(path, 10)
        said = (found.value.errno, found.value.strerror, found.value.filename)
        assert said == (errno.EINVAL, "It is not a regular file", str(path))
    loop = tmp_path / "loop"
    loop.symlink_to("loop")
    with pytest.raises(OSError, match="symbolic links"):
        write_whole(loop, "x")


def test_what_must_last_is_on_the_disk_before_it_stands_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, there = tmp_path / "a", list[bool]()
    monkeypatch.setattr(os, "fsync", lambda _handle: there.append(path.exists()))
    write_whole(path, "x")
    assert there == []
    path.unlink()
    write_whole(path, "x", sync=True)
    assert there == [False]


def test_no_more_is_read_than_was_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"12345")
    content, status = read_bounded(path, 5)
    assert (content, status.st_size) == (b"12345", 5)
    with pytest.raises(TooLargeError, match="larger than 3 bytes") as found:
        read_bounded(path, 3)
    assert (found.value.errno, found.value.size) == (errno.EFBIG, 5)
    assert found.value.filename == str(path)
    if sys.platform == "linux":
        # A file that says nothing of its size is not read to its end either.
        with pytest.raises(TooLargeError) as found:
            read_bounded(Path("/proc/cpuinfo"), 4)
        assert found.value.size == 5


def test_a_link_is_read_where_it_may_be_followed(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x")
    (tmp_path / "link").symlink_to("a")
    assert read_bounded(tmp_path / "link", 5)[0] == b"x"
    assert read_bounded(tmp_path / "a", 5, follow=False)[0] == b"x"
    with pytest.raises(OSError, match="symbolic links"):
        read_bounded(tmp_path / "link", 5, follow=False)


def test_a_lock_holds_against_others_until_it_is_let_go(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with hold_lock(path):
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
    with pytest.raises(OSError, match="symbolic links"), hold_lock(tmp_path / "link"):
        pass
    fresh = try_lock(tmp_path / "fresh")
    assert fresh is not None
    assert mode(tmp_path / "fresh") == 0o600
    os.close(fresh)


def test_what_is_kept_lies_where_the_user_says_or_the_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IAC_DATA", str(tmp_path / "chosen"))
    assert data_folder() == tmp_path / "chosen"
    assert config_file() == tmp_path / "chosen" / "policy.toml"
    assert open_state() == tmp_path / "chosen" / "state"
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    for unset in ("", None):
        monkeypatch.delenv("IAC_DATA") if unset is None else monkeypatch.setenv("IAC_DATA", unset)
        assert data_folder().is_relative_to(tmp_path)
        assert data_folder().name == "iac"
        assert config_file().is_relative_to(tmp_path)
        assert config_file().parts[-2:] == ("iac", "policy.toml")


def test_a_file_of_the_users_is_found_replaced_and_removed(tmp_path: Path) -> None:
    path = tmp_path / "new" / "deep" / "a"
    found = read_file_content(path)
    assert found == FileContent(path, None, 0o600)
    remove_file(found)
    replace_file_content(found, b"one")
    path.chmod(0o640)
    (tmp_path / "link").symlink_to(path)
    again = read_file_content(tmp_path / "link")
    assert again == FileContent(path.resolve(), b"one", 0o640)
    replace_file_content(again, b"two")
    assert (path.read_bytes(), mode(path)) == (b"two", 0o640)
    for late in (found, again):
        with pytest.raises(SetupError, match=f"{path} was just changed"):
            replace_file_content(late, b"three")
        with pytest.raises(SetupError, match=f"{path} was just changed"):
            remove_file(late)
    assert path.read_bytes() == b"two"
    remove_file(read_file_content(path))
    assert not path.exists()


def test_a_replaced_file_is_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    replace_file_content(read_file_content(tmp_path / "a"), b"x")
    assert len(synced) == 1


def test_a_copy_can_take_the_mode_of_another_file(tmp_path: Path) -> None:
    replace_file_content(read_file_content(tmp_path / "a")._replace(mode=0o640), b"x")
    assert mode(tmp_path / "a") == 0o640


@pytest.mark.parametrize(("name", "says"), [
    ("nowhere", "{} is a link to a missing file; remove or correct the link."),
    ("folder", "{} is not a file; move it away."),
    ("large", f"{{}} is larger than {64 * 1024 * 1024} bytes, so it was not changed."),
    ("loop", "{} cannot be read: Too many levels of symbolic links."),
    ("open/a", "All users can write to {open}. Prevent this with: chmod o-w '{open}'"),
])  # fmt: skip
def test_a_file_that_is_not_changed_says_why(tmp_path: Path, name: str, says: str) -> None:
    (tmp_path / "nowhere").symlink_to("none")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "folder").mkdir()
    (tmp_path / "open").mkdir()
    (tmp_path / "open" / "a").touch()
    (tmp_path / "open").chmod(0o777)
    with (tmp_path / "large").open("wb") as file:
        file.truncate(64 * 1024 * 1024 + 1)
    with pytest.raises(SetupError) as found:
        read_file_content(tmp_path / name)
    assert str(found.value) == says.format(tmp_path / name, open=tmp_path / "open")


def test_where_everyone_puts_his_own_files_one_is_changed(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    for allowed in (0o1777, 0o1700, 0o755):
        tmp_path.chmod(allowed)
        assert read_file_content(tmp_path / "a").content == b""


def test_a_file_that_cannot_be_put_or_removed_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    found = read_file_content(tmp_path / "file")
    inside = found._replace(path=tmp_path / "file" / "inside", content=None)
    with pytest.raises(SetupError, match=r"inside cannot be written: (Not a dir|File exists)"):
        replace_file_content(inside, b"x")
    with pytest.raises(SetupError, match=r"inside cannot be removed: Not a directory\.$"):
        remove_file(inside)


def test_another_users_file_is_neither_changed_nor_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a"
    path.touch(0o600)
    monkeypatch.setattr(os, "geteuid", lambda: path.stat().st_uid + 1)
    for use, says in (
        (read_file_content, f"{path} belongs to another user, so it was not changed."),
        (
            require_private_file,
            f"{path} cannot be used: it belongs to another user. {MOVE}, or make"
            " yourself its owner.",
        ),
    ):
        with pytest.raises(SetupError) as found:
            use(path)
        assert str(found.value) == says
    with pytest.raises(StateFileError, match="belongs to another user"):
        ensure_private_folder(tmp_path)


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_what_decides_lies_where_no_one_else_can_write(tmp_path: Path, kind: str) -> None:
    path, use = (
        tmp_path / "deep" / kind,
        ensure_private_folder if kind == "folder" else require_private_file,
    )
    if kind == "folder":
        assert ensure_private_folder(path) == path
        assert mode(path) == 0o700
    else:
        path.parent.mkdir()
        with pytest.raises(FileNotFoundError):
            require_private_file(path)
        path.touch(0o600)
        assert require_private_file(path).st_size == 0
    private, word = mode(path), "700" if kind == "folder" else "600"
    for bit in (0o001, 0o002, 0o004, 0o010, 0o020, 0o040):
        path.chmod(private | bit)
        with pytest.raises(StateFileError) as found:
            use(path)
        why, way = "other users can read or change it", f"Prevent this with: chmod {word} '{path}'"
        assert (found.value.why, found.value.way) == (why, way)
        assert str(found.value) == f"{path} cannot be used: {why}. {way}"
    path.chmod(private)
    use(path)
    link, other = tmp_path / "link", tmp_path / "other"
    link.symlink_to(path)
    os.mkfifo(other)
    for wrong in (link, other):
        with pytest.raises(StateFileError) as found:
            use(wrong)
        assert str(found.value) == (
            f"{wrong} cannot be used: it is a link, or not a {kind}. {MOVE}."
        )


def test_a_folder_below_a_file_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SetupError, match=r"inside cannot be made: Not a directory\.$"):
        ensure_private_folder(tmp_path / "file" / "inside")
