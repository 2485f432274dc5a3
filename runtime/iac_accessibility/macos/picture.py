"""What the window server of a Mac shows of a window: `screencapture` of that window alone.

It takes the window itself, whatever lies before it, and answers with nothing where this program
may not record the screen. Source: screencapture(1); CGWindow.h. Only a Mac can confirm it.
"""

import tempfile
from pathlib import Path
from typing import Any

from iac_accessibility.macos import workspace
from iac_accessibility.macos.frameworks import Quartz
from iac_accessibility.model import AccessDenied, Frame, ScreenPicture, Unsupported
from iac_runtime.toolkit import run_process


def capture_window(pid: int, frame: Frame, timeout: float) -> ScreenPicture:
    """Return the window of a process at a place.

    Raises:
        Denied: This program may not record the screen; macOS puts its question up once.
        Unsupported: There is no such window on the screen.
    """
    from PIL import Image

    if not Quartz.CGPreflightScreenCaptureAccess():
        Quartz.CGRequestScreenCaptureAccess()
        raise AccessDenied("this process may not record the screen")
    number, place = _find_window(pid, frame)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "window.png")
        run_process(["/usr/sbin/screencapture", "-x", "-o", f"-l{number}", str(file)], b"", timeout)
        if not file.exists():
            raise Unsupported("screencapture returned no picture")
        with Image.open(file) as image:
            whole = image.convert("RGBA")
    scale = whole.width / max(place.width, 1)
    box = (frame.x - place.x, frame.y - place.y)
    area = tuple(
        round(one * scale) for one in (box[0], box[1], box[0] + frame.width, box[1] + frame.height)
    )
    part = whole.crop(
        (max(area[0], 0), max(area[1], 0), min(area[2], whole.width), min(area[3], whole.height))
    )
    return ScreenPicture(part.size, part.tobytes(), "RGBA", frame)


def _find_window(pid: int, frame: Frame) -> tuple[int, Frame]:
    """Return the number and the place of the topmost window that holds a frame."""
    for row in workspace.window_rows(Quartz.kCGWindowListOptionOnScreenOnly):
        bounds: Any = row.get(Quartz.kCGWindowBounds)
        if int(row[Quartz.kCGWindowOwnerPID]) != pid or bounds is None:
            continue
        place = Frame(*(float(bounds[key]) for key in ("X", "Y", "Width", "Height")))
        inside = place.x <= frame.x + 1 and place.y <= frame.y + 1
        if inside and frame.x + frame.width <= place.x + place.width + 1:
            return int(row[Quartz.kCGWindowNumber]), place
    raise Unsupported("the window is not on the screen")
