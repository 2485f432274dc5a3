"""A short session: a real MCP client, the server in a process of its own, simulated apps.

Run it with `nox -s demo`, or against a folder of tools: `python docs/demo.py FOLDER`.
"""

import asyncio
import json
import sys
import textwrap
from pathlib import Path
from typing import Any

from mcp import Client
from mcp.client.stdio import StdioServerParameters

SESSION: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("Which apps are there?", "list_apps", {}),
    ("What counts my unread mails?", "find_tools", {"query": "count unread mails", "limit": 1}),
    ("How many are there?", "read_tool", {"name": "mail_count_unread"}),
    ("Which of them are they?", "read_tool", {"name": "mail_list", "arguments": {
        "element": "message", "of": "inbox", "where": {"read status": False},
        "properties": ["subject", "sender"],
    }}),
    ("Which page is open in Safari?", "read_tool", {"name": "safari_get_url"}),
    ("What lies on my desktop?", "read_tool", {
        "name": "finder_list_folder", "arguments": {"folder": "~/Desktop"},
    }),
    ("Make a note.", "write_tool", {
        "name": "notes_make_note", "arguments": {"name": "Milk", "body": "Two bottles"},
    }),
    ("Is it there?", "read_tool", {"name": "notes_list_notes"}),
    ("Throw the first file on my desktop away.", "dangerous_tool", {
        "name": "finder_delete", "arguments": {"target": "desktop.files[0]"},
    }),
)  # fmt: skip


def show(label: str, text: str) -> None:
    """Print one line of an exchange, long ones cut and wrapped under the label."""
    cut = textwrap.shorten(text, 360, placeholder=" ...")
    lines = textwrap.wrap(cut, 88, break_long_words=False) or [""]
    print(f"  {label:<7} {lines[0]}")
    for line in lines[1:]:
        print(f"          {line}")


async def main(folder: Path) -> int:
    """Play the session; return 1 if something did not go as told."""
    server = StdioServerParameters(
        command=str(Path(sys.executable).with_name("iac-mcp")),
        args=["serve", "--tools", str(folder), "--simulate", "--allow", "MODIFY"],
    )
    async with Client(server) as client:
        listed = await client.list_tools()
        print(f"Connected over MCP {client.protocol_version}: {len(listed.tools)} tools.\n")
        refused = 0
        for question, tool, arguments in SESSION:
            result = await client.call_tool(tool, arguments)
            meta = result.meta or {}
            text = next(part.text for part in result.content if part.type == "text")
            print(question)
            show("call", f"{tool} {json.dumps(arguments)}")
            if result.is_error:
                facts = json.loads(text)
                refused += facts["type"] == "UNANSWERED"
                show("JXA", facts.get("line", ""))
                show("stopped", facts["message"])
            else:
                if "iac/jxa" in meta:
                    show("JXA", str(meta["iac/jxa"]))
                show("result", text)
            print()
    print("Reading and making went through; deleting is DANGEROUS, and nobody could be asked.")
    return 0 if refused == 1 else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main(Path(sys.argv[1]))))
