"""What the page costs with a record of many calls.

    python benchmarks/page.py [FOLDER] [--rows 100000]

Medians of three requests for each view, as the server answers them, and of the first paint of
three views in Chromium, where it and playwright are installed. Ends with 1 where one takes more
than 300 ms.
"""

import argparse
import http.client
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

import audit
from bounds import exit_status, hold_at_most

from iac_runtime.audit import Audit, AuditIntent, AuditOutcome

REPEATS = 3
RECENT = 500
"""Calls of real tools at the end of the record, on which the view of rules tries its rules."""

VIEWS = (
    *("/now", "/permissions", "/apps/finder", "/tools/mail_set", "/search?q=unread mail"),
    *("/history", "/history?level=DANGEROUS", "/history?q=application", "/history?decision=deny"),
    *("/history?result=timeout", "/history?before=1000", "/history/charts", "/chain", "/rules"),
)
RULES = '[[deny]]\ntool = "mail_send"\n\n[[ask]]\napp = "notes"\n\n[[allow]]\ntool = "mail_set"\n'


def fill(data: Path, rows: int) -> None:
    """Make a record of `rows` rows of the last days, and a policy."""
    state = data / "state"
    state.mkdir(parents=True, mode=0o700)
    audit.BEGIN = datetime.now(UTC) - timedelta(days=29)
    audit.STEP = timedelta(days=28) / max(rows // 2, 1)
    audit.fill(state, rows - 2 * RECENT)
    store = Audit.open(state)
    for number in range(RECENT):
        given = {"target": f"inbox.messages.byId({number})", "properties": {"read status": True}}
        intent = AuditIntent("mail_set", "MODIFY", app="com.apple.mail", arguments=given)
        store.record_outcome(store.record_intent(intent), AuditOutcome("done", 0.01))
    store.close()
    (data / "policy.toml").write_text(RULES)


def answered(address: str, cookie: str, path: str) -> float:
    """Return the milliseconds of a request, its answer read."""
    parts = urlsplit(address)
    connection = http.client.HTTPConnection("127.0.0.1", parts.port or 0, timeout=120)
    start = time.perf_counter()
    connection.request("GET", path.replace(" ", "%20"), headers={"cookie": cookie})
    answer = connection.getresponse()
    answer.read()
    assert answer.status == 200, (path, answer.status)
    connection.close()
    return (time.perf_counter() - start) * 1000


def entered(address: str) -> str:
    """Use the one-time address up, and return the cookie."""
    parts = urlsplit(address)
    connection = http.client.HTTPConnection("127.0.0.1", parts.port or 0)
    connection.request("GET", f"{parts.path}?{parts.query}")
    found = connection.getresponse().getheader("set-cookie", "")
    connection.close()
    return (found or "").partition(";")[0]


PAINTED = ("/now", "/history", "/permissions")
FIRST_PAINT = 300
"""Milliseconds."""


def painted(address: str, cookie: str) -> dict[str, float]:
    """Return the median milliseconds to the first paint of views in Chromium; none without it."""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return {}
    if program is None:
        return {}
    base = address.rpartition("/")[0]
    name, _, value = cookie.partition("=")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        context = browser.new_context()
        context.add_cookies([{"name": name, "value": value, "url": base}])
        found = {}
        script = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
        for path in PAINTED:
            paints = []
            for _ in range(REPEATS):
                page = context.new_page()
                page.goto(f"{base}{path}")
                while (paint := page.evaluate(script)) is None:
                    page.wait_for_timeout(10)
                paints.append(paint)
                page.close()
            found[path] = statistics.median(paints)
        browser.close()
    return found


def main() -> None:
    """Print the figures; the record is made in a new folder inside the one that is given."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", default=tempfile.gettempdir(), type=Path)
    parser.add_argument("--rows", type=int, default=100_000)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=chosen.folder) as folder:
        data = Path(folder) / "data"
        fill(data, chosen.rows)
        argv = [sys.executable, "-m", "iac_mcp", "open", "--no-browser", "--simulate"]
        env = {**os.environ, "IAC_DATA": str(data)}
        child = subprocess.Popen(argv, env=env, stdout=subprocess.PIPE, text=True)
        assert child.stdout is not None
        found = re.search(r"http://\S+", child.stdout.readline())
        assert found is not None
        cookie = entered(found.group())
        print(f"{chosen.rows:,} rows")
        for path in VIEWS:
            times = [answered(found.group(), cookie, path) for _ in range(REPEATS)]
            print(f"{path:<32} {statistics.median(times):8.0f} ms, first {times[0]:.0f}")
        for path, paint in painted(found.group(), cookie).items():
            hold_at_most(f"first paint of {path}", paint, FIRST_PAINT, "ms")
        child.terminate()
        child.wait()


if __name__ == "__main__":
    main()
    sys.exit(exit_status())
