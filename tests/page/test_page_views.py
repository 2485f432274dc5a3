"""The page as a person sees it, in a real Chromium."""

import json
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import anyio
import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_types import ElicitResult
from opened_page import HOSTILE, OpenPage, environment

VIEWS = ("/now", "/apps", "/apps/notes", "/tools/notes_make_note", "/search?q=unread mail",
         "/why/notes/notes_make_note",
         "/calls", "/chain", "/changes", "/rules", "/tools/nothing")  # fmt: skip


@contextmanager
def running(work: Callable[[], object]) -> Iterator[None]:
    """Do something beside, to its end."""
    thread = threading.Thread(target=work)
    thread.start()
    yield
    thread.join(60)
    assert not thread.is_alive()


@pytest.mark.slow
def test_views_have_no_fault_that_axe_finds(tab: Any, page: OpenPage, axe: str) -> None:
    for path in (*VIEWS, "/calls/41"):
        tab.goto(f"{page.base}{path}")
        tab.evaluate(axe)
        # The themes differ in colours alone.
        for scheme, run in (("light", "axe.run()"), ("dark", "axe.run({runOnly: 'cat.color'})")):
            tab.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            found = tab.evaluate(run)
            assert found["passes"]
            rows = [(path, one["id"], one["nodes"][0]["html"]) for one in found["violations"]]
            assert rows == []


def test_what_apps_and_clients_say_is_shown_and_never_run(tab: Any, page: OpenPage) -> None:
    tab.goto(f"{page.base}/calls")
    link = tab.locator("a", has_text="<script>").first
    assert "\\u202e" in link.inner_text()
    link.click()
    body = tab.inner_text("main")
    assert body.count("<script>alert(1)</script>") >= 8
    assert "\u202e" not in body
    tab.goto(f"{page.base}/search?q={HOSTILE}")
    assert tab.input_value("#q").startswith("<script>")


def test_a_call_is_found_by_filters_and_read_with_its_story(tab: Any, page: OpenPage) -> None:
    tab.goto(f"{page.base}/calls")
    assert tab.locator("tbody tr").count() == 21
    tab.fill("#text", "line 7")
    tab.click("text=Filter >> nth=-1")
    assert tab.locator("tbody tr").count() == 1
    tab.click("tbody >> text=notes_count")
    assert "line 7" in tab.inner_text("main")
    tab.click("text=Make a rule from this call")
    assert 'tool = "notes_count"' in tab.input_value("#rule")


def test_a_tool_is_tried_dry_then_simulated_then_with_a_question(tab: Any, page: OpenPage) -> None:
    tab.goto(f"{page.base}/apps")
    tab.fill("#filter", "not")
    assert tab.locator("#tiles > li:visible").all_inner_texts()[0].splitlines()[1] == "Notes"
    tab.click("#tiles a >> text=Notes")
    tab.click("text=notes_make_note")
    tab.fill("#arguments", '{"name": "From the page"}')
    tab.click("text=Show what would be sent")
    assert "From the page" in tab.inner_text("[role=status] pre")
    tab.click("text=Show what your policy decides")
    assert "requires approval" in tab.inner_text("[role=status]")
    tab.click("text=Run on a simulated app")
    assert "From the page" in tab.inner_text("[role=status] .said")
    tab.click("button:text('Allow once')")
    assert "notes.byId" in tab.inner_text("[role=status] pre >> nth=0")
    tab.fill("#arguments", '{"name": ')
    tab.click("text=Show what would be sent")
    assert "The arguments are not valid JSON" in tab.inner_text("[role=status]")


def test_a_rule_is_tried_before_it_is_saved_and_comments_stay(tab: Any, page: OpenPage) -> None:
    policy = page.data / "policy.toml"
    policy.write_text('# Mine.\npreset = "cautious"\n')
    tab.goto(f"{page.base}/rules")
    tab.fill("#rule", '[[deny]]\ntool = "notes_count"')
    tab.click("button:text('Preview')")
    assert tab.locator("[role=status] li").count() == 20
    assert policy.read_text() == '# Mine.\npreset = "cautious"\n'
    tab.click("button:text('Save')")
    tab.wait_for_selector("text=The rule is saved.")
    assert policy.read_text() == (
        '# Mine.\npreset = "cautious"\n\n[[deny]]\ntool = "notes_count"\n'
    )
    assert tab.locator("tbody tr").inner_text().split("\t")[-1] == "20"
    tab.fill("#rule", "[[deny]]\ntol = 5")
    tab.click("button:text('Save')")
    assert "tol" in tab.inner_text(".wrong")
    after = policy.read_text()
    policy.unlink()
    assert "tol" not in after


def test_the_keyboard_alone_reaches_a_call(tab: Any, page: OpenPage) -> None:
    tab.goto(f"{page.base}/now")
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.className") == "skip"
    for _ in range(3):
        tab.keyboard.press("Tab")
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/calls")
    tab.keyboard.press("/")
    assert tab.evaluate("document.activeElement.id") == "text"
    tab.keyboard.press("Tab")
    tab.evaluate("document.activeElement.blur()")
    for _ in range(2):
        tab.keyboard.press("j")
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/calls/*")


# Notes what gets the focus, and whether that shows; returns how many things can be used.
WALK = """() => {
    const used = "a[href], button, input:not([type=hidden]), select, textarea, [tabindex='0']";
    window.usable = [...document.querySelectorAll(used)].filter((one) => one.checkVisibility());
    window.walked = [];
    document.addEventListener("focusin", ({ target }) => {
        const shown = getComputedStyle(target).outlineStyle !== "none";
        walked.push([target, shown && target.getBoundingClientRect().width > 0]);
    });
    return usable.length;
}"""
MISSED = """() => usable.filter((one) => walked.filter(([other]) => one === other).length !== 1)
    .concat(walked.filter(([, shown]) => !shown).map(([one]) => one)).map((one) => one.outerHTML)"""


@pytest.mark.sweep
@pytest.mark.parametrize("path", VIEWS)
def test_the_keyboard_alone_walks_every_view(tab: Any, page: OpenPage, path: str) -> None:
    """All that can be used is reached once and shows that it is; nothing holds the focus."""
    tab.goto(f"{page.base}{path}")
    for _ in range(tab.evaluate(WALK)):
        tab.keyboard.press("Tab")
    assert tab.evaluate(MISSED) == []


@pytest.mark.slow
def test_nothing_moves_for_who_wants_that(tab: Any, page: OpenPage) -> None:
    tab.goto(f"{page.base}/rules")
    moves = "getComputedStyle(document.querySelector('main button')).transitionDuration"
    tab.emulate_media(reduced_motion="no-preference")
    assert tab.evaluate(moves) != "0s"
    tab.emulate_media(reduced_motion="reduce")
    assert tab.evaluate(moves) == "0s"


@pytest.mark.slow
def test_it_fits_a_narrow_window(tab: Any, page: OpenPage) -> None:
    tab.set_viewport_size({"width": 320, "height": 640})
    for path in VIEWS:
        tab.goto(f"{page.base}{path}")
        assert tab.evaluate("document.documentElement.scrollWidth") <= 320, path


@pytest.mark.slow
def test_an_update_is_reviewed_and_a_lower_level_is_accepted_by_a_click(
    tab: Any, page: OpenPage
) -> None:
    tools = page.data / "tools"
    argv = ["build", "notes", "--bundled", "--output", str(tools)]
    subprocess.run([sys.executable, "-m", "iac_gen", *argv], check=True, capture_output=True)
    lock = tools / "tools.lock"
    # As an earlier review left it: a level was higher, and a property was not there.
    held = json.loads(lock.read_bytes())
    held["terms"]["property notes.note.name"][1] = ["DANGEROUS"]
    del held["terms"]["property notes.note.creation date"]
    lock.write_text(json.dumps(held))
    tab.goto(f"{page.base}/changes")
    tab.select_option("#app", "notes")
    tab.click("button:text('Compare')")
    assert "property note.creation date added" in tab.inner_text("main")
    row = tab.locator("section .even tr", has_text="note.name")
    assert row.inner_text().split("\t") == ["property note.name", "DANGEROUS", "MODIFY"]
    tab.click("button:text('Build')")
    assert "not every lower level is accepted" in tab.inner_text("[role=status]")
    assert json.loads(lock.read_bytes()) == held
    tab.check("[name='accept notes.note.name']")
    held["terms"]["property notes.folder.name"][1] = ["DANGEROUS"]
    lock.write_text(json.dumps(held))
    tab.click("button:text('Build')")
    assert "something changed since you looked" in tab.inner_text("[role=status]")
    for name in ("notes.note.name", "notes.folder.name"):
        tab.check(f"[name='accept {name}']")
    tab.click("button:text('Build')")
    assert "The tools are built" in tab.inner_text("[role=status]")
    after = json.loads(lock.read_bytes())["terms"]
    assert after["property notes.note.name"][1] == ["MODIFY"]
    tab.goto(f"{page.base}/changes?compare=1&app=--help")
    assert "--help" in tab.inner_text("[role=alert]")
    shutil.rmtree(tools)


async def turn_away(_context: Any, _params: Any) -> ElicitResult:
    """A client that can ask, and whose person closes the question."""
    return ElicitResult(action="cancel")


@pytest.mark.sweep
@pytest.mark.parametrize(("answer", "client_asks"), [("Allow once", turn_away), ("Deny", None)])
def test_a_question_of_a_real_client_is_answered_on_the_page(
    tab: Any, page: OpenPage, answer: str, client_asks: Any
) -> None:
    tab.goto(f"{page.base}/now")
    assert "No question waits" in tab.inner_text("main")
    argv = ["-m", "iac_mcp", "serve", "--simulate", "--expose", "search"]
    program = StdioServerParameters(command=sys.executable, args=argv, env=environment(page.data))

    async def main() -> Any:
        async with (
            stdio_client(program) as (read, write),
            ClientSession(read, write, elicitation_callback=client_asks) as client,
        ):
            await client.initialize()
            given = {"name": "notes_delete", "calls": [{"target": f"notes[{n}]"} for n in (1, 0)]}
            return await client.call_tool("dangerous_tool", given)

    said: list[Any] = []

    def play() -> None:
        said.append(anyio.run(main))

    with running(play):
        # It comes by itself, with the object that it is about.
        tab.wait_for_selector(".question", timeout=30_000)
        rows = tab.locator(".question tr").all_inner_texts()
        assert [row.partition(".")[0] for row in rows] == ["1", "2"]
        assert "Shopping" in rows[1]
        assert tab.title().startswith("(1) ")
        tab.click(f".question button:text('{answer}')")
        tab.wait_for_selector("text=IAC has your answer.")
    (result,) = said
    assert result.is_error == (answer == "Deny"), result
    tab.wait_for_selector("text=No question waits for your answer.")
