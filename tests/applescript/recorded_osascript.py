# An osascript for tests: AppleScript is answered from a file of recorded answers, JavaScript by the
# simulator. The file holds script -> [stdout, stderr, status]; what it lacks is a syntax error.
import json
import os
from pathlib import Path

if "JavaScript" in sys.argv:  # noqa: F821 (sys is imported by the lines that go before)
    from iac_simulator.osascript import main

    sys.exit(main())  # noqa: F821
answers = json.loads(Path(os.environ["RECORDED_ANSWERS"]).read_text(encoding="utf-8"))
script = sys.stdin.read()  # noqa: F821
# What every AppleScript is given around its statements: the time of its call.
ours = ("with timeout of ", "end timeout")
script = "\n".join(line for line in script.splitlines() if not line.startswith(ours))
unknown = ["", "0:1: syntax error: A unknown token can’t go here. (-2740)\n", 1]
stdout, stderr, status = answers.get(script.strip(), unknown)
sys.stdout.write(stdout)  # noqa: F821
sys.stderr.write(stderr)  # noqa: F821
sys.exit(status)  # noqa: F821
