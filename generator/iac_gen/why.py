"""Why: the evidence of a level in words, in the order in which it counted."""

from collections.abc import Iterator

from iac_base.errors import near_text
from iac_gen.classify.judgement import LevelJudgment, LevelVerdict
from iac_gen.ir import Module, ToolFunction, level_span
from iac_gen.model import GeneratorError
from iac_runtime.tool import Class

_SHOWN = 5
"""So many properties that reach a ceiling are named."""


def explain_level(module: Module, name: str) -> list[str]:
    """Return lines about the levels of what `name` is: a tool, a class, a `class.property`.

    Raises:
        GeneratorError: Nothing of the app is called so.
    """
    lines: list[str] = []
    for tool in module.tools:
        if name in (tool.name, tool.function):
            lines += [tool.name, *_evidence_lines(tool.judged), *_result_lines(tool, module)]
    owner = _declaring_name(module, name)
    for action, judged in module.judged.get(owner, {}).items():
        came_to = f"result: {judged.level}, {judged.reason}"
        lines += [f"{action} {module.key}.{owner}", *_evidence_lines(judged), came_to]
    if not lines:
        known = [*(tool.name for tool in module.tools), *module.judged]
        hint = near_text(name, known)
        raise GeneratorError(f"{module.key} has no tool, class or property called {name}. {hint}")
    return lines


def _declaring_name(module: Module, name: str) -> str:
    """Return `name`, or the same property of the ancestor that declares it."""
    owner, _, term = name.partition(".")
    seen: set[str] = set()
    row = module.classes.get(owner)
    while f"{owner}.{term}" not in module.judged and row and row.inherits and owner not in seen:
        seen.add(owner)
        owner = row.inherits
        row = module.classes.get(owner)
    return f"{owner}.{term}" if term and f"{owner}.{term}" in module.judged else name


def _evidence_lines(judged: LevelJudgment) -> Iterator[str]:
    rows: tuple[LevelVerdict, ...] = judged.evidence
    if judged.quirk:
        rows = (*rows, judged.quirk)
    for number, row in enumerate(rows, 1):
        counts = "can only raise" if row.raises else "decides alone"
        quirk = f", a quirk, which {counts}" if row is judged.quirk else ""
        yield f"{number}. {row.level}, {row.reason} ({row.source}{quirk})"


def _result_lines(tool: ToolFunction, module: Module) -> Iterator[str]:
    yield f"result: {level_span(tool.level, tool.ceiling)}, {tool.reason}"
    if tool.level == tool.ceiling:
        return
    reach = [
        term for name, row in module.classes.items() for term in _ceiling_terms(name, row, tool)
    ]
    rest = f" and {len(reach) - _SHOWN} more" if len(reach) > _SHOWN else ""
    yield f"{tool.ceiling} with {', '.join(reach[:_SHOWN])}{rest}"


def _ceiling_terms(name: str, row: Class, tool: ToolFunction) -> Iterator[str]:
    """Yield what of a class takes a call of `tool` to its ceiling."""
    if tool.op != "set" and row.make == tool.ceiling:
        yield name
    for prop in row.properties:
        if prop.access != "r" and prop.level == tool.ceiling:
            yield f"{name}.{prop.term}"
