"""Writes docs/clients/, a page with a picture for each client: `python docs/make_clients.py`.

What the program itself knows of a client is not written twice: its file, its entry, what to do.
"""

import re
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from make_picture import svg

from iac_mcp.setup.clients import (
    CLIENTS,
    Client,
    Launch,
    client_entry,
    client_file,
    settings_snippet,
)

DOCS: Final = Path(__file__).parent
FOLDER: Final = DOCS / "clients"
_MADE: Final = "`python docs/make_clients.py` writes this page. Do not edit it."
_LAUNCH: Final = Launch("/Users/me/iac-venv/bin/python", ("-P", "-m", "iac_mcp", "serve"))
_ASKS: Final = {
    "client": "{name} shows the prompt.",
    "either": "{name} shows the prompt if it says that it can. Otherwise your Mac shows a dialog.",
    "dialog": "Your Mac shows the prompt in a dialog, because {name} cannot show it.",
}


def made() -> dict[str, str]:
    """Return every page and picture: its name below docs/clients/, and its text."""
    told = tomllib.loads((DOCS / "clients.toml").read_text("utf-8"))
    asked = (DOCS / "questions.md").read_text("utf-8")
    prompt = re.findall(r"`mail_delete`\n\n```text(.*?```)", asked, re.DOTALL)[0]
    found = {}
    for key, client in CLIENTS.items():
        found[f"{key}.md"] = _page(client, told[key], prompt)
        shown = settings_snippet(client, "iac", client_entry(client, _LAUNCH))
        file = _place(client).replace(" ", "\\ ")
        found[f"{key}.svg"] = svg([(f"cat {file}", shown)])
    return found


def _page(client: Client, told: Mapping[str, Any], prompt: str) -> str:
    parts = [
        f"# {client.name}",
        _MADE,
        f"```sh\niac-mcp install {client.key}\n```",
        f"{client.then} `iac-mcp doctor` finds problems, and"
        f" `iac-mcp uninstall {client.key}` removes the entry.",
        "## Its settings file",
        f"![The file of {client.name} with the server iac]({client.key}.svg)",
        f"The file is `{_place(client)}`. IAC does not change the other servers in it."
        " The first time, IAC keeps a copy of the file. To paste the entry yourself, print it with"
        f" `iac-mcp install {client.key} --print`.",
        "## How an approval looks",
        f'{_ASKS[client.asks].format(name=client.name)} You choose "Allow once", "Always allow"'
        " (if the prompt offers it), or you decline.",
        f"```{prompt}",
        'Before IAC asks, the client itself may ask "allow this tool?". IAC does not count that'
        " answer as an approval. [Here are forty prompts](../questions.md).",
        _asked_by(client),
        "## What it cannot do",
        "\n".join(f"- {line}" for line in told["limits"]),
        "## Good to know",
        "\n".join(f"- {line}" for line in (*told["more"], told["tested"])),
    ]
    return "\n\n".join(parts) + "\n"


def _asked_by(client: Client) -> str:
    who = "your terminal" if client.terminal else "the client or `python`"
    return (
        f"macOS also asks once for each app whether {who} may control it."
        " [Permissions](../permissions.md) explains why."
    )


def _place(client: Client) -> str:
    return client_file(client, {"HOME": "/Users/me"}, "darwin").as_posix().replace("/Users/me", "~")


def main() -> int:
    """Write what differs."""
    FOLDER.mkdir(exist_ok=True)
    for name, text in made().items():
        path = FOLDER / name
        if not path.is_file() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")
            sys.stdout.write(f"wrote {path.relative_to(DOCS)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
