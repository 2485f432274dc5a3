"""Writes what docs/scenario.md and docs/scenario.schema.json take from the table of fields."""

from pathlib import Path

from iac_scenario.reference import json_schema, reference_page

FOLDER = Path(__file__).parent
START, END = "<!-- reference: from the table of fields -->\n", "<!-- end of the reference -->\n"


def main() -> None:
    """Rewrite both files."""
    page = FOLDER / "scenario.md"
    before, _, rest = page.read_text(encoding="utf-8").partition(START)
    after = rest.partition(END)[2]
    text = f"{before}{START}{reference_page()}{END}{after}"
    page.write_text(text, encoding="utf-8")
    (FOLDER / "scenario.schema.json").write_text(json_schema(), encoding="utf-8")


if __name__ == "__main__":
    main()
