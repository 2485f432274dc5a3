"""Long lines of inheritance: the cost grows with the classes, and what is cut is told."""

import re
from time import process_time

import pytest
from golden import standard
from making import build, inputs, module, read, sdef, source

from iac_gen.model import Source
from iac_gen.object_api import build_object_api
from iac_gen.pipeline import build_folder
from iac_gen.resolve import resolve_dictionary
from iac_gen.unsupported import find_unsupported


def code(number: int) -> str:
    return "".join(chr(97 + number // 26**place % 26) for place in range(4))


def line_of_classes(count: int) -> Source:
    """Return an app in which each of `count` classes inherits from the one before."""
    rows = "".join(
        f'<class name="k{at}" code="{code(at)}"{f""" inherits="k{at - 1}" """ if at else ""}>'
        f'<property name="p{at}" code="{code(at)}" type="text"/></class>'
        for at in range(count)
    )
    first = '<class name="application" code="capp"><element type="k0"/></class>'
    return source(read(sdef(first + rows)))


def seconds_for(count: int) -> float:
    made, _ = module(line_of_classes(count))
    began = process_time()
    build_object_api(made)
    resolve_dictionary(line_of_classes(count), standard())
    return process_time() - began


def test_four_times_the_classes_cost_some_four_times() -> None:
    seconds_for(50)
    assert seconds_for(2000) < 10 * seconds_for(500)


def test_a_line_is_cut_only_in_python_and_this_is_told() -> None:
    app = line_of_classes(300)
    objects = build(app)["diary_objects.py"]
    heads = re.findall(r"^class (K\d+)\((\w+)\):", objects, re.MULTILINE)
    assert [name for name, base in heads if base == "Object"] == ["K0", "K128", "K256"]
    assert all(f"    p{at}: " in objects for at in range(300))
    made, _ = module(app)
    assert [row.inherits for row in made.classes.values()][1:4] == [None, "k0", "k1"]
    assert made.classes["k128"].inherits == "k127"
    resolved, notes = resolve_dictionary(app, standard())
    told = [row for row in find_unsupported(resolved, notes) if row.kind == "class"]
    assert [row.term for row in told] == ["k128", "k256"]
    assert told[0].reason.startswith("it inherits through too many classes")


@pytest.mark.slow
def test_three_thousand_classes_in_a_line_are_built() -> None:
    files, report = build_folder(inputs(line_of_classes(3000)))
    assert report.lost == []
    assert files["diary_objects.py"].count("\nclass K") >= 3000
