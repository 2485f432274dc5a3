"""No path leaves the sandbox: against a reference resolver, hostile samples, links and swaps."""

import json
import os
import threading
import unicodedata
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iac_scenario.model import CallError, PlayError
from iac_scenario.sandbox import LARGEST, Sandbox

SECRET = "the secret"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sandbox among files that must stay unread and unwritten."""
    top = tmp_path_factory.mktemp("world")
    root = top / "allowed"
    (root / "a" / "b").mkdir(parents=True)
    (top / "allowed_evil").mkdir()
    for secret in (top / "x", top / "allowed_evil" / "x", top / "allowed ", top / 'allowed"'):
        secret.write_text(SECRET)
    for own in (root / "x", root / "a" / "x", root / "a" / "b" / "x"):
        own.write_text("own")
    (root / "out").symlink_to(top)
    (root / "a" / "up").symlink_to("../..")
    (root / "leak").symlink_to(top / "x")
    (root / "loop").symlink_to("loop")
    os.mkfifo(root / "pipe")
    return top


@pytest.fixture(scope="module")
def sandbox(world: Path) -> Sandbox:
    return Sandbox(world / "allowed", "/sandbox")


def reference(root: Path, path: str) -> Path | None:
    """Return the regular file that a relative path means, walked by the book, links refused."""
    here = [root]
    for name in path.split("/"):
        if name in ("", "."):
            continue
        if name == "..":
            here.pop()
            if not here:
                return None
            continue
        here.append(here[-1] / name)
    for step in here[1:]:
        if step.is_symlink():
            return None
    return here[-1] if here[-1].is_file() else None


NAMES = st.sampled_from(
    ["a", "b", "x", "..", ".", "", "out", "up", "leak", "loop", "pipe", "A", "%2e%2e", "...", " "]
)
PATHS = st.lists(NAMES, max_size=6).map("/".join) | st.text(max_size=12)
PREFIXES = st.sampled_from(
    ["", "/", "//", "/sandbox/", "/sandbox/../", "file://", "file:///sandbox/"]
)


@given(PREFIXES, PATHS)
def test_no_path_reads_outside(sandbox: Sandbox, world: Path, prefix: str, path: str) -> None:
    try:
        data = sandbox.read(sandbox.resolve_path(prefix + path)).decode()
    except CallError:
        return
    assert data == "own"
    assert "%" in prefix + path or "\\" in path or SECRET not in data


@given(PATHS)
def test_relative_paths_mean_what_the_reference_says(
    sandbox: Sandbox, world: Path, path: str
) -> None:
    if path.startswith(("/", "~", "file:")) or not path:
        return
    expected = None
    with suppress(ValueError, OSError):
        expected = reference(world / "allowed", path)
    try:
        found: bytes | None = sandbox.read(sandbox.resolve_path(path))
    except CallError:
        found = None
    if expected is None:
        assert found is None
    elif found is None:
        # A name that exists and is refused: characters, or the sandbox left and entered again.
        assert ".." in path or not path.isprintable()
    else:
        assert found == expected.read_bytes()


@given(PREFIXES, PATHS)
def test_no_path_writes_outside(
    tmp_path_factory: pytest.TempPathFactory, prefix: str, path: str
) -> None:
    top = tmp_path_factory.mktemp("w")
    (top / "allowed").mkdir()
    (top / "allowed" / "out").symlink_to(top)
    sandbox = Sandbox(top / "allowed", "/sandbox")
    with suppress(CallError):
        sandbox.write(sandbox.resolve_path(prefix + path), b"w", parents=True)
    sandbox.close()
    assert [entry.name for entry in top.iterdir()] == ["allowed"]


@pytest.mark.parametrize("path", [
    "/etc/passwd", "../x", "a/../../x", "out/x", "a/up/x", "leak", "loop", "pipe", "~/x", "~",
    "/allowed_evil/x", "/sandbox_evil/x", "/sandbox/../x", "/dev/stdin", "/dev/fd/3", "",
    "file://localhost/etc/passwd", "file:///sandbox/%2e%2e/x", "file:///sandbox/%00",
    "file://elsewhere/sandbox/x", "file:relative", "x\0", "x\n", "\ud800", "a/b/../../../x",
    "/System/Volumes/Data/etc/passwd", "/private/etc/passwd", "a" * 300, "b/" * 3000, "x/x", "a",
    "file://[/x",
])  # fmt: skip
def test_what_is_refused(sandbox: Sandbox, path: str) -> None:
    with pytest.raises(CallError):
        sandbox.read(sandbox.resolve_path(path))


def test_two_spellings_of_one_place_are_one(world: Path, tmp_path: Path) -> None:
    (tmp_path / "x").write_text("own")
    for mount, path in (
        ("/var/box", "/private/var/box/x"),
        ("/private/var/box", "/var/box/x"),
        ("/Users/me/box", "/System/Volumes/Data/Users/me/box/x"),
    ):
        assert Sandbox(tmp_path, mount).resolve_path(path) == ("x",)
    assert Sandbox(tmp_path, "/m").resolve_path(str(tmp_path / "x")) == ("x",)


def test_composed_and_decomposed_letters_are_one_file(tmp_path: Path) -> None:
    sandbox = Sandbox(tmp_path)
    name = "café"
    sandbox.write(sandbox.resolve_path(unicodedata.normalize("NFC", name)), b"1")
    sandbox.write(sandbox.resolve_path(unicodedata.normalize("NFD", name)), b"2")
    assert len(list(tmp_path.iterdir())) == 1
    assert sandbox.read(sandbox.resolve_path(unicodedata.normalize("NFC", name))) == b"2"


@pytest.mark.parametrize(
    "path",
    [".git/hooks/pre-commit", "sub/.GIT/config", ".mcp.json", ".zshrc", "LaunchAgents/a.plist"],
)
def test_what_runs_by_itself_is_never_written(tmp_path: Path, path: str) -> None:
    sandbox = Sandbox(tmp_path)
    with pytest.raises(CallError, match="never written"):
        sandbox.write(sandbox.resolve_path(path), b"x", parents=True)
    assert not list(tmp_path.iterdir())


def test_the_rows_of_the_sample_stay_inside(corpus: Path, sandbox: Sandbox) -> None:
    rows = (corpus / "hostile-inputs.tsv").read_text().splitlines()
    payloads = [json.loads(row.split("\t")[2]) for row in rows if row.split("\t")[1:2] == ["path"]]
    assert payloads
    for payload in payloads:
        for path in (payload, *payload.replace(",", " ").split()):
            with suppress(CallError):
                assert sandbox.read(sandbox.resolve_path(path)) == b"own"


def test_a_folder_that_becomes_a_link_between_two_steps_gains_nothing(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    (root / "d").mkdir(parents=True)
    outside.mkdir()
    (outside / "x").write_text(SECRET)
    (root / "d" / "x").write_text("own")
    sandbox, stop = Sandbox(root), threading.Event()

    def swap() -> None:
        while not stop.is_set():
            (root / "d").rename(root / "kept")
            (root / "d").symlink_to(outside)
            (root / "d").unlink()
            (root / "kept").rename(root / "d")

    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        for _ in range(2000):
            with suppress(CallError):
                assert sandbox.read(("d", "x")) == b"own"
            with suppress(CallError):
                sandbox.write(("d", "y"), b"y")
    finally:
        stop.set()
        swapper.join()
    assert [entry.name for entry in outside.iterdir()] == ["x"]


def test_a_hard_link_is_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "outside").write_text(SECRET)
    os.link(tmp_path / "outside", tmp_path / "root" / "in")
    Sandbox(tmp_path / "root").write(("in",), b"new")
    assert (tmp_path / "outside").read_text() == SECRET


def test_sizes_are_bounded(tmp_path: Path) -> None:
    sandbox = Sandbox(tmp_path)
    with pytest.raises(CallError, match="at most"):
        sandbox.write(("big",), b"x" * (LARGEST + 1))
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(LARGEST + 1)
    with pytest.raises(CallError, match="more than"):
        sandbox.read(("sparse",))


def test_a_root_that_is_no_folder(tmp_path: Path) -> None:
    with pytest.raises(PlayError, match="--sandbox-root"):
        Sandbox(tmp_path / "none")


def test_folders_are_made_on_the_way_to_a_file_only(tmp_path: Path) -> None:
    sandbox = Sandbox(tmp_path)
    sandbox.write(("a", "b", "f"), b"1", parents=True)
    assert sandbox.read(("a", "b", "f")) == b"1"
    with pytest.raises(CallError, match="the sandbox itself"):
        sandbox.write((), b"")
    with pytest.raises(CallError, match="is a folder"):
        sandbox.read(())
    with pytest.raises(CallError, match="Not a directory"):
        sandbox.write(("a", "b", "f", "g"), b"", parents=True)
