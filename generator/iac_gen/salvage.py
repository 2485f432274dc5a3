"""Salvage: what is left of a dictionary of which something cannot be built.

A part is lost only where nothing of it can stand: of a command that cannot be built because of one
parameter, the parameter. Each part is tried beside those that stand already, many at once.
"""

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any, TypeVar

from iac_gen import model
from iac_gen.limits import DeadlineError
from iac_gen.text import label

P = TypeVar("P", bound=model.Dictionary | model.Part)


def keep_sound_parts(
    whole: P, check: Callable[[P], object], owner: str = ""
) -> tuple[P | None, list[tuple[str, int, Exception]]]:
    """Return `whole` without what makes `check` raise, None for nothing; and what it lost.

    That is the name of each part (with that of its `owner`), its line, and why it cannot stand.

    Raises:
        DeadlineError: The time is over.
    """
    members = [
        (field.name, one)
        for field in fields(whole)
        if isinstance(value := getattr(whole, field.name), tuple)
        for one in value
        if type(one) in model.KINDS
    ]
    lost: list[tuple[str, int, Exception]] = []
    kept: list[tuple[str, Any]] = []

    def with_members(more: list[tuple[str, Any]]) -> P:
        groups: dict[str, Any] = {name: () for name, _ in members}
        for name, one in [*kept, *more]:
            groups[name] += (one,)
        return replace(whole, **groups)

    def add_members(more: list[tuple[str, Any]]) -> None:
        fault = _fault_of(check, with_members(more))
        if fault is None:
            kept.extend(more)
        elif len(more) > 1:
            add_members(more[: len(more) // 2])
            add_members(more[len(more) // 2 :])
        else:
            ((name, one),) = more
            outer = isinstance(whole, model.Dictionary | model.Suite)
            inside = "" if outer else f" of {getattr(whole, 'name', '')}"
            rest, parts = keep_sound_parts(
                one, lambda it: check(with_members([(name, it)])), inside
            )
            lost.extend(parts)
            if rest is not None:
                kept.append((name, rest))

    if fault := _fault_of(check, with_members([])):
        return None, [(f"{label(whole)}{owner}", getattr(whole, "line", 0), fault)]
    add_members(members)
    return with_members([]), lost


def _fault_of(check: Callable[[P], object], part: P) -> Exception | None:
    try:
        check(part)
    except DeadlineError:
        raise
    except Exception as error:
        return error
    return None
