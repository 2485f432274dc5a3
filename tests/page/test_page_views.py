"""The page as a person sees it, in a real Chromium."""

import json
import re
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

VIEWS = ("/now", "/permissions", "/apps/notes", "/tools/notes_make_note", "/search?q=unread mail",
         "/why/notes/notes_make_note", "/rules?action=deny&app=com.apple.Notes", "/undo?call=7",
         "/history", "/chain", "/changes", "/rules", "/tools/nothing")  # fmt: skip


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
    for path in (*VIEWS, "/history/41"):
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
    tab.goto(f"{page.base}/history")
    link = tab.locator("main a", has_text="<script>").first
    assert "\\u202e" in link.inner_text()
    link.click()
    body = tab.inner_text("main")
    assert body.casefold().count("<script>alert(1)</script>") >= 8
    assert "\u202e" not in body
    tab.goto(f"{page.base}/search?q={HOSTILE}")
    assert tab.input_value("#q").startswith("<script>")


def test_a_call_is_found_by_filters_and_read_with_its_story(tab: Any, page: OpenPage) -> None:
    tab.goto(f"{page.base}/history")
    assert tab.locator("li.call").count() == 21
    tab.fill("#q", "line 7")
    tab.press("#q", "Enter")
    assert tab.locator("li.call").count() == 1
    tab.click("li.call >> text=Count")
    assert "line 7" in tab.inner_text("main")
    tab.click("text=Make a rule from this call")
    assert 'tool = "notes_count"' in tab.input_value("#rule")
    # Words that are nearly right, an app by its name, and a day.
    tab.goto(f"{page.base}/history?q=tesster conut")
    assert "These are close." in tab.inner_text("main")
    assert tab.locator("li.call").count() == 20
    tab.goto(f"{page.base}/history?q=Notes today")
    assert tab.locator("li.call").count() == 20
    tab.goto(f"{page.base}/history?q=notes yesterday")
    assert tab.locator("li.call").count() == 0


def test_a_tool_is_tried_dry_then_simulated_then_with_a_question(tab: Any, page: OpenPage) -> None:
    tab.goto(f"{page.base}/permissions")
    tab.fill("#filter", "not")
    assert tab.locator("#tiles > li:visible .name").all_inner_texts() == ["Notes"]
    tab.click("#tiles a >> text=Notes")
    tab.click("text=notes_make_note")
    tab.fill("#arguments", '{"name": "From the page"}')
    tab.click("text=Show what would be sent")
    assert "From the page" in tab.inner_text(".answer pre")
    tab.click("text=Show what your policy decides")
    assert "Requires approval" in tab.inner_text(".answer")
    tab.click("text=Run on a simulated app")
    assert "From the page" in tab.inner_text(".answer .says >> nth=0")
    tab.click("button:text('Allow once')")
    assert "notes.byId" in tab.inner_text(".answer pre >> nth=0")
    tab.fill("#arguments", '{"name": ')
    tab.click("text=Show what would be sent")
    assert "The arguments are not valid JSON" in tab.inner_text(".answer")


def test_a_rule_is_tried_before_it_is_saved_and_comments_stay(tab: Any, page: OpenPage) -> None:
    policy = page.data / "policy.toml"
    policy.write_text('# Mine.\npreset = "cautious"\n')
    tab.goto(f"{page.base}/rules")
    tab.fill("#tool", "notes_count")
    tab.click("button:text('Preview') >> nth=0")
    assert tab.locator("section[role=status] li").count() == 20
    assert 'tool = "notes_count"' in tab.input_value("#rule")
    assert policy.read_text() == '# Mine.\npreset = "cautious"\n'
    tab.click("button:text('Save')")
    tab.wait_for_selector("text=The rule is saved.")
    assert policy.read_text() == (
        '# Mine.\npreset = "cautious"\n\n[[deny]]\ntool = "notes_count"\n'
    )
    assert "20 calls in 30 days" in tab.inner_text("li.call")
    tab.click("summary")
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
    for _ in range(5):
        tab.keyboard.press("Tab")
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/history")
    tab.keyboard.press("/")
    assert tab.evaluate("document.activeElement.id") == "find"
    tab.evaluate("document.activeElement.blur()")
    for _ in range(2):
        tab.keyboard.press("j")
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/history/*")


# Notes what gets the focus, and whether that shows; returns how many things can be used.
WALK = """() => {
    const used = "a[href], button, input:not([type=hidden]), select, textarea, summary," +
        " [tabindex='0']";
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
    # The charts come by themselves.
    tab.locator("[data-later] noscript").wait_for(state="detached")
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
    assert "not every lower level is accepted" in tab.inner_text("main")
    assert json.loads(lock.read_bytes()) == held
    tab.check("[name='accept notes.note.name']")
    held["terms"]["property notes.folder.name"][1] = ["DANGEROUS"]
    lock.write_text(json.dumps(held))
    tab.click("button:text('Build')")
    assert "something changed since you looked" in tab.inner_text("main")
    for name in ("notes.note.name", "notes.folder.name"):
        tab.check(f"[name='accept {name}']")
    tab.click("button:text('Build')")
    assert "The tools are built" in tab.inner_text("main")
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
    assert "Nothing waits for you." in tab.inner_text("main")
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
        names = tab.locator(".question .thing .name").all_inner_texts()
        assert names == ["Gift ideas", "Shopping list"]
        assert "A book for Ines" in tab.inner_text(".question .thing >> nth=0")
        assert re.search(r"· [12]:\d\d", tab.inner_text("[data-until]"))
        assert tab.title().startswith("(1) ")
        tab.click(f".question button:text('{answer}')")
        tab.wait_for_selector("text=IAC has your answer.")
    (result,) = said
    assert result.is_error == (answer == "Deny"), result
    tab.wait_for_selector("text=Nothing waits for you.")
