"""Numba's dispatchers as kernels need them: one for functions that are inlined, one for kernels themselves.

A function that only machine code calls needs no machine code of its own, and no wrapper by which Python could call it:
without those a kernel of twenty such functions compiles in about two thirds of the time.
"""

from __future__ import annotations

from typing import Any

from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import _FunctionCompiler  # type: ignore[attr-defined]  # numba's own, and untyped
from numba.core.registry import CPUDispatcher
from numba.core.types import unliteral  # type: ignore[attr-defined]  # likewise

from slidewise.kernels.cache import KernelCache


class _BodyCompiler(_FunctionCompiler):  # type: ignore[misc]
    """Stops at LLVM's representation: that is what a caller inlines."""

    def _customize_flags(self, flags: Any) -> Any:
        flags.no_compile = True
        return flags

    def _compile_core(self, args: Any, return_type: Any) -> Any:
        made = super()._compile_core(args, return_type)
        name = object().__reduce_ex__  # what callers find the body by: Numba wants a builtin, none like another
        made.target_context.insert_user_function(name, made.fndesc, [made.library])
        return made._replace(entry_point=name)


class Body(CPUDispatcher):  # type: ignore[misc]
    """A function that kernels inline, and that nothing else can call."""

    def __init__(self, function: Any, targetoptions: dict[str, Any]) -> None:
        super().__init__(function, targetoptions=targetoptions)
        made = self._compiler  # type: ignore[has-type]
        self._compiler = _BodyCompiler(function, made.targetdescr, made.targetoptions, made.locals, made.pipeline_class)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """One body for all numbers of a type: inlined, a constant is folded in anyway."""
        plain = {name: unliteral(kind) for name, kind in dict(kws).items()}
        return super().get_call_template(tuple(map(unliteral, args)), plain)

    def __call__(self, *values: Any) -> Any:
        raise TypeError(f"{self.py_func.__name__} is for kernels, which inline it")


class Kernel(CPUDispatcher):  # type: ignore[misc]
    """A kernel: compiled by one process at a time, whatever comes of it."""

    def compile(self, sig: Any) -> Any:
        with global_compiler_lock:  # a turn is the process's: its threads take it one after the other
            try:
                return super().compile(sig)
            finally:
                if isinstance(self._cache, KernelCache):
                    self._cache.turn.give_back()
