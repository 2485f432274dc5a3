"""Servers that no one here wrote: the official filesystem, everything and memory servers."""

from pathlib import Path

import pytest
from scenario_helpers import Make, Run

pytestmark = pytest.mark.process

SERVER = """
[mcp_servers.{name}]
command = "node"
args = ["{folder}/server-{name}/dist/index.js"{more}]
"""


def entry(folder: Path, name: str, more: str = "") -> str:
    return SERVER.format(name=name, folder=folder, more=more)


@pytest.mark.parametrize("protocol", ["auto", "legacy"])
def test_files_are_read_written_and_refused(
    make: Make, run: Run, node_servers: Path, protocol: str
) -> None:
    path = make(f'''
[tool_execution]
mode = "real_mcp"
protocol = "{protocol}"
[tool_execution.files]
"a.txt" = "hello"
{entry(node_servers, "filesystem", ', "${SANDBOX_ROOT}"')}
[default_response]
tool_calls = [
  {{ tool = "read_text_file", input = {{ path = "${{SANDBOX_ROOT}}/a.txt" }}, expect = {{ contains = "hello", is_error = false }} }},
  {{ tool = "write_file", input = {{ path = "${{SANDBOX_ROOT}}/b.txt", content = "new" }}, expect = {{ is_error = false }} }},
  {{ tool = "list_directory", input = {{ path = "${{SANDBOX_ROOT}}" }}, expect = {{ contains = ["a.txt", "b.txt"] }} }},
  {{ tool = "Read", input = {{ file_path = "b.txt" }}, expect = {{ contains = "new" }} }},
  {{ tool = "read_text_file", input = {{ path = "${{SANDBOX_ROOT}}/none" }}, expect = {{ is_error = true }} }},
  {{ tool = "read_text_file", input = {{ path = "/etc/passwd" }}, expect = {{ contains = "denied", is_error = true }} }},
  {{ tool = "read_text_file", input = {{ file = "x" }}, expect = {{ contains = "nvalid", is_error = true }} }},
]
''')  # noqa: E501
    ran = run("run", path, "-p", "x")
    assert ran.status == 0, ran.err


def test_everything_answers_asks_and_is_too_slow(make: Make, run: Run, node_servers: Path) -> None:
    path = make(f"""
[tool_execution]
mode = "real_mcp"
[timeouts]
mcp_timeout_ms = 2000
{entry(node_servers, "everything", ', "stdio"')}
[default_response]
tool_calls = [
  {{ tool = "echo", input = {{ message = "hi" }}, expect = {{ contains = "hi" }} }},
  {{ tool = "get-sum", input = {{ a = 2, b = 3 }}, expect = {{ contains = "5" }} }},
  {{ tool = "get-structured-content", input = {{ location = "Chicago" }}, expect = {{ schema = {{ required = ["temperature"] }} }} }},
  {{ tool = "get-tiny-image", expect = {{ is_error = false }} }},
  {{ tool = "trigger-long-running-operation", input = {{ duration = 30, steps = 2 }}, expect = {{ contains = "did not answer", is_error = true }} }},
  {{ tool = "echo", input = {{ message = "still there" }}, expect = {{ contains = "still there" }} }},
  {{ tool = "no-such-tool", expect = {{ is_error = true }} }},
]
""")  # noqa: E501
    ran = run("run", path, "-p", "x")
    assert ran.status == 0, ran.err


def test_memory_remembers_within_a_session(make: Make, run: Run, node_servers: Path) -> None:
    path = make(f"""
[tool_execution]
mode = "real_mcp"
{entry(node_servers, "memory")}
[mcp_servers.memory.env]
MEMORY_FILE_PATH = "${{SANDBOX_ROOT}}/memory.json"
[default_response]
tool_calls = [
  {{ tool = "create_entities", input = {{ entities = [{{ name = "Ada", entityType = "person", observations = ["counts"] }}] }}, expect = {{ is_error = false }} }},
  {{ tool = "search_nodes", input = {{ query = "counts" }}, expect = {{ contains = "Ada" }} }},
  {{ tool = "create_entities", input = {{ entities = "Ada" }}, expect = {{ contains = "expected array", is_error = true }} }},
]
""")  # noqa: E501
    ran = run("run", path, "-p", "x")
    assert ran.status == 0, ran.err
