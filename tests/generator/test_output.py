"""The output folder: whole in itself, written atomically, kept by those who know it."""

import difflib
import hashlib
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from making import inputs, put, read, sdef, source

from iac_gen.model import Diagnostic, Source
from iac_gen.naming import BoundKey, KeyClaim, assign_keys
from iac_gen.output import OutputError, PreviousBuild
from iac_gen.pipeline import build_folder
from iac_gen.report import BuildReport
from iac_gen.write import read_previous

DIARY = source()
LEDGER = source(name="Ledger")
INDEX = ("catalogue.json", "listing.jsonl", "tools.lock", "words.jsonl")


def build(folder: Path, *sources: Source, whole: bool = True, prune: bool = False) -> BuildReport:
    """Build into `folder` as the command does."""
    given = replace(inputs(*sources), previous=read_previous(folder), whole=whole, prune=prune)
    files, report = build_folder(given)
    put(folder, files, [f"{key}.py" for key in report.gone] if prune else [])
    return report


def texts(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


def apps(folder: Path) -> dict[str, str]:
    """Return key -> identity as the lock binds them."""
    lock = json.loads((folder / "tools.lock").read_text())
    return {key: row["identity"] for key, row in lock["apps"].items()}


def changed(one: Source) -> Source:
    """Return `one` with a dictionary that has another command."""
    return replace(one, dictionary=read(sdef('<command name="burn" code="diarburn"/>')))


def test_a_build_of_one_app_keeps_the_others(tmp_path: Path) -> None:
    build(tmp_path, DIARY, LEDGER)
    before = texts(tmp_path)
    report = build(tmp_path, changed(DIARY), whole=False)
    after = texts(tmp_path)
    assert report.gone == ()
    assert after["ledger.py"] == before["ledger.py"]
    assert "def burn(" in after["diary.py"]
    listed = [json.loads(line)["name"] for line in after["listing.jsonl"].splitlines()]
    assert listed[0] == "diary_burn"
    assert "ledger_reread" in listed
    locked = json.loads(after["tools.lock"])["apps"]["ledger"]["objects"]
    assert hashlib.sha256(after["ledger_objects.py"].encode()).hexdigest().startswith(locked)


def test_an_update_of_an_app_changes_lines_of_that_app_alone(tmp_path: Path) -> None:
    atlas = replace(LEDGER, name="Atlas", id="com.example.Atlas", stem="Atlas")
    build(tmp_path, atlas, DIARY, LEDGER)
    before = texts(tmp_path)
    build(tmp_path, atlas, changed(DIARY), LEDGER)
    after = texts(tmp_path)
    changes = {name for name in after if after[name] != before[name]}
    indexes = {"catalogue.json", "listing.jsonl", "tools.lock", "words.jsonl"}
    assert changes == {"diary.py", "diary_objects.py", *indexes}
    for name in indexes:
        lines = difflib.ndiff(before[name].splitlines(), after[name].splitlines())
        for line in (one for one in lines if one[0] in "+-"):
            assert re.match(r'. (\{"(name|key)":)?"(\w+ )?diary[_."]', line), (name, line)


def test_a_digest_stands_once(tmp_path: Path) -> None:
    build(tmp_path, DIARY, changed(LEDGER))
    digests = [
        digest
        for name in ("catalogue.json", "tools.lock")
        for digest in re.findall(r'"([0-9a-f]{16,})"', texts(tmp_path)[name])
    ]
    assert digests
    assert len(digests) == len({*digests})


def test_a_build_in_parts_gives_the_same_folder_as_one_at_once(tmp_path: Path) -> None:
    build(tmp_path / "once", DIARY, LEDGER)
    build(tmp_path / "parts", LEDGER, whole=False)
    build(tmp_path / "parts", DIARY, whole=False)
    assert texts(tmp_path / "once") == texts(tmp_path / "parts")


def test_a_build_that_changes_nothing_writes_nothing(tmp_path: Path) -> None:
    build(tmp_path, DIARY, LEDGER)
    before = {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    inodes = {path.name: path.stat().st_ino for path in tmp_path.iterdir()}
    build(tmp_path, DIARY, LEDGER)
    assert {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == before
    assert {path.name: path.stat().st_ino for path in tmp_path.iterdir()} == inodes
    assert put(tmp_path, texts(tmp_path)) == []


def test_what_is_gone_is_kept_until_pruned(tmp_path: Path) -> None:
    build(tmp_path, DIARY, LEDGER)
    (tmp_path / "my_own.py").write_text("mine = 1\n")

    assert build(tmp_path, DIARY).gone == ("ledger",)
    assert apps(tmp_path).keys() == {"diary", "ledger"}

    assert build(tmp_path, DIARY, prune=True).gone == ("ledger",)
    assert apps(tmp_path).keys() == {"diary"}
    assert not (tmp_path / "ledger.py").exists()
    assert (tmp_path / "my_own.py").read_text() == "mine = 1\n"
    assert "ledger" not in (tmp_path / "listing.jsonl").read_text()


def test_nothing_is_gone_while_an_input_could_not_be_read(tmp_path: Path) -> None:
    build(tmp_path, DIARY, LEDGER)
    failed = replace(
        inputs(DIARY),
        previous=read_previous(tmp_path),
        failed=[Diagnostic("broken.sdef", 1, "xml", "is not well-formed XML", "error")],
        prune=True,
    )
    files, report = build_folder(failed)
    assert report.gone == ()
    assert "ledger" in files["catalogue.json"]


def test_a_newcomer_of_the_same_name_gets_the_number(tmp_path: Path) -> None:
    old = replace(DIARY, id="org.example.zzz")
    new = replace(DIARY, id="com.example.aaa")
    build(tmp_path, old)
    assert apps(tmp_path) == {"diary": "org.example.zzz"}
    build(tmp_path, new, old)
    assert apps(tmp_path) == {"diary": "org.example.zzz", "diary_2": "com.example.aaa"}
    build(tmp_path, new, whole=False)
    assert apps(tmp_path) == {"diary": "org.example.zzz", "diary_2": "com.example.aaa"}


def test_a_key_stays_bound_while_its_app_is_away(tmp_path: Path) -> None:
    old = replace(DIARY, id="org.example.zzz")
    new = replace(DIARY, id="com.example.aaa")
    build(tmp_path, old)
    build(tmp_path, new)
    assert apps(tmp_path)["diary"] == "org.example.zzz"
    build(tmp_path, new, old)
    assert apps(tmp_path) == {"diary": "org.example.zzz", "diary_2": "com.example.aaa"}


ONE = KeyClaim("Diary", "com.example.Diary", "1.0", "aa")
TWO = KeyClaim("Diary", "com.example.Diary", "2.0", "bb")


def test_two_versions_of_an_app_have_two_keys_whatever_their_order() -> None:
    keys = [(row.key, row.identity) for row in assign_keys([ONE, TWO], {})]
    assert keys == [("diary", "com.example.Diary"), ("diary_2", "com.example.Diary@2.0")]
    assert [(row.key, row.identity) for row in assign_keys([TWO, ONE], {})] == keys[::-1]
    bound = {identity: BoundKey(key) for key, identity in keys}
    assert [row.key for row in assign_keys([TWO, ONE], bound)] == ["diary_2", "diary"]


def test_a_second_version_does_not_take_the_key_of_the_first() -> None:
    bound = {"com.example.Diary": BoundKey("diary", "2.0", "bb")}
    rows = assign_keys([ONE, TWO], bound)
    assert [(row.key, row.identity) for row in rows] == [
        ("diary_2", "com.example.Diary@1.0"),
        ("diary", "com.example.Diary"),
    ]


def test_copies_of_one_version_keep_their_keys() -> None:
    copy = replace(ONE, digest="cc")
    first = assign_keys([ONE, copy], {})
    assert len({row.key for row in first}) == len({row.identity for row in first}) == 2
    bound = {
        row.identity: BoundKey(row.key, "1.0", claim.digest)
        for row, claim in zip(first, (ONE, copy), strict=True)
    }
    assert assign_keys([copy, ONE], bound) == first[::-1]


def spoil(folder: Path, name: str, text: str | bytes) -> str:
    """Spoil a file of a folder, try a build, and return the one line that comes of it."""
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    before = {one.name: one.read_bytes() for one in folder.iterdir()}
    with pytest.raises(OutputError) as caught:
        build(folder, changed(DIARY))
    assert {one.name: one.read_bytes() for one in folder.iterdir()} == before
    line = str(caught.value)
    assert "\n" not in line
    assert str(folder) in line
    return line


@pytest.mark.sweep
@pytest.mark.parametrize("name", INDEX)
@pytest.mark.parametrize("text", ["{", "{}", "[]", "null", '"x"', "[1, 2]", b"\xff", '{"a": 1}\n{'])
def test_an_index_that_is_no_build_s_is_refused_and_kept(
    tmp_path: Path, name: str, text: str | bytes
) -> None:
    build(tmp_path, DIARY)
    spoil(tmp_path, name, text)


def test_an_index_of_another_format_is_refused(tmp_path: Path) -> None:
    build(tmp_path, DIARY)
    text = (tmp_path / "catalogue.json").read_text().replace('"format": 1', '"format": 2')
    assert "written in another format than 1" in spoil(tmp_path, "catalogue.json", text)


@pytest.mark.parametrize("name", ["listing.jsonl", "tools.lock"])
def test_an_index_with_a_part_missing_is_refused(tmp_path: Path, name: str) -> None:
    build(tmp_path, DIARY)
    (tmp_path / name).unlink()
    with pytest.raises(OutputError, match=f"{name} cannot be read"):
        build(tmp_path, DIARY)


@pytest.mark.parametrize(("name", "table", "key"), [
    *(("catalogue.json", "apps", key) for key in ("id", "name", "kind", "digest", "tools")),
    *(("catalogue.json", "tools", key) for key in ("module", "function", "level", "ceiling")),
    ("tools.lock", "apps", "identity"), ("tools.lock", "apps", "version"),
])  # fmt: skip
def test_a_row_with_a_part_missing_is_refused(
    tmp_path: Path, name: str, table: str, key: str
) -> None:
    build(tmp_path, DIARY)
    data = json.loads((tmp_path / name).read_text())
    del next(iter(data[table].values()))[key]
    assert key in spoil(tmp_path, name, json.dumps(data))


@pytest.mark.parametrize(("table", "value"), [
    ("terms", 3), ("terms", [["entr"], ["MODIFY"]]), ("terms", [["entr"], ["HIGH"], []]),
    ("sent", 3), ("sent", ["text", {"in_": ["inin"]}, {}]),
])  # fmt: skip
def test_a_reviewed_row_of_another_form_is_refused(
    tmp_path: Path, table: str, value: object
) -> None:
    build(tmp_path, DIARY)
    data = json.loads((tmp_path / "tools.lock").read_text())
    data[table][next(iter(data[table]))] = value
    assert "was not written by a build" in spoil(tmp_path, "tools.lock", json.dumps(data))


def test_a_folder_without_a_catalogue_has_no_previous_build(tmp_path: Path) -> None:
    assert read_previous(tmp_path / "none") == PreviousBuild()
    (tmp_path / "listing.jsonl").write_text("{")
    assert read_previous(tmp_path) == PreviousBuild()


def test_an_interrupted_write_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(tmp_path, DIARY)
    before = texts(tmp_path)

    def fail(self: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device", str(target))

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", fail)
        with pytest.raises(OutputError, match="No space left on device"):
            build(tmp_path, changed(DIARY))
    assert texts(tmp_path) == before
    build(tmp_path, changed(DIARY))
    assert "def burn(" in (tmp_path / "diary.py").read_text()


def test_the_index_is_written_after_the_modules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []
    rename = Path.replace

    def note(self: Path, target: Path) -> Path:
        order.append(target.name)
        return rename(self, target)

    monkeypatch.setattr(Path, "replace", note)
    build(tmp_path, DIARY, LEDGER)
    objects = [f"{key}{end}.py" for key in ("diary", "ledger") for end in ("", "_objects")]
    assert order == [".journal", "__init__.py", *objects, *INDEX]


def test_a_folder_that_cannot_be_written_says_why(tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.write_text("a file")
    with pytest.raises(OutputError, match="taken: File exists"):
        put(taken, {"a.py": ""})
    (tmp_path / "a.py").mkdir()
    with pytest.raises(OutputError, match=r"a\.py"):
        put(tmp_path, {"a.py": ""})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.py", "taken"]


def test_what_a_build_writes_can_be_read_by_others(tmp_path: Path) -> None:
    build(tmp_path, DIARY)
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o644}


def test_an_update_of_one_app_leaves_the_lock_in_one_order(tmp_path: Path) -> None:
    plus = source(name="Diary Plus")
    build(tmp_path, DIARY, plus, LEDGER)
    before = texts(tmp_path)
    # What was kept stands unpacked beside what was built.
    build(tmp_path, plus, whole=False)
    assert texts(tmp_path) == before
    lock = json.loads(before["tools.lock"])
    for table in ("terms", "sent"):
        assert list(lock[table]) == sorted(lock[table])
    assert {"class diary.entry", "class diary_plus.entry"} <= lock["terms"].keys()
