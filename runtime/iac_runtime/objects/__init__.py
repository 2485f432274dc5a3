"""Objects of apps as Python classes: what the generated `<app>_objects` modules stand on.

A reference is text until it is read: building one sends nothing. Every read, change and command
is a call of the app's generated function, so gate, policy, levels, audit and simulation are the
same for both.
"""

from iac_runtime.objects.base import (
    Object,
    PropertyValue,
    Readable,
    Replaceable,
    RwPropertyValue,
    Specifier,
    TextObject,
)
from iac_runtime.objects.collection import AnyObject, Items
from iac_runtime.objects.conditions import Condition, Criterion, its
from iac_runtime.objects.fields import (
    Elements,
    One,
    Prop,
    RwOne,
    RwProp,
    RwTextOne,
    TextOne,
    read,
    type_names,
)
from iac_runtime.objects.rows import Color, Point, Rect, Rows

__all__ = [
    "AnyObject",
    "Color",
    "Condition",
    "Criterion",
    "Elements",
    "Items",
    "Object",
    "One",
    "Point",
    "Prop",
    "PropertyValue",
    "Readable",
    "Rect",
    "Replaceable",
    "Rows",
    "RwOne",
    "RwProp",
    "RwPropertyValue",
    "RwTextOne",
    "Specifier",
    "TextObject",
    "TextOne",
    "its",
    "read",
    "type_names",
]
