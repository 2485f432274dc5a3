"""Pictures of windows: what is drawn in, what is black, and who is asked before."""

import base64
import io
import os
from pathlib import Path
from typing import Any

import pytest
import ui_stack as stack
from simulated import permissions_under
from ui_calls import prepare
from ui_memory import APP, Memory, node, tree
from ui_user import User

from iac_accessibility.model import Frame
from iac_accessibility.toolset import UiToolset, open_toolset
from iac_base.errors import ToolError
from iac_runtime.execution.executor import Executor
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.plans import (
    Call,
    CallAnswer,
    CompletedCall,
    PendingCall,
    RefusedCall,
    ToolImage,
)
from iac_runtime.policy.permissions import Requester
from iac_runtime.serve.call import outcome_result
from iac_runtime.tools.own import toolset_tools

Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
BLACK = (0, 0, 0)
PLAIN = (100, 150, 200)


def rows(**more: Any) -> dict[str, Any]:
    """Return a window of 400 by 300 with a button, a secret, and a text that has one in it."""
    key = "sk_" + "live_4eC39HqLyjWDarjtT1zdp7dc"
    made = {
        "app": node("app", "application", "", "w"),
        "w": node("w", "window", "Keys", "b", "p", "t", *more),
        "b": node("b", "button", "Send")._replace(frame=Frame(110, 110, 80, 20)),
        "p": node("p", "text_field", "Password", value="hunter2"),
        "t": node("t", "static_text", f"key {key}")._replace(frame=Frame(110, 210, 200, 20)),
        **more,
    }
    made["w"] = made["w"]._replace(frame=Frame(100, 100, 400, 300))
    made["p"] = made["p"]._replace(frame=Frame(110, 150, 200, 20))
    return made


def seen(bridge: Memory, **arguments: Any) -> tuple[dict[str, Any], Any]:
    """Return the answer and the picture of a call."""
    found = prepare(UiToolset(bridge), "see", {"app": APP.pid, **arguments}).perform(None)
    (image,) = found.images
    return found.value, Image.open(io.BytesIO(image.data)).convert("RGB")


def test_secrets_are_black_and_what_can_be_acted_on_is_marked() -> None:
    answer, image = seen(Memory(tree(rows())))
    assert image.size == (answer["width"], answer["height"]) == (400, 300)
    for x, y in ((110, 60), (12, 52), (209, 68), (110, 120)):
        assert image.getpixel((x, y)) == BLACK
    assert image.getpixel((300, 250)) == PLAIN
    assert image.getpixel((10, 30)) != PLAIN
    plain = seen(Memory(tree(rows())), marks=False)[1]
    assert plain.getpixel((10, 30)) == PLAIN
    assert 'button "Send"' in answer["tree"]
    assert "hunter2" not in str(answer)


def test_what_is_black_in_a_picture_is_in_no_line_beside_it() -> None:
    answer, _ = seen(Memory(tree(rows())))
    assert "4eC39HqLyjWDarjtT1zdp7dc" not in str(answer)
    kept = Memory(tree(rows()), apps=[APP._replace(id="com.1password.1password")])
    answer, image = seen(kept)
    assert image.getpixel((12, 112)) == BLACK
    assert "key" not in answer["tree"].casefold().replace('"keys"', "")
    assert 'button "Send"' in answer["tree"]
    found = prepare(UiToolset(kept), "find_element", {"app": APP.pid, "title": "key"}).perform(None)
    assert [row["role"] for row in found.value["elements"]] == ["window"]


def test_a_picture_is_scaled_to_its_budget_and_can_be_of_one_element() -> None:
    answer, image = seen(Memory(tree(rows())), max_tokens=200)
    assert image.width * image.height <= 200 * 750
    assert answer["scale"] < 1
    bridge = Memory(tree(rows()))
    toolset = UiToolset(bridge)
    found = prepare(toolset, "find_element", {"app": 100, "title": "Send"}).perform(None).value
    part = prepare(toolset, "see", {"element": found["elements"][0]["id"]}).perform(None)
    assert (part.value["width"], part.value["height"]) == (80, 20)


def test_no_picture_where_secrets_are_not_known() -> None:
    with pytest.raises(ToolError, match="read completely"):
        seen(Memory(tree(rows(h=node("h", "group"))), hangs=["h"]), timeout=1)
    hidden = rows()
    hidden["p"] = hidden["p"]._replace(frame=None)
    with pytest.raises(ToolError, match="cannot black it out"):
        seen(Memory(tree(hidden)))


def test_a_window_without_a_tree_is_read_by_the_systems_own_recognition(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "tesseract"
    program.write_text("#!/bin/sh\ncat >/dev/null\necho 'Invoice 4711'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    bare = {"app": node("app", "application", "", "w"), "w": rows()["w"]._replace(children=())}
    assert seen(Memory(tree(bare)))[0]["text"] == "Invoice 4711"
    assert "text" not in seen(Memory(tree(bare)), recognise_text=False)[0]
    assert "text" not in seen(Memory(tree(rows())))[0]


def asked(policy: str, app: str = APP.id) -> CallAnswer:
    bridge = Memory(tree(rows()), apps=[APP._replace(id=app)])
    permissions = permissions_under(policy)
    tools = {row.name: row for row in toolset_tools(("accessibility",))}
    kept = {open_toolset: UiToolset(bridge)}
    gate = Gate(
        None, Executor(), home="/Users/me", permissions=permissions, kept=kept, added=lambda: tools
    )
    return gate.call(Call("see", {"app": APP.pid}, Requester("tester", ("client",))))


def test_a_person_is_asked_and_some_apps_are_never_shown() -> None:
    asks = asked("")
    assert isinstance(asks, PendingCall)
    assert asks.level == "MODIFY"
    assert isinstance(asked("preset = 'read-only'"), RefusedCall)
    assert isinstance(asked("", "com.1password.1password"), RefusedCall)
    assert isinstance(asked("[[deny]]\napp = 'Memory'"), RefusedCall)


def test_a_picture_travels_as_the_protocols_image() -> None:
    import mcp_types as types

    picture = ToolImage(b"\x89PNG\r\n")
    result = outcome_result(CompletedCall({"width": 1}, "", "MODIFY", images=(picture,)))
    assert result["content"][1]["data"] == base64.b64encode(picture.data).decode()
    known = types.CallToolResult.model_validate(result)
    again = known.model_dump(mode="json", by_alias=True, exclude_none=True)
    assert again["content"] == result["content"]


@pytest.mark.process
def test_a_real_window_without_what_lies_before_it(
    start: Any, desk: stack.Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    xlib = pytest.importorskip("Xlib.display", reason="python-xlib is not installed")
    user: User = start("gtk")
    monkeypatch.setenv("DISPLAY", desk.env["DISPLAY"])
    found = user("find_element", role="window")["elements"][0]
    x, y = (int(found["position"][axis]) for axis in "xy")

    def picture() -> Any:
        answer = prepare(user.toolset, "see", {"app": user.app.pid, "marks": False}).perform(None)
        return Image.open(io.BytesIO(answer.images[0].data)).convert("RGB")

    (secret,) = user("find_element", title="Passphrase")["elements"]
    at = [int(secret["position"][axis]) - place + 10 for axis, place in (("x", x), ("y", y))]
    before = picture()
    assert before.getpixel(tuple(at)) == BLACK
    assert len(before.getcolors(100_000)) > 20
    other = xlib.Display(desk.env["DISPLAY"])
    screen = other.screen()
    cover = screen.root.create_window(
        *(x + 200, y + 200, 60, 60, 0, screen.root_depth),
        background_pixel=0xFF0000,
        override_redirect=True,
    )
    cover.map()
    other.sync()
    stack.wait_until(lambda: picture().getpixel((230, 230)) == BLACK, "the cover is black")
    assert (255, 0, 0) not in {color for _, color in picture().getcolors(100_000)}
    other.close()
