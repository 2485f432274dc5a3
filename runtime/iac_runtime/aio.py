"""Awaiting what blocks: the typed objects in servers and notebooks.

    subject = await aio.call(message.subject)
    await aio.call(message.move, to=archive)

Each call runs in a thread through the same gate; a call that was sent is not called back when its
task is cancelled.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any, ParamSpec, TypeVar, overload

from iac_runtime.objects import Items, Object, Readable
from iac_runtime.objects import read as _read

__all__ = ["call", "each", "read"]

A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T", bound=Object)


async def call(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Await a property, a method of an object, or a function of a module."""
    return await asyncio.to_thread(function, *args, **kwargs)


async def each(items: Items[T]) -> AsyncIterator[T]:
    """Yield the objects of a collection, asked for in the same batches as by `for`."""
    objects, end = iter(items), object()
    while (one := await asyncio.to_thread(next, objects, end)) is not end:
        yield one  # type: ignore[misc]


@overload
async def read(a: Readable[A], /) -> tuple[A]: ...
@overload
async def read(a: Readable[A], b: Readable[B], /) -> tuple[A, B]: ...
@overload
async def read(a: Readable[A], b: Readable[B], c: Readable[C], /) -> tuple[A, B, C]: ...
@overload
async def read(*values: Readable[Any]) -> tuple[Any, ...]: ...
async def read(*values: Readable[Any]) -> tuple[Any, ...]:
    """Await several values, read in one exchange of each app."""
    return await asyncio.to_thread(_read, *values)
