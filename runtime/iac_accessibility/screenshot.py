"""see: a picture of a window or an element, marked with the ids of what can be acted on.

Where secrets are is known by the interface's tree alone, so a picture is taken between two
readings of it that agree on their places, and not at all where the tree could not be read whole.
"""

import io
import shutil
from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Final, NotRequired, TypedDict

from iac_accessibility.arguments import AppFacts, TokenLimit, UiCall
from iac_accessibility.errors import LOOK_AGAIN, UiError
from iac_accessibility.model import (
    TEXT_ROLES,
    WINDOW_ROLES,
    AccessDenied,
    Detail,
    Frame,
    ScreenPicture,
    UiApp,
    UiNode,
    Unsupported,
)
from iac_accessibility.outline import (
    ACTIVE_ROLES,
    DATA_NOTE,
    app_facts,
    byte_budget,
    item_line,
    outline_items,
    outline_lines,
)
from iac_accessibility.risk import shows_secret
from iac_accessibility.session import UiSession, walk_app
from iac_accessibility.toolset import reading_tool
from iac_accessibility.traverse import Branch, Walk, WalkLimits
from iac_accessibility.ui_tree import open_items
from iac_base.errors import pip_install
from iac_base.secrets import redact_text
from iac_runtime.toolkit import ToolImage, ToolResult, run_process

if TYPE_CHECKING:
    from PIL.Image import Image


_PIXELS: Final = 750
"""Pixels of a token, as vendors count them (docs.anthropic.com, "Vision")."""

_SHARE: Final = 0.6
"""Part of the budget that the picture takes; the rest is for the lines of what is marked."""

_SIDE: Final = 1_568
"""Most pixels of a side: what is larger is scaled down by those who read it."""

_MARKED: Final = ACTIVE_ROLES | {"menu"}
_MARGIN: Final = 2.0
_FEW: Final = 2
_RECOGNISING: Final = 20.0
_ASKS: Final = (
    "A picture shows the whole window. Secrets that IAC cannot find in its elements stay visible."
)


class PictureAnswer(TypedDict):
    """What see answers, beside the picture."""

    app: AppFacts
    window: str
    width: int
    height: int
    scale: Annotated[float, "Picture pixels per screen pixel."]
    tree: Annotated[str, "The marked elements, listed as in get_ui_tree."]
    text: NotRequired[Annotated[str, "The text in the picture."]]
    notes: NotRequired[list[str]]


@reading_tool(
    answer=PictureAnswer,
    words="capture photo picture screenshot shot snapshot",
    example={"app": "Preview"},
    timeout=10.0,
    front=True,
    asks=_ASKS,
)
def see(
    call: UiCall,
    element: str | None = None,
    marks: bool = True,
    recognise_text: bool = True,
    max_tokens: TokenLimit = 2_000,
) -> ToolResult:
    """Take a picture of an app's window or of an element, with the ids of its controls drawn in.
    Secrets and other programs' windows are blacked out. The first picture of an app requires
    approval.

    Args:
        element: Id or path. Default: the active window.
        marks: Draw the ids.
        recognise_text: Where there are no elements.
    """
    _check_library()
    session, app = call.session, call.app
    seen, top = _read_window(call, element)
    frame = _visible_frame(session, app, top, call.left(0.3))
    before = _secret_frames(session, app, seen, call.left(0.3))
    try:
        picture = session.bridge.take_picture(app, frame, call.left(1.0))
    except AccessDenied:
        raise _not_allowed_error() from None
    # A field that came or moved meanwhile would be shown where none was known.
    again, _ = _read_window(call, element)
    after = _secret_frames(session, app, again, call.left(0.3))
    made = outline_items([top])
    room = byte_budget(round(max_tokens * (1 - _SHARE)))
    shown = open_items(session, app, seen, made, room, call.left(0.3))
    places = [
        (shape.branch.id, shape.node.frame)
        for shape in shown
        if shape.node.frame is not None and shape.node.role in _MARKED
    ]
    image, scale = _draw_marks(picture, [*before, *after], places if marks else [], max_tokens)
    text = _recognize_text(image, len(shown)) if recognise_text else None
    data = io.BytesIO()
    image.save(data, "PNG", optimize=True)
    value = {
        "app": app_facts(app),
        "window": top.window.title if top.parent else "",
        "width": image.width,
        "height": image.height,
        "scale": round(scale, 4),
        "tree": "\n".join(outline_lines(made, lambda shape: item_line(shape, ()))),
        **({} if text is None else {"text": text}),
        "notes": [DATA_NOTE, *_picture_notes(before, picture)],
    }
    return ToolResult(value, images=(ToolImage(data.getvalue()),))


def _check_library() -> None:
    if find_spec("PIL") is None:
        message = "Taking pictures needs a library that is not installed."
        guidance = f"Install it with: {pip_install('eyes')}"
        raise UiError("UNAVAILABLE", message, guidance, reason="no_interface")


def _not_allowed_error() -> UiError:
    # Needed for this message only.
    from iac_runtime.toolkit import responsible_name

    pane = "Privacy & Security > Screen & System Audio Recording"
    return UiError(
        "PERMISSION_DENIED",
        "macOS does not let this program record the screen.",
        f"Allow {responsible_name()} in System Settings > {pane}, then start that program again.",
        reason="no_permission",
        more={"pane": pane, "process": responsible_name()},
    )


def _read_window(call: UiCall, element: str | None) -> tuple[Walk, Branch]:
    """Return what is in the element that was named, else in the app's active window.

    Raises:
        UiError: It could not be read whole, or there is no window.
    """
    session, app = call.session, call.app
    # All of the app: what another window of it shows may lie before this one.
    limits = WalkLimits(call.seconds / 3, 200)
    seen, _ = walk_app(session, app, session.bridge.free, limits, whole=True)
    if element:
        handle = call.resolve_element(session).node.handle
        tops = [one for one in seen.order if one.node.handle == handle]
    else:
        tops = [one for one in seen.root.children if one.node.role in WINDOW_ROLES]
        tops.sort(key=lambda one: "active" not in one.node.states)
    if not seen.complete:
        message = "The window could not be read completely, so IAC does not know where secrets are."
        guidance = "Name a smaller element, or try again."
        raise UiError("NOT_SUPPORTED", message, guidance, reason="failed")
    if not tops:
        message = f"{app.name} has no open window, or does not show this element."
        raise UiError("NOT_FOUND", message, LOOK_AGAIN)
    return seen, tops[0]


def _visible_frame(session: UiSession, app: UiApp, top: Branch, seconds: float) -> Frame:
    node = session.read_nodes(app, [top.node.handle], Detail.FRAME, seconds)[0]
    frame = node.frame if isinstance(node, UiNode) else None
    if frame is None or not (frame.width > 0 < frame.height):
        raise Unsupported("the element is not shown on the screen")
    return frame


def _secret_frames(session: UiSession, app: UiApp, seen: Walk, seconds: float) -> list[Frame]:
    """Return the places of what is not to be shown.

    Raises:
        UiError: A secret's place is not known.
    """
    asked = [
        one
        for one in seen.order
        if one.node.role in TEXT_ROLES or "editable" in one.node.states or shows_secret(one.node)
    ]
    want = Detail.FRAME | Detail.VALUE | Detail.LABEL | session.bridge.free
    frames: list[Frame] = []
    for branch, node in session.read_branches(app, asked, want, seconds):
        current = node if isinstance(node, UiNode) else branch.node
        if isinstance(node, UiNode) and not shows_secret(node):
            continue
        if current.frame is None:
            message = "A secret is visible, but IAC does not know where, so it cannot black it out."
            guidance = "Read the window with get_ui_tree instead."
            raise UiError("NOT_SUPPORTED", message, guidance, reason="failed")
        frames.append(current.frame)
    return frames


def _draw_marks(
    picture: ScreenPicture,
    secrets: Sequence[Frame],
    marks: Sequence[tuple[str, Frame]],
    tokens: int,
) -> tuple["Image", float]:
    """Return a picture of at most so many tokens, secrets black, and pixels of a unit of place."""
    from PIL import Image, ImageDraw, ImageFont

    raw = {"BGRX": "RGB", "RGBA": "RGBA"}[picture.mode]
    image = Image.frombytes(raw, picture.size, picture.pixels, "raw", picture.mode).convert("RGB")
    own = picture.size[0] / picture.frame.width

    def pixel_box(frame: Frame, by: float, margin: float) -> tuple[float, float, float, float]:
        left, top = (frame.x - picture.frame.x) * by, (frame.y - picture.frame.y) * by
        right, bottom = left + frame.width * by, top + frame.height * by
        return left - margin, top - margin, right + margin, bottom + margin

    # Before it is made smaller: nothing of them is left at the edges.
    pen = ImageDraw.Draw(image)
    for frame in (*picture.covered, *secrets):
        pen.rectangle(pixel_box(frame, own, _MARGIN * own), fill="black")
    most = tokens * _SHARE * _PIXELS
    ratio = min((most / (image.width * image.height)) ** 0.5, _SIDE / max(image.size), 1.0)
    if ratio < 1.0:
        size = (max(round(image.width * ratio), 1), max(round(image.height * ratio), 1))
        image = image.resize(size, Image.Resampling.LANCZOS)
    pen = ImageDraw.Draw(image)
    font = ImageFont.load_default(11)
    for name, frame in marks:
        left, top, right, bottom = pixel_box(frame, own * ratio, 0)
        if right <= 0 or bottom <= 0 or left >= image.width or top >= image.height:
            continue
        pen.rectangle((left, top, right, bottom), outline="red")
        pen.rectangle(pen.textbbox((left + 1, top), name, font=font), fill="yellow")
        pen.text((left + 1, top), name, fill="black", font=font)
    return image, own * ratio


def _recognize_text(image: "Image", shown: int) -> str | None:
    """Return the text in a picture of which the tree says nothing; None where nobody can read it.

    The picture is the one that is sent: what is black in it is not read either.
    """
    program = shutil.which("tesseract")
    if shown > _FEW or program is None:
        return None
    data = io.BytesIO()
    image.save(data, "PNG")
    done = run_process([program, "stdin", "stdout"], data.getvalue(), _RECOGNISING)
    text = done.stdout.decode("utf-8", "replace").strip()
    return redact_text("\n".join(line for line in text.splitlines() if line.strip()))


def _picture_notes(secrets: Sequence[Frame], picture: ScreenPicture) -> list[str]:
    told = []
    if secrets:
        told.append(f"Elements that contain secrets are blacked out: {len(secrets)}.")
    if picture.covered:
        told.append("Windows of other programs in front of this one are blacked out.")
    return told
