"""Objects of apps as Python classes: what the generated `<app>_objects` modules stand on.

A reference is text until it is read: building one sends nothing. Every read, change and command
is a call of the app's generated function, so gate, policy, levels, audit and simulation are the
same for both.
"""

from iac_runtime.objects.base import (
    Object,
    Readable,
    Reference,
    RwValue,
    Settable,
    TextObject,
    Value,
    read,
)
from iac_runtime.objects.collection import Items
from iac_runtime.objects.conditions import Condition, Field, its
from iac_runtime.objects.descriptors import (
    Elements,
    One,
    Prop,
    RwOne,
    RwProp,
    RwTextOne,
    TextOne,
    type_names,
)
from iac_runtime.objects.rows import Color, Point, Rect, Rows

__all__ = [
    "Color",
    "Condition",
    "Elements",
    "Field",
    "Items",
    "Object",
    "One",
    "Point",
    "Prop",
    "Readable",
    "Rect",
    "Reference",
    "Rows",
    "RwOne",
    "RwProp",
    "RwTextOne",
    "RwValue",
    "Settable",
    "TextObject",
    "TextOne",
    "Value",
    "its",
    "read",
    "type_names",
]
