"""Machine code on disk: a kernel compiled once is found by every later process, Spark workers among them.

Numba's own `cache=True` never hits for kernels built from closures, since each dispatcher is new. Here the key is a
digest of what the machine code depends on: bytecode, constants, defaults, closure cells and referenced globals,
followed recursively through every function that is called. What cannot be digested is compiled anew rather than
guessed.

The files are Numba's, in `SLIDEWISE_CACHE_DIR` or the user's cache directory; only their owner may read or write it.
"""

from __future__ import annotations

import contextlib
import dis
import fcntl
import functools
import hashlib
import os
import sys
import tempfile
import time
import types
from pathlib import Path
from typing import Any

import numpy as np
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile
from numba.core.registry import CPUDispatcher

from slidewise.kernels.jit import names_in

FORMAT = "1"
"""Raise it to abandon every kernel cached so far."""

TRUSTED = frozenset({"builtins", "math", "cmath", "operator", "numpy", "numba"})
"""Modules whose attributes do not change within a version."""

hits = 0
"""Kernels found on disk by this process."""

compiles = 0
"""Kernels compiled by this process."""


class CannotDigest(Exception):
    """A kernel refers to something whose value is not part of any digest."""


def folder() -> Path:
    """Where kernels are kept: `SLIDEWISE_CACHE_DIR`, else a folder in the user's cache directory."""
    chosen = os.environ.get("SLIDEWISE_CACHE_DIR")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "slidewise" / "kernels"


@functools.cache
def usable_folder() -> Path:
    """The folder, made if it is missing and private to its owner; a temporary one where that is not possible."""
    path = folder()
    try:
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
        if path.stat().st_uid != os.getuid() or not os.access(path, os.W_OK):
            raise PermissionError(path)
    except OSError:
        path = Path(tempfile.gettempdir()) / f"slidewise-kernels-{os.getuid()}"
        path.mkdir(exist_ok=True, mode=0o700)
        if path.stat().st_uid != os.getuid():
            path = Path(tempfile.mkdtemp(prefix="slidewise-kernels-"))
    return path


def digest(function: Any) -> str:
    """A digest of all that decides the machine code of `function`; raises `CannotDigest`."""
    state = hashlib.sha256(f"{FORMAT} {sys.version_info[:3]}".encode())
    _feed(state, function, set())
    return state.hexdigest()


def _feed(state: Any, value: Any, seen: set[int]) -> None:
    if isinstance(value, CPUDispatcher):
        state.update(repr(sorted(value.targetoptions.items(), key=str)).encode())
        value = value.py_func
    if isinstance(value, types.FunctionType):
        if id(value) in seen:
            return
        seen.add(id(value))
        state.update(b"def")
        _feed_code(state, value.__code__, seen)
        for cell in value.__closure__ or ():
            _feed(state, cell.cell_contents, seen)
        _feed(state, value.__defaults__, seen)
        if value.__kwdefaults__:
            _feed(state, sorted(value.__kwdefaults__.items()), seen)
        names = sorted(names_in(value.__code__))
        for name in sorted(_globals_in(value.__code__)):  # not every attribute that happens to be a global's name too
            if name in value.__globals__:
                state.update(name.encode())
                _feed_global(state, value.__globals__[name], names, seen)
    elif isinstance(value, (tuple, list)):
        state.update(f"{type(value).__name__}{len(value)}".encode())
        for part in value:
            _feed(state, part, seen)
    elif value is None or isinstance(value, (bool, int, float, complex, str, bytes, np.generic, np.dtype)):
        state.update(f"{type(value).__name__}:{value!r};".encode())
    elif isinstance(value, np.ndarray) and value.dtype != object:
        state.update(f"array{value.dtype}{value.shape}".encode() + value.tobytes())
    elif isinstance(value, types.CodeType):
        _feed_code(state, value, seen)
    elif isinstance(value, type) and issubclass(value, tuple) and hasattr(value, "_fields"):
        state.update(f"named tuple {value._fields}".encode())
    elif isinstance(value, (types.BuiltinFunctionType, np.ufunc)) or (
        isinstance(value, type) and value.__module__ in TRUSTED
    ):
        state.update(f"named {getattr(value, '__module__', '')}.{value.__name__}".encode())
    else:
        raise CannotDigest(f"{type(value).__name__} value in a kernel")


def _globals_in(code: types.CodeType) -> set[str]:
    """Every global name that a function's code reads, nested functions included."""
    found = {one.argval for one in dis.get_instructions(code) if one.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    return found.union(*(_globals_in(one) for one in code.co_consts if isinstance(one, types.CodeType)))


def _feed_global(state: Any, value: Any, names: list[str], seen: set[int]) -> None:
    """A global; of a module, whatever the function may take from it: all attributes of the names it uses."""
    if not isinstance(value, types.ModuleType):
        _feed(state, value, seen)
        return
    state.update(f"module {value.__name__} {getattr(value, '__version__', '')}".encode())
    if value.__name__.partition(".")[0] in TRUSTED or id(value) in seen:
        return
    seen.add(id(value))
    for name in names:
        if hasattr(value, name):
            state.update(name.encode())
            _feed_global(state, getattr(value, name), names, seen)


def _feed_code(state: Any, code: types.CodeType, seen: set[int]) -> None:
    state.update(code.co_code + code.co_exceptiontable)
    state.update(repr((code.co_names, code.co_varnames, code.co_freevars, code.co_argcount)).encode())
    for constant in code.co_consts:
        if isinstance(constant, frozenset):
            constant = tuple(sorted(constant, key=repr))
        _feed(state, constant, seen)


class _Locator:
    """Numba's protocol for where the files go; the digest stands in for source file and line."""

    def __init__(self, key: str) -> None:
        self.key = key
        self._py_file = "<kernel>"

    def ensure_cache_path(self) -> None:
        usable_folder()

    def get_cache_path(self) -> str:
        return str(usable_folder())

    def get_source_stamp(self) -> str:
        return self.key

    def get_disambiguator(self) -> str:
        return self.key[:32]


class _Impl(CompileResultCacheImpl):  # type: ignore[misc]  # numba is untyped
    def __init__(self, py_func: Any, key: str) -> None:
        self._lineno = py_func.__code__.co_firstlineno
        self._locator = _Locator(key)
        self._filename_base = self.get_filename_base(py_func.__name__, getattr(sys, "abiflags", ""))


class Turn:
    """Whose turn it is to compile a kernel, by a lock on a file: a cluster's workers all want the same one at once.

    A process that dies gives it back. One that takes longer than `PATIENCE` is not waited for: compiling a kernel twice
    is no harm.
    """

    PATIENCE = 60.0

    def __init__(self, path: Path) -> None:
        self._path = path
        self._held: int | None = None

    def take(self) -> bool:
        """Wait for it; True if another process had it meanwhile, so that the kernel may be there now."""
        self.give_back()
        try:
            self._held = os.open(self._path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        except OSError:  # where files cannot be locked, every process compiles for itself
            return False
        waited, until = False, time.monotonic() + self.PATIENCE
        while True:
            try:
                fcntl.flock(self._held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > until:
                    self.give_back()
                    return True
                waited = True
                time.sleep(0.02)
            except OSError:
                self.give_back()
                return False
            else:
                return waited

    def give_back(self) -> None:
        """Let others have it."""
        held, self._held = self._held, None
        if held is not None:
            with contextlib.suppress(OSError):  # a child that was forked meanwhile has the file open too
                fcntl.flock(held, fcntl.LOCK_UN)
            os.close(held)

    def __del__(self) -> None:
        self.give_back()


class KernelCache(FunctionCache):  # type: ignore[misc]  # numba is untyped
    """Numba's function cache with a digest for a key; counts its hits and the compiles it could not save."""

    def __init__(self, py_func: Any, key: str, *, in_turn: bool = True) -> None:
        self._name = py_func.__name__
        self._py_func = py_func
        self._key = key
        self._impl = _Impl(py_func, key)
        self._cache_path = self._impl.locator.get_cache_path()
        self._cache_file = IndexDataCacheFile(self._cache_path, self._impl.filename_base, key)
        self.in_turn = in_turn
        self.turn = Turn(Path(self._cache_path) / f"{key[:32]}.lock")
        self.enable()

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        return (sig, codegen.magic_tuple(), self._key)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The kernel from the disk; None if it is to be compiled, which one process does while others wait for it."""
        found = self._load(sig, target_context)
        if found is None and self.in_turn and self.turn.take():
            found = self._load(sig, target_context)
        return found

    def _load(self, sig: Any, target_context: Any) -> Any:
        global hits
        try:
            found = super().load_overload(sig, target_context)
        except (
            Exception
        ):  # a damaged file must never be worse than no file: away with it, so that it can be written anew
            found = None
            Path(self._cache_file._index_path).unlink(missing_ok=True)
        if found is not None:
            hits += 1
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        global compiles
        compiles += 1
        with contextlib.suppress(OSError):  # a full or read-only disk costs a compile next time, nothing else
            super().save_overload(sig, data)
