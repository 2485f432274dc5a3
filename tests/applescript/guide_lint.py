"""What is wrong with a guide, held against the dictionary of its app."""

import re
from collections.abc import Iterator

from iac_applescript.analysis.analyser import ScriptAnalyzer
from iac_applescript.dictionary import Skill
from iac_base.words import fold_name
from iac_runtime.tool import Property
from iac_runtime.tools.tables import Tables

_FENCE = re.compile(r"(?ms)^```(applescript|javascript)\n(.*?)^```$")
_NOT_UNDERSTOOD = frozenset(("unknown", "fault", "target", "shape", "raw", "handler"))


def scripts(skill: Skill) -> list[tuple[str, str]]:
    """Return the worked lines of a guide: language and script."""
    return [(language, script) for language, script in _FENCE.findall(skill.text)]


def lint(skill: Skill, tables: Tables, analyser: ScriptAnalyzer) -> list[str]:
    """Return what is wrong with a guide: terms and codes that the dictionary lacks, scripts that
    are not understood, or that are DANGEROUS."""
    terms = {fold_name(term) for term in _all_terms(tables)}
    codes = set(_all_codes(tables))
    found = [f"no term {term!r}" for term in skill.terms if fold_name(term) not in terms]
    found += [f"no code {code!r}" for code in skill.codes if code not in codes]
    if tables.app.id != skill.app:
        found.append(f"{skill.app} is not the app {tables.app.id}")
    for language, script in scripts(skill):
        analysis = analyser.analyze_script(script, language)
        found += [
            f"{language}: {reason.text!r} {reason.message}"
            for reason in analysis.reasons
            if reason.rule in _NOT_UNDERSTOOD or reason.level == "DANGEROUS"
        ]
    return found


def _all_terms(tables: Tables) -> Iterator[str]:
    yield from tables.classes
    yield from (name.replace("_", " ") for name in tables.tools)
    for prop in _all_properties(tables):
        yield prop.term
    for rows in tables.enums.values():
        yield from (term for term, _ in rows)


def _all_codes(tables: Tables) -> Iterator[str]:
    yield from (spec.event for spec in tables.tools.values())
    yield from (row.code for row in tables.classes.values())
    for prop in _all_properties(tables):
        yield prop.code
    for rows in tables.enums.values():
        yield from (code for _, code in rows)


def _all_properties(tables: Tables) -> Iterator[Property]:
    for row in tables.classes.values():
        yield from row.properties
    for record in tables.records.values():
        yield from record.properties
