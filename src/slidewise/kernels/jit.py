"""One source, two speeds: `compiled` turns a plain function into machine code, `plain` leaves it as it is.

A structure's `build(ops, jit)` gets one of the two. Only the outermost function of a kernel is cached on disk: what it
calls is inlined into it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

Jit = Callable[[Callable[..., Any]], Any]

# forceinline and _nrt: a step that is called, or that counts references to its arrays, costs more than its work does
# (57 ns per element with both off, 7 with both on). A monoid that allocates arrays therefore runs in object mode.
_OPTIONS = {"nogil": True, "error_model": "python", "boundscheck": False, "forceinline": True, "_nrt": False}


def plain(function: Callable[..., Any]) -> Callable[..., Any]:
    """Object mode: the function itself."""
    return function


def compiled(function: Callable[..., Any]) -> Any:
    """Machine code, inlined into the kernel that calls it; compiled at first use."""
    import numba

    return numba.njit(**_OPTIONS)(function)


def kernel(function: Callable[..., Any]) -> Any:
    """Machine code with its place in the on-disk cache: for the outermost functions, called from Python."""
    from slidewise.kernels import cache

    dispatcher = compiled(function)
    with contextlib.suppress(cache.CannotDigest):  # then it is compiled once per process
        dispatcher._cache = cache.KernelCache(function, cache.digest(function))
    return dispatcher
