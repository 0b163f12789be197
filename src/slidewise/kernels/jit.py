"""One source, two speeds: `inlined` makes a plain function a part of machine code, `plain` leaves it as it is.

A structure's `build(ops, jit)` gets one of the two. Only a `kernel`, the outermost function, is called from Python and
cached on disk: what it calls is inlined into it.
"""

from __future__ import annotations

import types
from collections import deque
from collections.abc import Callable
from typing import Any
from weakref import WeakValueDictionary

Jit = Callable[[Callable[..., Any]], Any]

_KNOWN: WeakValueDictionary[tuple[str, bool], Any] = WeakValueDictionary()
"""Kernels by digest: one that is asked for again, of functions alike, is the one that is here."""

_RECENT: deque[Any] = deque(maxlen=64)
"""Those asked for lately stay, so that a call made again and again does not read its kernels from disk each time."""

# forceinline and _nrt: a step that is called, or that counts references to its arrays, costs more than its work does
# (57 ns per element with both off, 7 with both on). A monoid that allocates arrays therefore runs in object mode.
_OPTIONS = {
    "nopython": True,
    "nogil": True,
    "error_model": "python",
    "boundscheck": False,
    "forceinline": True,
    "_nrt": False,
    "no_cfunc_wrapper": True,
}


def plain(function: Callable[..., Any]) -> Callable[..., Any]:
    """Object mode: the function itself."""
    return function


def inlined(function: Callable[..., Any]) -> Any:
    """A part of the kernels that call it, compiled at first use; it has no door for Python, nor code of its own."""
    from slidewise.kernels.dispatch import Body

    return Body(function, targetoptions=_OPTIONS | {"no_cpython_wrapper": True})


def kernel(function: Callable[..., Any], *, called: bool = True) -> Any:
    """Machine code with its place in the on-disk cache: for the outermost functions, called from Python.

    With `called` False it has no door for Python: of use to those who ask for its types alone, and quick to compile, so
    that processes do not wait for one another.
    """
    from slidewise.kernels import cache
    from slidewise.kernels.dispatch import Kernel

    options = _OPTIONS | {"no_cpython_wrapper": not called}
    try:
        key = cache.digest(function)
    except cache.CannotDigest:
        return Kernel(function, targetoptions=options)
    made = _KNOWN.get((key, called))
    if made is None:
        made = _KNOWN[key, called] = Kernel(function, targetoptions=options)
        made._cache = cache.KernelCache(function, key, in_turn=called)
    _RECENT.append(made)
    return made


def with_helpers(function: Any, _seen: tuple[Any, ...] = ()) -> Any:
    """The function with every plain Python function that it calls compiled too; itself if it calls none.

    Numba calls compiled functions only; a user's aggregate may be written with helpers of any depth. A function that
    calls itself, directly or in a circle, is left as it is, and Numba says what it thinks of it.
    """
    seen = (*_seen, function)

    def made(value: Any) -> Any:
        plain_helper = isinstance(value, types.FunctionType) and value not in seen
        return inlined(with_helpers(value, seen)) if plain_helper else value

    names = {name for name in names_in(function.__code__) if name in function.__globals__}
    replaced = {name: made(function.__globals__[name]) for name in names}
    cells = tuple(types.CellType(made(cell.cell_contents)) for cell in function.__closure__ or ())
    same_globals = all(replaced[name] is function.__globals__[name] for name in names)
    same_cells = all(
        new.cell_contents is old.cell_contents for new, old in zip(cells, function.__closure__ or (), strict=True)
    )
    if same_globals and same_cells:
        return function
    scope = {**function.__globals__, **replaced}
    copy = types.FunctionType(function.__code__, scope, function.__name__, function.__defaults__, cells or None)
    copy.__kwdefaults__ = function.__kwdefaults__
    copy.__module__ = function.__module__
    return copy


def names_in(code: types.CodeType) -> set[str]:
    """Every global or attribute name that a function's code mentions, nested functions included."""
    found = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= names_in(constant)
    return found
