"""A live window as bytes and back: what `LiveWindow.snapshot` writes and `LiveWindow.restore` reads. No pickle."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from slidewise.engine.fed import Fed
from slidewise.engine.snapshot import pack, unpack
from slidewise.engine.stored import StoredState
from slidewise.engine.times import NearTimes
from slidewise.errors import ArgumentError, SnapshotError
from slidewise.frames.stored import CODE, frame_from_dict, is_frame
from slidewise.monoids.aggregate import Aggregate
from slidewise.monoids.codec import codec_of, decode_plain, encode_plain, partial_schema
from slidewise.monoids.condition import Condition
from slidewise.monoids.monoid import Monoid
from slidewise.store.base import Store
from slidewise.swag.choose import ALGORITHMS
from slidewise.windows.stored import from_dict, is_code
from slidewise.windows.window import Window

if TYPE_CHECKING:
    from slidewise.engine.live import LiveWindow


def taken_of(live: LiveWindow) -> bytes:
    """The snapshot of a window; O(n)."""
    registers: list[int] = []
    links: list[int] = []
    parts: list[bytes] = []
    structure = live._structure
    if structure is not None:
        encode, _ = _codec(structure)
        registers, partials, links = structure.state()
        parts = [encode(partial) for partial in partials]
    header = {
        **_header(live),
        "partial": None if structure is None else partial_schema(structure.monoid),
        "structure": None if structure is None else structure.card.name,
        "registers": registers,
        "links": links,
        "times": live._times.listed() if isinstance(live._times, NearTimes) else [],
        "slices": None if live._slices is None else live._slices.state(),
        "policy": None if live._policy is None else encode_plain(live._policy.state()).decode(),
    }
    return pack("live window", header, parts)


def _header(live: LiveWindow) -> dict[str, Any]:
    """What is small: which window this is, and where in its events it stands."""
    return {
        "aggregate": live.aggregate.source.name,
        "own": isinstance(live.aggregate.source, Monoid),
        "options": dict(live.aggregate.options),
        "where": encode_plain([(one.test, one.value) for one in live.aggregate.conditions]).decode(),
        "version": getattr(live.aggregate.source, "version", 1),
        "window": live.window.to_dict(),
        "algorithm": live.algorithm,
        "kind": live._kind,
        "newest": live._newest,
        "waiting": None if live._waiting is None else encode_plain(live._waiting).decode(),
        "nulls_before": live._nulls_before,
        "events": live._events,
        **_frame_header(live),
    }


def _frame_header(live: LiveWindow) -> dict[str, Any]:
    """Where the fold of frames stands; nothing for other windows."""
    if live._fold is None:
        return {}
    return {"axis": live._axis, "fold": live._fold.written()}


# ---- in a store -----------------------------------------------------------------------------------------------------
def write_down(live: LiveWindow, state: StoredState) -> bytes:
    """The window's meta record, durable in its store with the pages it refers to; O(log n)."""
    state.check_open()
    structure = live._structure
    small = {**_header(live), "partial": None if structure is None else partial_schema(structure.monoid)}
    shown = {"window": repr(live.window), "aggregate": repr(live.aggregate), "elements": len(live)}
    return state.flush(shown, json.dumps(small))


def from_store(
    kind: type[LiveWindow], store: str | Store, name: str, aggregate: Aggregate | None, window: Window | None
) -> LiveWindow:
    """The window of a store, as it was when it was last written down."""
    state = StoredState(store, name, create=False)
    try:
        header, parts, small = state.read()
        try:
            small = json.loads(small)
            aggregate = _aggregate_of(small, aggregate)
            window = _window_of(small, window)
            live = kind(aggregate, window, small["algorithm"], state, kind=small["kind"])
            schema = None if live._structure is None else partial_schema(live._structure.monoid)
            if small["partial"] != schema:
                raise SnapshotError(f"its partials are {small['partial']}, {aggregate!r} has {schema}")
            _place(live, small)
            state.fill(header, parts)
            live._renew_policy()
        except ArgumentError as error:
            raise ArgumentError(str(error).replace("the snapshot", state.where, 1)) from error
        except SnapshotError as error:
            raise SnapshotError(f"{state.where}: {error}") from error
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise SnapshotError(f"{state.where}: does not fit this version: {error}") from error
    except BaseException:
        state.close()
        raise
    return live


def restored(
    kind: type[LiveWindow], blob: bytes, aggregate: Aggregate | None, window: Window | None = None
) -> LiveWindow:
    """The window of a snapshot; an aggregate or window that is code must be handed in, and be the same."""
    header, parts = unpack("live window", blob)
    aggregate = _aggregate_of(header, aggregate)
    window = _window_of(header, window)
    try:
        # By the algorithm the partials belong to, whatever "auto" would choose today.
        structure = header["structure"] if header["structure"] in ALGORITHMS else header["algorithm"]
        live = kind(aggregate, window, structure, kind=header["kind"])
        live.algorithm = header["algorithm"]
        if live.choice is not None and live.algorithm == "auto":
            live.choice = replace(live.choice, reason="chosen when the window was made, before the snapshot")
        _fill(live, header, parts)
        live._renew_policy()
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise SnapshotError(f"the snapshot does not fit this version: {error}") from error
    return live


def _fill(live: LiveWindow, header: dict[str, Any], parts: list[bytes]) -> None:
    if live._slices is None:
        live._times = NearTimes(header["times"])
    else:
        live._slices.set_state(*header["slices"])
    _place(live, header)
    if live._policy is not None and header["policy"] is not None and not live._provisional:
        live._policy.set_state(*decode_plain(header["policy"].encode()))
    if header["structure"] is None:
        return
    structure = live._structure
    if structure.card.name != header["structure"]:
        raise ValueError(f"its window is kept by {header['structure']!r}, here by {structure.card.name!r}")
    monoid = structure.monoid
    if partial_schema(monoid) != header["partial"]:
        raise ValueError(f"its partials are {header['partial']}, {monoid!r} has {partial_schema(monoid)}")
    _, decode = _codec(structure)
    structure.set_state(header["registers"], [decode(part) for part in parts], header["links"])


def _place(live: LiveWindow, header: dict[str, Any]) -> None:
    """Where in its events the window stood."""
    live._newest = header["newest"]
    live._nulls_before = header["nulls_before"]
    live._events = header.get("events", 0)
    if live._fold is not None:
        live._axis = header["axis"]
        live._fold.read(header["fold"])
    if header["waiting"] is not None:
        live._waiting = decode_plain(header["waiting"].encode())


def _codec(structure: Any) -> Any:
    """How what the ring holds is stored: partials by the monoid's own codec, raw values as plain data."""
    return (encode_plain, decode_plain) if structure.tallies else codec_of(structure.monoid)


def _window_of(header: dict[str, Any], window: Window | None) -> Window:
    """The window a snapshot was taken of: as it is written there, or the one handed in if it is the same."""
    stored = header["window"]
    if window is None:
        if is_code(stored):
            raise ArgumentError("window=None: the snapshot is of a slide policy, which is code; hand its window in")
        if stored.get("window") in CODE:
            raise ArgumentError("window=None: the snapshot is of a frame that holds code; hand its window in")
        try:
            return frame_from_dict(stored) if is_frame(stored) else from_dict(stored)
        except (KeyError, TypeError) as error:
            raise SnapshotError(f"the snapshot does not fit this version: {error}") from error
    if not isinstance(window, Window) or window.to_dict() != stored:
        raise SnapshotError(f"snapshot of another window than {window!r}: {stored}")
    return window


def _aggregate_of(header: dict[str, Any], aggregate: Aggregate | None) -> Aggregate:
    """The aggregate a snapshot was taken of: a built-in by its name, or the one handed in if it is the same."""
    from slidewise.monoids.catalogue import BUILTINS

    name, version, own = header["aggregate"], header["version"], header.get("own", header["aggregate"] not in BUILTINS)
    if aggregate is None:
        if own or name not in BUILTINS:
            raise ArgumentError(f"aggregate=None: the snapshot is of {name!r}, a user's own; hand its aggregate in")
        tests = decode_plain(header["where"].encode()) if "where" in header else []
        conditions = tuple(Condition(None, test, value) for test, value in tests)
        return Aggregate(BUILTINS[name], options=tuple(header.get("options", {}).items()), conditions=conditions)
    Fed(aggregate)  # refuses what a live window cannot take
    given = getattr(aggregate.source, "version", 1)
    is_own = isinstance(aggregate.source, Monoid)
    if (aggregate.source.name, given, is_own) != (name, version, own):
        kinds = {True: "a user's own", False: "a built-in"}
        raise SnapshotError(
            f"snapshot of {name!r} version {version}, {kinds[own]}; "
            f"got {aggregate.source.name!r} version {given}, {kinds[is_own]}"
        )
    return aggregate
