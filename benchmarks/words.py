"""What a model reads of a dictionary: the words of each tool, class and property, to be read.

    python benchmarks/words.py FILE [TOOL...] [--own]

Built from that dictionary alone: no quirk of the app is applied, those of the standard suites
are. With `--own` our words stand alone, without the dictionary's.
"""

import argparse
import sys
from pathlib import Path

from iac_base.text import escape_hidden
from iac_gen.discover import from_paths, load_includes, read_sources
from iac_gen.model import GeneratorError
from iac_gen.naming import app_key
from iac_gen.pipeline import represent_app
from iac_gen.quirks import known_apps, load_quirks


def main() -> None:
    """Print the words."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("tools", nargs="*", metavar="TOOL")
    parser.add_argument("--own", action="store_true", help="without the dictionary's wording")
    given = parser.parse_args()
    standard = [quirk for quirk in load_quirks()[0] if not quirk.app]
    try:
        (loaded,) = read_sources(from_paths([given.file], known_apps()))[0]
    except GeneratorError as error:
        sys.exit(str(error))
    key = app_key(loaded.source.stem, loaded.source.id)
    module = represent_app(loaded, key, load_includes(), standard, wording=not given.own).module
    tools = {tool.name: tool for tool in module.tools}
    if missing := [name for name in given.tools if name not in tools]:
        sys.exit(f"{given.file} has no {missing[0]}; it has {', '.join(tools)}")
    for name in given.tools or tools:
        print(f"{name}{' (app)' * tools[name].app_words}: {escape_hidden(tools[name].summary)}")
        for parameter in tools[name].parameters:
            print(f"    {parameter.key}: {escape_hidden(parameter.description)}")
    for term, sentence in module.sentences.items() if not given.tools else ():
        print(f"{escape_hidden(term)}: {escape_hidden(sentence)}")


if __name__ == "__main__":
    main()
