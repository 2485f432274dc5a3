"""A server on the fixture, for tests of its life: it prints, starts a child, and can be slow."""

import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from talking import IDENTITY, LINES, answer_call

from iac_runtime.serve.stdio import serve_stdio

CHILD = "import os, time; os.write(1, b'from the child\\n'); time.sleep(600)"


def main() -> None:
    child: list[subprocess.Popen[bytes]] = []

    def methods() -> Mapping[str, Any]:
        print("a stray print", flush=True)
        os.write(1, b"a stray write\n")
        child.append(subprocess.Popen([sys.executable, "-c", CHILD]))
        sys.stderr.write(f"child {child[0].pid}\n")
        sys.stderr.flush()
        return {"tools/call": call}

    def call(params: Mapping[str, Any], peer: Any, cancel: Any) -> dict[str, Any]:
        if params["name"] == "slow":
            cancel.wait(600)
        return answer_call(params, peer, cancel)

    def close() -> None:
        for process in child:
            process.kill()
            process.wait()
        sys.stderr.write(f"closed {time.monotonic()}\n")

    serve_stdio(IDENTITY, {"tools/list": lambda: LINES}, methods, close)


main()
