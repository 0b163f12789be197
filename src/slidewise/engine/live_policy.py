"""The slide policy of a window that is fed event by event: its uses beside the answer's own structure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from slidewise.engine.events import in_nanos
from slidewise.engine.fed import Fed
from slidewise.engine.plan import used_by
from slidewise.engine.policies import code_of, decide_of
from slidewise.kernels.jit import plain
from slidewise.kernels.ops import object_ops
from slidewise.kernels.registers import HEAD
from slidewise.kernels.uses import Use
from slidewise.monoids.codec import codec_of, decode_plain, encode_plain
from slidewise.monoids.kinds import ACCEPTS, Kind
from slidewise.monoids.monoid import Monoid
from slidewise.swag.amta import Amta
from slidewise.swag.enforce import Access
from slidewise.windows.policy import Adwin, DataWindow


class LivePolicy:
    """What a policy sees of a live window, as one partial per event in an Amortized MTA; O(1) amortized per event."""

    def __init__(self, window: DataWindow, kind: Kind, make: Callable[[Monoid], Amta] = Amta) -> None:
        named = used_by(window, (), plain=True)
        self.window = window
        self._fed = [Fed(aggregate, f"uses[{name!r}]") for name, aggregate in named]
        self._monoids: list[Monoid] = [fed.monoid(kind) for fed in self._fed]
        uses = [
            Use(name, object_ops(monoid, len(fed.inputs)), len(fed.inputs), seen=in_nanos)
            for (name, _), fed, monoid in zip(named, self._fed, self._monoids, strict=True)
        ]
        self._code = code_of(window, uses)
        coded = any(monoid.codec is not None for monoid in self._monoids)
        codec = (self._encode, self._decode) if coded else None
        self._structure = structure = make(replace(self._code.ops.monoid, codec=codec))
        access = Access(
            query=lambda cols, R: structure.query(),
            value=lambda cols, R, level, q: structure.node_at(level, q),
            whole=Amta.levels_of(self._code.ops, plain).whole,
            ready=lambda cols, R: structure.make_ready(),
        )
        self._decide = decide_of(window, self._code, access)

    def insert(self, value: Any, position: int, now: Any) -> None:
        """Append an event."""
        inputs, valids = [], []
        for fed in self._fed:
            counts = fed.counts(value)
            inputs.append(tuple([part] for part in fed.taken(value, position, now)) if counts else ())
            valids.append([counts])
        self._structure.insert(self._code.lift_row(inputs, valids, 0))

    def insert_nulls(self, n: int) -> None:
        """Append so many events without a value."""
        for position in range(n):
            self.insert(None, position, None)

    def enforce(self) -> int:
        """Evict what the policy evicts; how many events that is."""
        structure, before = self._structure, len(self._structure)
        if before == 0:
            return 0
        while True:
            head = structure.register(HEAD)
            gone = int(self._decide(*structure.raw())) - head
            if gone == 0:
                break
            structure.evict_many(gone)
            if not isinstance(self.window, Adwin) or len(structure) == 0:
                break
        return before - len(structure)

    def evict_many(self, n: int) -> None:
        """Drop the n oldest events; O(log n)."""
        self._structure.evict_many(n)

    def __len__(self) -> int:
        return len(self._structure)

    def check(self) -> None:
        """Assert the invariants of its tree; O(n)."""
        self._structure.check()

    def state(self) -> tuple[list[int], list[Any]]:
        """What a snapshot needs: registers, and partials as plain values."""
        registers, partials, _ = self._structure.state()
        return registers, [self._as_plain(partial) for partial in partials]

    def set_state(self, registers: list[int], plain: list[Any]) -> None:
        """Continue from what `state` returned."""
        self._structure.set_state(registers, [self._of_plain(partial) for partial in plain], [])

    def _encode(self, partial: Any) -> bytes:
        return encode_plain(self._as_plain(partial))

    def _decode(self, stored: bytes) -> Any:
        return self._of_plain(decode_plain(stored))

    def _as_plain(self, partial: Any) -> list[Any]:
        return [(codec_of(one)[0](part), seen) for one, (part, seen) in zip(self._monoids, partial, strict=True)]

    def _of_plain(self, plain: Any) -> tuple[Any, ...]:
        return tuple((codec_of(one)[1](part), seen) for one, (part, seen) in zip(self._monoids, plain, strict=True))


def provisional_policy(window: DataWindow, uses: Sequence[Fed]) -> LivePolicy | None:
    """The policy before the first value, when all events are null: of any kind that all of its uses take.

    A count among the uses may evict nulls. None if there is no such kind; the first value will say so.
    """
    kinds = [{kind for kind in ACCEPTS if any(fed.monoids((kind,)))} for fed in uses]
    shared = [kind for kind in ACCEPTS if all(kind in one for one in kinds)]
    return LivePolicy(window, shared[0]) if shared else None
