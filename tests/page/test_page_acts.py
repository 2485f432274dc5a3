"""What a person does on the page: ten tasks, each within three clicks from the first view."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from opened_page import OpenPage, write_calls

from iac_page.marks import AppMarks, icon_file
from iac_page.previews import Preview, read_preview
from iac_runtime.policy.approvals import ApprovalStore, list_approvals
from iac_runtime.policy.policy_file import load_policy
from iac_runtime.tools.catalogue import AppRow, Catalogue


class Person:
    """A person at the page; counts the clicks since the first view."""

    def __init__(self, tab: Any, page: OpenPage) -> None:
        self.tab, self.page, self.clicks = tab, page, 0
        self.begin()

    def begin(self, path: str = "/now") -> None:
        self.clicks = 0
        self.tab.goto(f"{self.page.base}{path}")

    def click(self, what: str) -> None:
        self.clicks += 1
        self.tab.click(what)

    def text(self) -> str:
        return str(self.tab.inner_text("main"))

    def run_tool(self, tool: str, **arguments: Any) -> None:
        """Have a call made, as an assistant would, and allow it."""
        self.tab.goto(f"{self.page.base}/tools/{tool}")
        self.tab.fill("#arguments", json.dumps(arguments))
        # A form that is left before it was answered may never arrive.
        with self.tab.expect_navigation():
            self.tab.click("text=Run on the real app")
        if self.tab.locator("button:text('Allow once')").count():
            with self.tab.expect_navigation():
                self.tab.click("button:text('Allow once')")


@pytest.fixture
def own_page(opened: Callable[[Path], OpenPage], tmp_path: Path) -> OpenPage:
    data = tmp_path / "data"
    (data / "state").mkdir(parents=True, mode=0o700)
    write_calls(data / "state", 3)
    return opened(data)


@pytest.fixture
def person(browser: Any, own_page: OpenPage, monkeypatch: pytest.MonkeyPatch) -> Iterator[Person]:
    monkeypatch.setenv("IAC_DATA", str(own_page.data))
    context = browser.new_context(viewport={"width": 1100, "height": 800})
    tab = context.new_page()
    tab.goto(own_page.address)
    yield Person(tab, own_page)
    context.close()


def test_everything_stops_and_goes_on(person: Person) -> None:
    person.click("text=Pause everything")
    assert person.clicks == 1
    assert "Everything is paused." in person.text()
    assert (person.page.data / "state" / "paused").exists()
    person.begin("/history")
    assert "Everything is paused." in person.text()
    person.click("button:text('Resume')")
    assert "Calls run again." in person.text()
    assert not (person.page.data / "state" / "paused").exists()


def test_a_change_is_undone_after_it_was_shown_what_comes_back(person: Person) -> None:
    person.run_tool("notes_set", target="notes[0]", properties={"name": "Presents"})
    person.begin()
    assert "Presents" in person.text()
    person.click("a:text('Undo')")
    assert "This would be restored" in person.text()
    assert "Shopping list" in person.text() or "Gift ideas" in person.text()
    person.click("button:text('Undo')")
    assert person.clicks == 2
    assert "The change is undone." in person.text()
    person.begin()
    assert "Undone" in person.text()


def test_an_undo_of_what_changed_since_does_nothing(person: Person) -> None:
    person.run_tool("notes_set", target="notes[0]", properties={"name": "One"})
    person.begin()
    person.click("a:text('Undo')")
    form = person.tab.url
    person.run_tool("notes_set", target="notes[0]", properties={"name": "Two"})
    person.tab.goto(form)
    assert "changed" in person.text() or "is now" in person.text()
    assert person.tab.locator("main button:text('Undo')").count() == 0


def test_an_app_is_only_read_for_a_day(person: Person) -> None:
    policy = person.page.data / "policy.toml"
    policy.write_text("# Mine.\n[limits]\nreads_per_second = 50\n")
    person.click("nav >> text=Permissions")
    person.tab.select_option("#for-mail", "day")
    person.click("form[aria-label=Mail] button:text('Read only')")
    assert person.clicks == 2
    assert "Saved." in person.text()
    assert policy.read_text().startswith("# Mine.\n")
    (deny,), (allow,) = load_policy().deny, load_policy().allow
    assert (deny.app, allow.app) == (("com.apple.mail",), ("com.apple.mail",))
    assert (deny.level, allow.level) == (("MODIFY", "DANGEROUS"), ("SAFE",))
    assert deny.until == allow.until is not None
    tile = person.tab.locator("#tiles > li", has_text="Mail").first
    assert tile.locator("[aria-pressed=true]").inner_text() == "Read only"
    assert "until 20" in tile.inner_text()
    person.click("form[aria-label=Mail] button:text('Off')")
    assert not load_policy().allow
    person.click("form[aria-label=Mail] button:text('Ask')")
    assert policy.read_text() == "# Mine.\n[limits]\nreads_per_second = 50\n"


def test_a_policy_with_a_mistake_is_left_as_it_is(person: Person) -> None:
    policy = person.page.data / "policy.toml"
    for text, says in (("deny = [", "policy.toml"), ('deny = [{ app = "x" }]', "[[deny]]")):
        person.begin("/permissions")
        policy.write_text(text)
        person.click("form[aria-label=Mail] button:text('Off')")
        assert says in person.text()
        assert policy.read_text() == text
        policy.unlink()


def test_a_preset_says_what_it_would_have_asked(person: Person) -> None:
    person.run_tool("notes_make_note", name="One")
    person.click("nav >> text=Permissions")
    says = person.tab.locator("[data-prompts=cautious]")
    says.filter(has_text="prompt").wait_for(timeout=20_000)
    person.begin()
    person.click("nav >> text=Permissions")
    person.click("text=Trusted")
    assert person.clicks == 2
    assert load_policy().preset == "trusted"
    assert person.tab.locator(".preset[aria-pressed=true] .name").inner_text() == "Trusted"


def test_an_always_is_revoked(person: Person) -> None:
    person.tab.goto(f"{person.page.base}/tools/notes_make_note")
    person.tab.fill("#arguments", '{"name": "One"}')
    person.tab.click("text=Run on the real app")
    person.tab.click("summary:text('More')")
    person.tab.click("button:text('Always allow')")
    store = ApprovalStore(person.page.data / "state")
    assert len(list_approvals(store)) == 1
    person.begin()
    person.click("nav >> text=Permissions")
    person.click("button:text('Revoke')")
    assert person.clicks == 2
    assert list_approvals(store) == []
    store.close()
    assert "You have no Always allow answers." in person.text()


def test_why_a_call_was_refused_and_a_rule_from_it(person: Person) -> None:
    person.click("nav >> text=History")
    person.click("li.call:has-text('DANGEROUS') .what a")
    assert person.clicks == 2
    assert "Refused" in person.text()
    person.click("text=Make a rule from this call")
    assert person.clicks == 3


def test_a_rule_made_in_words_holds_for_the_next_call(person: Person) -> None:
    person.begin("/rules")
    person.tab.select_option("#app", "com.apple.Notes")
    person.tab.select_option("#level", "MODIFY")
    person.tab.fill("#why", "Not now.")
    person.click("button:text('Preview') >> nth=0")
    assert "level MODIFY" in person.text()
    person.click("button:text('Save')")
    assert "The rule is saved." in person.text()
    person.tab.goto(f"{person.page.base}/tools/notes_make_note")
    person.tab.fill("#arguments", '{"name": "One"}')
    person.tab.click("text=Run on the real app")
    assert "Not now." in person.text()


@pytest.mark.parametrize(
    ("line", "seen"),
    [
        (
            '1. note "Gifts", modification date 2026-02-11 21:00, plaintext "Gifts A book"',
            Preview("note", "note", "Gifts", [("modification date", "2026-02-11 21:00")], "A book"),
        ),
        (
            'message "Lunch, Friday", sender "Ines <i@example.com>", date received 2026-03-01 9:00',
            Preview("mail", "message", "Lunch, Friday",
                    [("sender", "Ines <i@example.com>"), ("date received", "2026-03-01 9:00")]),
        ),
        ('file "a.pdf", 2 pages, at "/tmp/a, b.pdf", size 3.2 MB',
         Preview("file", "file", "a.pdf",
                 [("", "2 pages"), ("at", "/tmp/a, b.pdf"), ("size", "3.2 MB")])),
        ("8 notes, 3 of them locked", Preview("thing", "", "8 notes, 3 of them locked")),
        ("", Preview("thing", "", "")),
    ],
)  # fmt: skip
def test_an_object_is_previewed(line: str, seen: Preview) -> None:
    assert read_preview(line) == seen


def test_an_icon_comes_from_the_bundle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What `sips` does is only seen on a Mac; here a program stands for it that copies."""
    monkeypatch.setenv("IAC_DATA", str(tmp_path / "data"))
    inside = tmp_path / "Apps" / "Notes.app" / "Contents"
    (inside / "Resources").mkdir(parents=True)
    (inside / "Info.plist").write_text(
        "<plist version='1.0'><dict><key>CFBundleIconFile</key><string>../../up</string></dict>"
        "</plist>"
    )
    (inside / "Resources" / "up.icns").write_bytes(b"icon")
    sips = tmp_path / "bin" / "sips"
    sips.parent.mkdir()
    sips.write_text('#!/bin/sh\ncp "$6" "$8"\n')
    sips.chmod(0o755)
    row = AppRow("notes", "com.apple.Notes", "Notes", "app", tmp_path)
    assert icon_file(row, [str(tmp_path / "Apps")]) is None
    monkeypatch.setenv("PATH", f"{sips.parent}:/usr/bin:/bin")
    found = icon_file(row, [str(tmp_path / "Apps")])
    assert found is not None
    assert found.read_bytes() == b"icon"


def test_apps_are_known_by_any_name(tmp_path: Path) -> None:
    marks = AppMarks(Catalogue([Path(__file__).parents[2] / "generated" / "iac_tools"]))
    assert marks.find("com.apple.notes").name == "Notes"
    assert marks.find("com.apple.Notes,com.apple.mail").name == "Notes +1"
    assert marks.find("com.acme.SuperApp").name == "SuperApp"
    assert marks.find("").name == "IAC"
