"""The fold that cuts frames: one step per event, the same source as machine code, over objects, and event by event.

    state   (is a frame open, has it a value, its rows, its first time, its fragment, the next fragment, the kind's own)
    step    state, event ──► state, what happened: the open frame ENDS before it, one OPENS with it, one ENDS_WITH it

The kind's own part of the state is `s`: what `update` makes of it. While no frame is open it is the kind's `initial`,
unless the kind carries its state across frames. All of the state after an event decides all that follows: two runs that
agree in it after the same event agree for ever, which is when a repair may stop. O(1) per event.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from slidewise.kernels.jit import Jit
from slidewise.kernels.ops import load_of, store_of, write

ENDS, OPENS, ENDS_WITH = 1, 2, 4
"""What an event does, as bits."""

SLOT, FRESH, FIRST, LAST = range(4)
"""The columns of a table of runs: which slot holds the state, whether it begins anew, the rows."""

INSIDE, VALUED, COUNT, FRAGMENT, FOLLOWING = range(5)
"""The registers of a slot."""

REGISTERS = 5


@dataclass(frozen=True, eq=False)
class FoldCode:
    """A kind of frame as functions, at one of the two speeds; `fields` are dtype names, empty on objects.

    ``update(s, params, inputs, i, t)`` gives the state with row i, at time t, in it; ``closes(s, c, params, inputs, i,
    t)`` says whether that row ends the open frame, c being what `update` gives; ``opens(s, params, inputs, i, t)``
    whether it opens one. `params` are numbers and arrays, so that machine code does not depend on them.
    """

    initial: Any
    update: Callable[..., Any]
    closes: Callable[..., Any]
    opens: Callable[..., Any]
    params: tuple[Any, ...]
    jit: Jit
    kernel: Jit
    fields: tuple[str, ...] = ()
    whole: bool = True
    include: bool = False
    carries: bool = False
    lazy: bool = False
    """True if `update` may only be called for a row that is in a frame, or whose state is carried; c is then s."""
    why: str = ""

    @property
    def compiled(self) -> bool:
        """True if these are machine code."""
        return bool(self.fields)


def build_step(code: FoldCode, *, floats: bool) -> Callable[..., Any]:
    """``step(state, params, most, inputs, i, t, ok)`` gives the state after row i, and what happened.

    `most` is (rows, whether there is a longest time, that time), 0 rows for no limit; `floats` says that times are.
    `ok` False: the row's value is null, so it says nothing.
    """
    update, closes, opens, initial = code.update, code.closes, code.opens, code.initial
    include, carries, whole, lazy = code.include, code.carries, code.whole, code.lazy
    beyond = code.jit(_beyond_float if floats else _beyond_int)

    def step(state: Any, params: Any, most: Any, inputs: Any, i: int, t: Any, ok: bool) -> Any:
        inside, valued, count, begun, fragment, following, s = state
        action = 0
        c = s
        if ok and not lazy:
            c = update(s, params, inputs, i, t)
        if inside:
            if not include and ok and valued and closes(s, c, params, inputs, i, t):
                action, inside, following = ENDS, False, 0
            elif (most[0] > 0 and count >= most[0]) or (most[1] and beyond(t, begun, most[2])):
                action, inside, following = ENDS, False, fragment + 1
            if not inside and not carries:
                s = initial
                if ok and not lazy:
                    c = update(s, params, inputs, i, t)
        if ok:
            if inside:
                count += 1
                valued = True
                s = update(s, params, inputs, i, t) if lazy else c
            elif opens(s, params, inputs, i, t):
                action |= OPENS
                inside, valued, count, begun, fragment, following = True, True, 1, t, following, 0
                s = update(s, params, inputs, i, t) if lazy else c
            else:
                following = 0
                if carries:
                    s = update(s, params, inputs, i, t) if lazy else c
            if include and inside and closes(s, s, params, inputs, i, t):
                action |= ENDS_WITH
                inside, following = False, 0
                s = initial
        elif inside:
            count += 1
        elif whole:
            action |= OPENS
            inside, count, begun, fragment, following = True, 1, t, following, 0
            valued = False
        if not inside:
            valued = False
            count = 0
        return (inside, valued, count, begun, fragment, following, s), action

    made: Callable[..., Any] = code.jit(step)
    return made


def _beyond_int(t: Any, since: Any, most: Any) -> Any:
    return t > since + most  # `since + most` fits: order columns keep that far from the ends of int64


def _beyond_float(t: Any, since: Any, most: Any) -> Any:
    return t - since > most


def fold_of(code: FoldCode, *, floats: bool) -> Callable[..., int]:
    """The loop over runs of rows for a kind; built once for kinds that share their functions."""
    shape = (code.update, code.closes, code.opens, code.initial, code.fields, code.whole, code.include)
    try:
        made = FoldShape(*shape, code.carries, code.lazy, code.jit, code.kernel)
        return _built(made, floats, repr(code.initial))
    except TypeError:  # a state that cannot be looked up
        return build_fold(code, floats=floats)


@dataclass(frozen=True)
class FoldShape:
    """What the machine code of a fold depends on."""

    update: Callable[..., Any]
    closes: Callable[..., Any]
    opens: Callable[..., Any]
    initial: Any
    fields: tuple[str, ...]
    whole: bool
    include: bool
    carries: bool
    lazy: bool
    jit: Jit
    kernel: Jit


@functools.lru_cache(maxsize=64)
def _built(shape: FoldShape, floats: bool, spelled: str) -> Callable[..., int]:
    return build_fold(FoldCode(**vars(shape), params=()), floats=floats)


def build_fold(code: FoldCode, *, floats: bool) -> Callable[..., int]:
    """The loop over runs of rows; it writes the frames that ended, and returns how many.

    Of run r, a frame that is open after its last row ends there if `upto[r]` is `ever`, or if `quiet` is not negative
    and its last row lies more than that before `upto[r]`; then it was `cut`, and no event closed it. A hot loop.
    """
    step = build_step(code, floats=floats)
    packed = isinstance(code.initial, tuple)
    if code.compiled:
        load, store = code.jit(load_of(code.fields, packed)), code.jit(store_of(len(code.fields), packed))
    else:
        load = write("load(cols, i)", "return cols[0][i]")
        store = write("store(cols, i, p)", "cols[0][i] = p")
    initial = code.initial

    def fold(
        inputs: Any,
        valid: Any,
        has_nulls: bool,
        times: Any,
        runs: Any,
        upto: Any,
        ever: Any,
        quiet: Any,
        regs: Any,
        marks: Any,
        cols: Any,
        params: Any,
        most: Any,
        lo: Any,
        hi: Any,
        starts: Any,
        ends: Any,
        fragments: Any,
        counts: Any,
        cut: Any,
    ) -> int:
        n = 0
        for r in range(len(runs)):
            slot, first, last = runs[r, SLOT], runs[r, FIRST], runs[r, LAST]
            R, before = regs[slot], n
            begun, newest = marks[slot, 0], marks[slot, 1]
            if runs[r, FRESH]:
                state = (False, False, 0, begun, 0, 0, initial)
                newest = begun * 0 - 1
            else:
                s = load(cols, slot)
                state = (R[INSIDE] != 0, R[VALUED] != 0, R[COUNT], begun, R[FRAGMENT], R[FOLLOWING], s)
            begin = first - state[2]
            for i in range(first, last):
                t, begun, fragment = times[i], state[3], state[4]
                state, action = step(state, params, most, inputs, i, t, not has_nulls or valid[i])
                if action:
                    if action & ENDS:
                        lo[n], hi[n], starts[n], ends[n], fragments[n] = begin, i, begun, newest, fragment
                        n += 1
                    if action & OPENS:
                        begin = i
                    if action & ENDS_WITH:
                        lo[n], hi[n], starts[n], ends[n], fragments[n] = begin, i + 1, state[3], t, state[4]
                        n += 1
                newest = t
            inside, valued, count, begun, fragment, following, s = state
            if inside and (upto[r] == ever or (quiet >= 0 and newest + quiet < upto[r])):
                lo[n], hi[n], starts[n], ends[n], fragments[n] = begin, last, begun, newest, fragment
                n += 1
                cut[r] = True
                inside, valued, count, following, s = False, False, 0, 0, initial
            R[INSIDE], R[VALUED], R[COUNT], R[FRAGMENT], R[FOLLOWING] = inside, valued, count, fragment, following
            marks[slot, 0], marks[slot, 1] = begun, newest
            store(cols, slot, s)
            counts[r] = n - before
        return n

    made: Callable[..., int] = code.kernel(fold)
    return made
