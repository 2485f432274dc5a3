"""What a model sees of tools of a dictionary, built from that dictionary alone.

    python benchmarks/entries.py FILE [TOOL...] [--own]

Prints a JSON object a line: name, description and input schema of each TOOL, of all where none is
named. No quirk of the app is applied, those of the standard suites are. With `--own` our words
stand alone, without the dictionary's.
"""

import argparse
import json
import sys
from pathlib import Path

from iac_gen.discover import from_paths, load_includes, read_sources
from iac_gen.naming import app_key
from iac_gen.pipeline import represent_app
from iac_gen.quirks import known_apps, load_quirks


def main() -> None:
    """Print the entries."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("tools", nargs="*", metavar="TOOL")
    parser.add_argument("--own", action="store_true", help="without the dictionary's wording")
    given = parser.parse_args()
    (loaded,) = read_sources(from_paths([given.file], known_apps()))[0]
    standard = [quirk for quirk in load_quirks()[0] if not quirk.app]
    key = app_key(loaded.source.stem, loaded.source.id)
    module = represent_app(loaded, key, load_includes(), standard, wording=not given.own).module
    entries = {tool.name: tool.listing_entry() for tool in module.tools}
    missing = [name for name in given.tools if name not in entries]
    if missing:
        sys.exit(f"{given.file} has no {missing[0]}; it has {', '.join(entries)}")
    for name in given.tools or entries:
        shown = {key: entries[name][key] for key in ("name", "description", "inputSchema")}
        print(json.dumps(shown, ensure_ascii=False))


if __name__ == "__main__":
    main()
