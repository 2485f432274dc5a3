"""What codesign says, as recorded words; a Mac has the last word."""

import plistlib
from collections.abc import Sequence
from pathlib import Path

import pytest

from iac_mcp.setup.interpreter import (
    CodeSignature,
    find_better_python,
    judge_signature,
    read_signature,
)
from iac_runtime.execution.process import Completed

EVENTS = {"com.apple.security.automation.apple-events": True}


def codesign(shown: str, entitlements: object = None, status: int = 0):
    def run(argv: Sequence[str], stdin: bytes, timeout: float) -> Completed:
        assert argv[0] == "/usr/bin/codesign"
        if "--entitlements" in argv:
            return Completed(plistlib.dumps(entitlements) if entitlements else b"", b"", status)
        return Completed(b"", shown.encode(), status)

    return run


def flags(word: str) -> str:
    return f"Identifier=org.python.python\nCodeDirectory v=20500 size=1 flags={word} hashes=1\n"


@pytest.mark.parametrize(("run", "found", "verdict"), [
    (codesign(flags("0x10000(runtime)"), EVENTS), CodeSignature("a developer", True, True), "ok"),
    (codesign(flags("0x10000(runtime)")), CodeSignature("a developer", True), "problem"),
    (codesign(flags("0x0(none)")), CodeSignature("a developer"), "ok"),
    (codesign(flags("0x2(adhoc)")), CodeSignature("ad hoc"), "warning"),
    (codesign(flags("0x10002(adhoc,runtime)")), CodeSignature("ad hoc", True), "problem"),
    (codesign("/x: code object is not signed at all", status=1), CodeSignature("nobody"),
     "warning"),
    (codesign("/x: No such file or directory", status=1), CodeSignature("unknown"), "ok"),
])  # fmt: skip
def test_a_signature_decides_whether_apps_can_be_controlled(run, found, verdict) -> None:
    assert read_signature("/x", run, "darwin") == found
    assert judge_signature(found)[0] == verdict


def test_entitlements_that_cannot_be_read_are_none() -> None:
    def run(argv: Sequence[str], stdin: bytes, timeout: float) -> Completed:
        return Completed(b"bplist00\xff", flags("0x10000(runtime)").encode(), 0)

    assert read_signature("/x", run, "darwin").can_send_events is False


def test_elsewhere_nothing_is_asked() -> None:
    def run(argv: Sequence[str], stdin: bytes, timeout: float) -> Completed:
        raise OSError

    assert (
        read_signature("/x", run, "linux")
        == read_signature("/x", run, "darwin")
        == CodeSignature("unknown")
    )


def test_a_python_that_works_is_looked_for_in_the_known_places(tmp_path: Path) -> None:
    brew = tmp_path / "opt/homebrew/opt/python@3.12/bin/python3.12"
    org = tmp_path / "Library/Frameworks/Python.framework/Versions/3.11/bin/python3.11"
    app = org.parent.parent / "Resources/Python.app/Contents/MacOS/Python"
    for path in (brew, org, app):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")

    def run(argv: Sequence[str], stdin: bytes, timeout: float) -> Completed:
        ours = argv[-1] == str(app)
        return codesign(flags("0x10000(runtime)" if ours else "0x2(adhoc)"), ours and EVENTS)(
            argv, stdin, timeout
        )

    assert find_better_python(run, "darwin", tmp_path) == str(org)
    assert find_better_python(codesign(flags("0x2(adhoc)")), "darwin", tmp_path) is None
