"""Guides as skills: a client of the newer era lists them, and reads files that match the list."""

import json
import subprocess
import sys
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import pytest

MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


def ask(*requests: tuple[str, Mapping[str, Any]]) -> list[Any]:
    """Return what the server answers to requests of the newer era, in their order."""
    lines = [
        {"jsonrpc": "2.0", "id": at, "method": method, "params": {**params, "_meta": MODERN}}
        for at, (method, params) in enumerate(requests)
    ]
    done = subprocess.run(
        [sys.executable, "-m", "iac_mcp", "serve", "--simulate"],
        input="".join(f"{json.dumps(line)}\n" for line in lines),
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    answers = {row["id"]: row for row in map(json.loads, done.stdout.splitlines())}
    return [answers[at] for at in range(len(lines))]


@pytest.mark.process
def test_each_file_of_a_skill_is_what_the_list_says() -> None:
    said, listed = ask(("server/discover", {}), ("skills/list", {}))
    assert "io.modelcontextprotocol/skills" in said["result"]["capabilities"]["extensions"]
    result = listed["result"]
    assert result["resultType"] == "complete"
    assert {"ttlMs", "cacheScope"} <= result.keys()
    skills = {row["frontmatter"]["name"]: row for row in result["skills"]}
    chosen = skills["google-chrome"]
    assert chosen["uri"] == "skill://google-chrome/SKILL.md"
    files = chosen["resources"]
    assert any("/scripts/" in row["uri"] for row in files)
    (got, *reads) = ask(
        ("skills/get", {"uri": chosen["uri"]}),
        *(("resources/read", {"uri": row["uri"]}) for row in files),
    )
    assert got["result"]["skill"] == chosen
    for row, read in zip(files, reads, strict=True):
        content = read["result"]["contents"][0]["text"].encode()
        assert (len(content), f"sha256:{sha256(content).hexdigest()}") == (
            row["size"],
            row["digest"],
        )
    head = reads[0]["result"]["contents"][0]["text"].split("---\n")[1]
    assert json.dumps(chosen["frontmatter"]["description"]) in head


@pytest.mark.process
def test_a_skill_that_is_not_there_is_the_callers_mistake() -> None:
    answers = ask(
        ("skills/get", {"uri": "skill://mial/SKILL.md"}),
        ("resources/read", {"uri": "skill://mail/scripts/nothing.js"}),
    )
    assert [answer["error"]["code"] for answer in answers] == [-32602, -32602]
    assert "skill://mail/SKILL.md" in answers[0]["error"]["message"]
