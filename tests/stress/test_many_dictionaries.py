"""Thousands of dictionaries in one build: the time grows with them, the memory hardly.

`IAC_DICTIONARIES=10000` measures as many.
"""

import os
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.stress

MOST = 300
"""MB, of the build and of each of its workers."""
MANY = int(os.environ.get("IAC_DICTIONARIES", "2000"))
TYPES = ("text", "integer", "boolean", "real", "date", "file")


def dictionary(number: int) -> str:
    """Return one of usual size, about 8 kB: three classes of ten properties, five commands."""
    app = f"z{number:05d}"
    classes = "".join(
        f'<class name="{noun} {app}" code="cl{at}x" description="A {noun} of the app.">'
        + "".join(
            f'<property name="{noun} field {one}" code="p{at}0{one}"'
            f' type="{TYPES[(one + number) % 6]}"'
            f' description="What the {noun} holds in its field {one}, as the app keeps it."/>'
            for one in range(10)
        )
        + "</class>"
        for at, noun in enumerate(("drawer", "card", "label"))
    )
    commands = "".join(
        f'<command name="{verb} {app}" code="tstccm0{at}" description="Does {verb} once.">'
        f'<direct-parameter type="text" description="What to {verb}."/>'
        f'<parameter name="with force" code="frce" type="boolean" optional="yes"'
        f' description="Whether to {verb} all the same."/>'
        f'<parameter name="as many" code="many" type="integer" description="How often."/>'
        f'<result type="text" description="What came of it."/></command>'
        for at, verb in enumerate(("sort", "print", "fold", "stamp", "move"))
    )
    return (
        f'<?xml version="1.0"?><dictionary title="{app}"><suite name="{app}" code="test"'
        f' description="All.">{classes}{commands}</suite></dictionary>'
    )


def built(home: Path, count: int) -> tuple[float, int]:
    """Build `count` dictionaries; return seconds and the peak of resident memory in MB."""
    sources = home / f"sdef{count}"
    sources.mkdir()
    for number in range(count):
        (sources / f"z{number:05d}.sdef").write_text(dictionary(number))
    code = "import sys; from iac_gen.entry import main; sys.exit(main())"
    words = ["build", "--dictionary", str(sources), "--output", str(home / f"tools{count}")]
    started = time.perf_counter()
    log = (os.POSIX_SPAWN_OPEN, 1, str(home / "log"), os.O_WRONLY | os.O_CREAT, 0o600)
    process = os.posix_spawn(
        sys.executable,
        [sys.executable, "-c", code, *words],
        {**os.environ, "XDG_CACHE_HOME": str(home / f"cache{count}")},
        file_actions=[log],
    )
    # The peak is the largest of the process and of those that it waited for.
    _, status, used = os.wait4(process, 0)
    assert status == 0
    return time.perf_counter() - started, used.ru_maxrss // 1024


@pytest.mark.timeout(7200)
def test_memory_stays_and_time_grows_with_the_dictionaries(tmp_path: Path) -> None:
    few = MANY // 10
    (short, _), (long, memory) = built(tmp_path, few), built(tmp_path, MANY)
    print(f"{few}: {short:.1f} s; {MANY}: {long:.1f} s, {memory} MB")
    assert memory <= MOST
    assert long <= 10 * short * 1.15
