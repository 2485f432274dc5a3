"""Installed apps as the folders of a Mac hold them, and a folder of tools built from some."""

import hashlib
import json
import plistlib
from pathlib import Path


def install_app(
    folder: Path, name: str, bundle_id: str, dictionary: bytes = b"<dictionary/>", **info: object
) -> Path:
    """Put an app with a dictionary into `folder`."""
    path = folder / f"{name}.app"
    resources = path / "Contents" / "Resources"
    resources.mkdir(parents=True, exist_ok=True)
    (resources / f"{name}.sdef").write_bytes(dictionary)
    facts = {
        "CFBundleIdentifier": bundle_id, "CFBundleShortVersionString": "2.0",
        "OSAScriptingDefinition": f"{name}.sdef", **info,
    }  # fmt: skip
    (path / "Contents" / "Info.plist").write_bytes(plistlib.dumps(facts, fmt=plistlib.FMT_BINARY))
    return path


def build_tools(folder: Path, apps: dict[str, tuple[str, bytes]]) -> Path:
    """Write a catalogue of apps (`name: (bundle id, dictionary)`) as a build of version 1.0."""
    folder.mkdir(parents=True, exist_ok=True)
    rows, locked, tools = {}, {}, {}
    for name, (bundle_id, dictionary) in apps.items():
        key = name.lower()
        digest = hashlib.sha256(dictionary).hexdigest()
        rows[key] = {"id": bundle_id, "name": name, "kind": "application", "digest": digest}
        locked[key] = {"identity": bundle_id, "name": name, "version": "1.0", "digest": digest}
        row = {"module": key, "function": "get", "offset": 0, "level": "SAFE", "ceiling": "MODIFY"}
        tools[f"{key}_get"] = row
    (folder / "catalogue.json").write_text(json.dumps({"format": 1, "apps": rows, "tools": tools}))
    (folder / "tools.lock").write_text(json.dumps({"format": 1, "apps": locked, "tools": {}}))
    return folder
