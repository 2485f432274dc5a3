"""A bundle (.mcpb): the server and its tools in one file that Claude Desktop installs.

Format: MCPB manifest 0.4, server type `uv` (the host fetches a Python and the dependencies). The
same input gives the same bytes: no time and no host are in it.
"""

import io
import json
import re
import sys
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, Final

from iac_base.errors import SetupError
from iac_base.files import read_file_content, replace_file_content
from iac_runtime.tools.catalogue import read_tool_folders
from iac_runtime.version import VERSION

_EPOCH: Final = (1980, 1, 1, 0, 0, 0)
"""The earliest time that a zip file can say."""

_PACKAGES: Final = tuple(
    f"iac_{name}" for name in ("accessibility", "applescript", "base", "mcp", "plans", "runtime")
)
"""What a server needs of this project."""

_SEEING: Final = ("linux", "macos")
"""The extras that accessibility needs, each for its platform; others are for building tools, for
tests and for the simulator."""

_EXTRA: Final = re.compile(r"""\s*(?:\band|;)\s*extra\s*==\s*["']([\w-]+)["']""")

_CODE: Final = frozenset(
    ".bin .css .html .js .json .jsonl .lock .md .png .py .sql .toml .typed".split()
)

_MAIN: Final = '''\
"""Start the server of this bundle with the tools that lie beside it."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
folders = sorted((HERE / "tools").iterdir())
sys.argv[1:] = ["serve", *(f"--tools={folder}" for folder in folders), *sys.argv[1:]]

from iac_mcp.entry import main  # noqa: E402

sys.exit(main())
'''


_HERE: Final = Path(__file__).parent


def bundle_manifest(apps: Sequence[str], fixed: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the manifest of a bundle with tools of these apps, by name.

    Args:
        fixed: What does not depend on the apps, by default that of a bundle made here.
    """
    text = (_HERE / "manifest.json").read_text(encoding="utf-8") if fixed is None else ""
    facts: Mapping[str, Any] = json.loads(text) if fixed is None else fixed
    words = f"Tools of {', '.join(apps)}. Changes require your approval."
    return {**facts, "version": VERSION, "long_description": words}


def write_bundle(
    output: Path, folders: Sequence[Path], fixed: Mapping[str, Any] | None = None
) -> tuple[int, int]:
    """Write a bundle; return its size in bytes and how many apps it has tools of.

    Args:
        folders: Output folders, in the order in which they are searched.
        fixed: What the manifest says beside the apps, as for `bundle_manifest`.

    Raises:
        SetupError: There are no tools, or a file cannot be read or written.
    """
    tool_folders = read_tool_folders(folders)
    apps = sorted(
        str(row["name"]) for tool_folder in tool_folders for row in tool_folder.apps.values()
    )
    files = {
        "manifest.json": _json_bytes(bundle_manifest(apps, fixed)),
        "icon.png": (_HERE / "icon.png").read_bytes(),
        "pyproject.toml": _project_file().encode(),
        "server/main.py": _MAIN.encode(),
    }
    packages = Path(__file__).resolve().parents[2]
    try:
        for package in _PACKAGES:
            files |= dict(_files_under(packages / package, f"server/{package}"))
        for at, tool_folder in enumerate(tool_folders):
            # Numbered, so that the order in which they are searched is that of their names.
            files |= dict(_files_under(tool_folder.folder, f"server/tools/{at:02}"))
    except OSError as error:
        raise SetupError(f"{error.filename} cannot be read: {error.strerror}.") from error
    content = _zip_files(files)
    replace_file_content(read_file_content(output)._replace(mode=0o644), content)
    return len(content), len(apps)


def _zip_files(files: Mapping[str, bytes]) -> bytes:
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            row = zipfile.ZipInfo(name, _EPOCH)
            row.external_attr = 0o644 << 16
            row.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(row, files[name])
    return memory.getvalue()


def _files_under(folder: Path, name: str) -> Iterator[tuple[str, bytes]]:
    for path in sorted(folder.rglob("*")):
        if path.suffix in _CODE and "__pycache__" not in path.parts and path.is_file():
            yield f"{name}/{path.relative_to(folder).as_posix()}", path.read_bytes()


def server_requirements() -> list[str]:
    """Return what the server depends on, as the metadata of the installed package has it.

    Raises:
        SetupError: It runs from a folder without being installed.
    """
    # By its command our distribution is known, whatever it is called.
    for found in metadata.entry_points(group="console_scripts", name="iac-mcp"):
        if found.value.startswith("iac_") and found.dist is not None:
            needs = found.dist.requires or []
            return sorted(filter(None, map(_strip_extra, needs)))
    raise SetupError(
        f"IAC is not installed in {sys.executable}, so the dependencies of a bundle are unknown."
    )


def _strip_extra(need: str) -> str:
    """Return a requirement without its extra; of one for another extra, nothing."""
    extra = _EXTRA.search(need)
    if extra is None:
        return need
    return need.replace(extra[0], "") if extra[1] in _SEEING else ""


def _project_file() -> str:
    needs = "".join(f"    {json.dumps(need)},\n" for need in server_requirements())
    return (
        f'[project]\nname = "iac-bundle"\nversion = "{VERSION}"\n'
        f'requires-python = ">=3.11"\ndependencies = [\n{needs}]\n\n[tool.uv]\npackage = false\n'
    )


def _json_bytes(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False, indent=2).encode() + b"\n"
