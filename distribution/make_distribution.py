"""Write what clients and indexes read of IAC: `python distribution/make_distribution.py`.

Everything comes from distribution.toml, the version, the guides and the listed tools. What is
small is committed, and a test holds it to this program; `--check` fails if anything differs. What
names an address is written for a release: `--release OWNER/NAME --output FOLDER`, where FOLDER
has the wheel. Until then the server of the plugins is the `iac-mcp` on the PATH.
"""

import argparse
import base64
import gzip
import hashlib
import io
import json
import sys
import tarfile
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from iac_mcp.setup.bundle import write_bundle
from iac_runtime.tools.catalogue import tool_folders
from iac_runtime.tools.own import META_TOOLS, toolset_guides
from iac_runtime.version import VERSION

HERE: Final = Path(__file__).parent
ROOT: Final = HERE.parent
ABOUT: Final[Mapping[str, Any]] = tomllib.loads((HERE / "distribution.toml").read_text("utf-8"))
NAME: Final[str] = ABOUT["name"]
PLUGIN: Final = "distribution/plugin"
ICON: Final = ROOT / "runtime" / "iac_mcp" / "setup" / "icon.png"
READ_ONLY: Final = "Use only tools that never change anything."
WHEEL: Final = f"{ABOUT['package'].replace('-', '_')}-{VERSION}-py3-none-any.whl"
BUNDLE: Final = f"{NAME}.mcpb"
EXTENSION: Final = f"darwin.{NAME}.tar.gz"
"""What Gemini's command line looks for among the files of a release, for a Mac."""


class Address:
    """Where a release is: a repository of GitHub, and the files of this version there."""

    def __init__(self, repository: str) -> None:
        self.owner, _, self.project = repository.partition("/")
        self.home = f"https://github.com/{repository}"
        self.files = f"{self.home}/releases/download/v{VERSION}"

    def page(self, path: str) -> str:
        """Return the address of a page of this version."""
        return f"{self.home}/blob/v{VERSION}/{path}"


def committed_files() -> dict[str, bytes]:
    """Return the files that stand in the repository: path -> content."""
    entry = {"name": NAME, "source": f"./{PLUGIN}"}
    market = {"name": NAME, "owner": {"name": ABOUT["author"]}}
    listed = {**entry, "description": ABOUT["purpose"], "category": ABOUT["category"]}
    codex = {
        "name": NAME,
        "source": {"source": "local", "path": f"./{PLUGIN}"},
        "policy": {"installation": "AVAILABLE", "authentication": "ON_INSTALL"},
        "category": ABOUT["category"].capitalize(),
    }
    return {
        "PRIVACY.md": privacy_page().encode(),
        "runtime/iac_mcp/setup/manifest.json": _json_bytes(bundle_manifest()),
        ".claude-plugin/marketplace.json": _json_bytes(
            {**market, "metadata": {"description": ABOUT["purpose"]}, "plugins": [listed]}
        ),
        ".agents/plugins/marketplace.json": _json_bytes(
            {"name": NAME, "interface": {"displayName": ABOUT["title"]}, "plugins": [codex]}
        ),
        **{f"{PLUGIN}/{name}": content for name, content in plugin_files(None).items()},
    }


def plugin_files(address: Address | None) -> dict[str, bytes]:
    """Return the plugin: one folder that Claude Code, Codex and Gemini's command line read."""
    about = {"name": NAME, "version": VERSION, "description": ABOUT["purpose"]}
    more = {"author": {"name": ABOUT["author"]}, "license": ABOUT["license"]}
    more |= {"keywords": ABOUT["keywords"]}
    if address:
        more |= {"homepage": address.home, "repository": address.home}
    shown = {
        "displayName": ABOUT["title"],
        "shortDescription": ABOUT["purpose"],
        "longDescription": " ".join((ABOUT["purpose"], *ABOUT["permissions"])),
        "developerName": ABOUT["author"],
        "category": ABOUT["category"].capitalize(),
        "capabilities": ["Read", "Write"],
        "logo": "./icon.png",
    }
    if address:
        shown |= {"websiteURL": address.home, "privacyPolicyURL": address.page("PRIVACY.md")}
    parts = {"skills": "./skills/", "mcpServers": "./.mcp.json"}
    servers = {"mcpServers": {NAME: server_command(address)}}
    files = {
        ".claude-plugin/plugin.json": _json_bytes({**about, **more}),
        ".codex-plugin/plugin.json": _json_bytes({**about, **more, **parts, "interface": shown}),
        ".mcp.json": _json_bytes(servers),
        "gemini-extension.json": _json_bytes({**about, **servers}),
        "icon.png": ICON.read_bytes(),
    }
    for guide in toolset_guides().values():
        # Without the library's scripts: a client would run them beside the server.
        files[f"skills/{guide.slug}/SKILL.md"] = guide.document.encode()
    return files


def server_command(address: Address | None) -> dict[str, Any]:
    """Return the command of the server: of a release its wheel, else what is on the PATH."""
    program, *args = ABOUT["program"]
    if address is None:
        return {"command": program, "args": args}
    return {"command": "uvx", "args": ["--from", f"{address.files}/{WHEEL}", program, *args]}


def bundle_manifest(address: Address | None = None) -> dict[str, Any]:
    """Return the manifest of the bundle; the version and the apps come when one is written."""
    read = {"type": "boolean", "title": "Read only", "description": READ_ONLY}
    entry = "server/main.py"
    run = {"command": "uv", "args": ["run", "--directory", "${__dirname}", entry]}
    manifest = {
        "manifest_version": ABOUT["mcpb"],
        "name": NAME,
        "display_name": ABOUT["title"],
        "description": ABOUT["purpose"],
        "author": {"name": ABOUT["author"]},
        "license": ABOUT["license"],
        "keywords": ABOUT["keywords"],
        "icon": "icon.png",
        "server": {
            "type": "uv",
            "entry_point": entry,
            "mcp_config": {**run, "env": {"IAC_READ_ONLY": "${user_config.read_only}"}},
        },
        "tools": [{"name": tool.name, "description": tool.purpose} for tool in META_TOOLS.values()],
        "tools_generated": True,
        "prompts_generated": True,
        "compatibility": {"platforms": ["darwin"], "runtimes": {"python": ABOUT["python"]}},
        "user_config": {"read_only": {**read, "required": False, "default": False}},
    }
    if address:
        manifest |= {
            "homepage": address.home,
            "documentation": address.page("README.md"),
            "support": f"{address.home}/issues",
            "repository": {"type": "git", "url": f"{address.home}.git"},
            "privacy_policies": [address.page("PRIVACY.md")],
        }
    return manifest


def registry_entry(address: Address, bundle: bytes) -> dict[str, Any]:
    """Return `server.json` of the registry; its bundle is known by its digest."""
    setting = {
        "name": "IAC_READ_ONLY",
        "description": READ_ONLY,
        "format": "boolean",
        "default": "false",
        "isRequired": False,
    }
    transport = {"type": "stdio"}
    package = {"registryType": "pypi", "identifier": ABOUT["package"], "version": VERSION}
    return {
        "$schema": "https://static.modelcontextprotocol.io/schemas/"
        f"{ABOUT['registry']}/server.schema.json",
        "name": registry_name(address),
        "title": ABOUT["title"],
        "description": ABOUT["purpose"],
        "version": VERSION,
        "websiteUrl": address.home,
        "repository": {"url": address.home, "source": "github"},
        "icons": [
            {
                "src": f"https://raw.githubusercontent.com/{address.owner}/{address.project}"
                f"/v{VERSION}/{PLUGIN}/icon.png",
                "mimeType": "image/png",
                "sizes": ["512x512"],
            }
        ],
        "packages": [
            {
                "registryType": "mcpb",
                "identifier": f"{address.files}/{BUNDLE}",
                "version": VERSION,
                "fileSha256": hashlib.sha256(bundle).hexdigest(),
                "transport": transport,
                "environmentVariables": [setting],
            },
            {
                **package,
                "runtimeHint": "uvx",
                "transport": transport,
                "runtimeArguments": [{"type": "named", "name": "--from", "value": package_pin()}],
                "packageArguments": [
                    {"type": "positional", "value": word} for word in ABOUT["program"]
                ],
                "environmentVariables": [setting],
            },
        ],
    }


def package_pin() -> str:
    """Return the package of this version, as an index knows it."""
    return f"{ABOUT['package']}=={VERSION}"


def registry_name(address: Address) -> str:
    """Return the name in the registry, which the README of the package must say too."""
    return f"io.github.{address.owner}/{NAME}"


def install_links(address: Address) -> dict[str, str]:
    """Return the links that add the server to a client."""
    said = server_command(address)
    packed = base64.b64encode(json.dumps(said).encode()).decode()
    named = quote(json.dumps({"name": NAME, **said}, separators=(",", ":")), safe="")
    return {
        "cursor": f"cursor://anysphere.cursor-deeplink/mcp/install?name={NAME}"
        f"&config={quote(packed, safe='')}",
        "vscode": f"vscode:mcp/install?{named}",
        "vscode-insiders": f"vscode-insiders:mcp/install?{named}",
    }


def brew_formula(address: Address, wheel: bytes) -> str:
    """Return a formula for a tap: the wheel in an environment of its own, with what it needs."""
    program = ABOUT["program"][0]
    return f'''\
class {NAME.capitalize()} < Formula
  desc "{ABOUT["purpose"].rstrip(".")}"
  homepage "{address.home}"
  url "{address.files}/{WHEEL}", using: :nounzip
  sha256 "{hashlib.sha256(wheel).hexdigest()}"
  license "{ABOUT["license"]}"

  depends_on :macos
  depends_on "python@3.13"

  def install
    system "python3.13", "-m", "venv", libexec
    # The extra reads and operates windows.
    system libexec/"bin/pip", "install", "#{{buildpath/"{WHEEL}"}}[macos]"
    bin.install_symlink libexec/"bin/{program}"
  end

  test do
    assert_match version.to_s, shell_output("#{{bin}}/{program} --version")
  end
end
'''


def privacy_page() -> str:
    """Return the page on what is read, kept and sent."""
    lines = (f"- {line}" for key in ("privacy", "permissions") for line in ABOUT[key])
    made = "`nox -s distribution` writes this page. Do not edit it."
    return "# Privacy\n\n" + made + "\n\n" + "\n".join(lines) + "\n"


def write_release(address: Address, output: Path) -> None:
    """Write the files of a release beside its wheel."""
    wheel = (output / WHEEL).read_bytes()
    write_bundle(output / BUNDLE, tool_folders(()), bundle_manifest(address))
    (output / EXTENSION).write_bytes(_tar_files(plugin_files(address)))
    (output / f"{NAME}.rb").write_text(brew_formula(address, wheel), "utf-8")
    (output / "links.json").write_bytes(_json_bytes(install_links(address)))
    write_registry_entry(address, output)


def with_comment_length(bundle: bytes) -> bytes:
    """Return a bundle whose archive counts the signature behind it as its comment.

    mcpb 2.1.2 appends the signature and leaves the length at 0, and Claude Desktop refuses such an
    archive ("Invalid comment length"; modelcontextprotocol/mcpb#204).
    """
    end = bundle.rfind(b"PK\x05\x06")
    length = len(bundle) - end - 22
    return bundle[: end + 20] + length.to_bytes(2, "little") + bundle[end + 22 :]


def write_registry_entry(address: Address, output: Path) -> None:
    """Write `server.json` for the bundle as it is now; signing one changes its digest."""
    entry = registry_entry(address, (output / BUNDLE).read_bytes())
    (output / "server.json").write_bytes(_json_bytes(entry))


def _tar_files(files: Mapping[str, bytes]) -> bytes:
    memory = io.BytesIO()
    with tarfile.open(fileobj=memory, mode="w") as archive:
        for name in sorted(files):
            row = tarfile.TarInfo(name)
            row.size = len(files[name])
            archive.addfile(row, io.BytesIO(files[name]))
    # Without a time, so that the same input gives the same bytes.
    return gzip.compress(memory.getvalue(), mtime=0)


def _json_bytes(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False, indent=2).encode() + b"\n"


def write_committed(*, check: bool) -> int:
    """Write what differs, and remove what is no more; with `check` say it, and return 1."""
    files = {ROOT / path: content for path, content in committed_files().items()}
    there = {path for path in (ROOT / PLUGIN).rglob("*") if path.is_file()}
    changed = {path for path in files if not path.is_file() or path.read_bytes() != files[path]}
    differing = sorted(changed | (there - files.keys()))
    for path in differing:
        sys.stdout.write(f"{path.relative_to(ROOT)} differs\n")
        if check:
            continue
        if path in files:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(files[path])
        else:
            path.unlink()
    return int(check and bool(differing))


def main() -> int:
    """Write the committed files, or those of a release."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--check", action="store_true", help="write nothing, fail if one differs")
    options.add_argument("--release", metavar="OWNER/NAME", help="the repository of the release")
    options.add_argument("--output", type=Path, default=ROOT / "dist", help="where the wheel is")
    options.add_argument(
        "--signed",
        action="store_true",
        help="complete the signed bundle, and write server.json again",
    )
    chosen = options.parse_args()
    if chosen.release is None:
        return write_committed(check=chosen.check)
    address = Address(chosen.release)
    if chosen.signed:
        path = chosen.output / BUNDLE
        path.write_bytes(with_comment_length(path.read_bytes()))
    (write_registry_entry if chosen.signed else write_release)(address, chosen.output)
    sys.stdout.write(f"{registry_name(address)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
