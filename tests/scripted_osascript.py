"""An osascript that does what a request's command says: the bad days of the real one.

A program of its own (see scripted.py), in both of the harness's manners: a worker on descriptors 3
and 4, or one request from standard input. What it does at its start stands in SCRIPTED_START.
"""

import contextlib
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

Say = Callable[[str], None]
Request = dict[str, Any]


def main() -> None:
    start = os.environ.get("SCRIPTED_START", "")
    worker = sys.argv[5:7] == ["3", "4"]
    if start == "no pool" and worker and len(sys.argv) == 7:
        os.abort()
    if start == "deaf" and worker:
        time.sleep(1000)
    if start == "refuses" and worker:
        sys.exit("descriptors 3 and 4 are none")
    if start == "hangs":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(1000)
    if worker:
        serve()
    else:
        request = json.loads(sys.stdin.buffer.read())
        mark = request["mark"]

        def say(body: str) -> None:
            noise = "" if '"step"' in body else "noise\n"
            write(1, f"{noise}<iac:{mark}>{body}</iac:{mark}>\n")

        carry_out(request, say)


def serve() -> None:
    write(4, '{"mark": "hello"}\n')
    pending = b""
    while data := os.read(3, 65536):
        *lines, pending = (pending + data).split(b"\n")
        for line in lines:
            carry_out(json.loads(line), lambda body: write(4, body + "\n"))


def carry_out(request: Request, say: Say) -> None:
    if request.get("writes"):
        say(json.dumps({"mark": request["mark"], "step": "sent"}))
    word, *rest = request["command"].split() or [request["op"]]
    ACTIONS[word](request, say, *rest)


def write(descriptor: int, text: str) -> None:
    data = text.encode("latin-1")
    while data:
        data = data[os.write(descriptor, data) :]


def answer(request: Request, say: Say, **more: Any) -> None:
    say(json.dumps({"ok": True, "mark": request["mark"], "value": os.getpid(), **more}))


def echo(request: Request, say: Say) -> None:
    answer(request, say, value=request.get("direct"))


def arguments(request: Request, say: Say) -> None:
    answer(request, say, value=sys.argv[1:])


def sleep(request: Request, say: Say, seconds: str) -> None:
    time.sleep(float(seconds))
    answer(request, say)


def log(request: Request, say: Say, path: str, seconds: str) -> None:
    """Note begin and end in a file, so that a test can see what ran beside what."""
    app = request["app"]
    note(path, f"+{app}")
    time.sleep(float(seconds))
    note(path, f"-{app}")
    answer(request, say)


def note(path: str, text: str) -> None:
    with open(path, "a", encoding="utf-8") as file:  # noqa: PTH123 (a program without imports)
        file.write(text + "\n")


def error(request: Request, say: Say, number: str, times: str = "", path: str = "") -> None:
    """Fail with a number; with `times`, only so often (counted in a file)."""
    if path:
        note(path, request["op"])
        with open(path, encoding="utf-8") as file:  # noqa: PTH123
            if len(file.readlines()) > int(times):
                return answer(request, say)
    say(json.dumps({"ok": False, "mark": request["mark"], "number": int(number), "message": "x"}))
    return None


def words(request: Request, say: Say, number: str) -> None:
    """Status 0, an error line, no answer."""
    os.write(2, f"execution error: Error: Error: An error occurred. ({number})\n".encode())
    os._exit(0)


def die(request: Request, say: Say, how: str) -> None:
    if how.startswith("signal"):
        os.kill(os.getpid(), int(how.removeprefix("signal")))
    os._exit(int(how))


def hang(request: Request, say: Say, *how: str) -> None:
    """Never answer; leave behind what `how` names, and ignore TERM if it says so."""
    if "stubborn" in how:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if "forks" in how and not os.fork():
        time.sleep(1000)
    if "setsid" in how and not os.fork():
        os.setsid()
        if not os.fork():
            time.sleep(1000)
        os._exit(0)
    os.write(1, b"begun\n")
    while True:
        time.sleep(1000)


def leave(request: Request, say: Say) -> None:
    """Answer, and leave a child behind that holds every descriptor."""
    if not os.fork():
        time.sleep(1000)
    answer(request, say)


def orphan(request: Request, say: Say) -> None:
    """End without an answer, and leave a child behind that holds every descriptor."""
    if not os.fork():
        time.sleep(1000)
    os._exit(3)


def flood(request: Request, say: Say, descriptor: str) -> None:
    with contextlib.suppress(BrokenPipeError):
        while True:
            os.write(int(descriptor), b"x" * 65536)


def noisy(request: Request, say: Say, megabytes: str) -> None:
    for _ in range(int(megabytes) * 16):
        os.write(1, b"o" * 65536)
        os.write(2, b"e" * 65536)
    answer(request, say)


def huge(request: Request, say: Say, megabytes: str) -> None:
    answer(request, say, value="x" * (int(megabytes) << 20))


def raw(request: Request, say: Say, *parts: str) -> None:
    """Answer with these very bytes (as JSON text); MARK stands for the mark."""
    say(json.loads(" ".join(parts)).replace("MARK", request["mark"]))


def deep(request: Request, say: Say) -> None:
    value = "[" * 100_000 + "]" * 100_000
    say(f'{{"ok": true, "mark": "{request["mark"]}", "value": {value}}}')


def digits(request: Request, say: Say) -> None:
    say(f'{{"ok": true, "mark": "{request["mark"]}", "value": {"9" * 10_000_000}}}')


def twice(request: Request, say: Say) -> None:
    answer(request, say)
    time.sleep(0.05)
    answer(request, say, value="an answer to nothing")


ACTIONS: dict[str, Callable[..., None]] = {
    "answer": answer, "arguments": arguments, "deep": deep, "die": die, "digits": digits,
    "echo": echo, "error": error, "flood": flood, "hang": hang, "huge": huge,
    "launch": (lambda request,
     say: (note(os.environ["SCRIPTED_LAUNCHED"], "launch") or answer(request, say))),
    "leave": leave, "log": log, "noisy": noisy, "orphan": orphan, "raw": raw,
    "running": lambda request, say: answer(request, say, value=True), "sleep": sleep,
    "twice": twice, "words": words,
}  # fmt: skip

if __name__ == "__main__":
    main()
