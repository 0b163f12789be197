"""Generated data: a seeded factory-sensor stream to try windows on.

Shaped like the DEBS 2012 Grand Challenge recording (three power phases and a few valve states at 100 Hz), with the
trouble of real streams built in: jitter, late events, nulls, faults, and machines that are switched off.

::

    one machine, cut into slots of 20 s, one episode in each:

    |~~~~~~SURGE~~~~~~~~|~~~~~        ~~~~~~|~~~~STUCK~~~~~~~|~~~~~DROPOUT~~~~~|~~~ ...
                              ^ quiet: no events at all

    event time  ──►  + delay (a few events only)  ──►  arrival order, which is the order of the rows

Invariants: event times of a machine are strictly increasing before delays; an event arrives less than ``max_delay``
after its event time, so a watermark of ``max_delay`` loses nothing; the rows of a machine do not depend on how many
machines there are. Time and space are O(rows), plus the sort by arrival.
"""

from __future__ import annotations

import itertools
import math
import re
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from slidewise.errors import bad

__all__ = ["FAULTS", "SCHEMA", "START", "factory"]

FAULTS: Final = ("none", "surge", "dropout", "stuck")
"""Names of the codes in column ``fault``: ``FAULTS[code]``."""

START: Final = 1_329_929_188_000_000
"""Event time of the first tick, in microseconds since 1970: 2012-02-22 16:46:28 UTC."""

_TIME: Final = pa.timestamp("us", tz="UTC")

SCHEMA: Final = pa.schema(
    [
        pa.field("ts", _TIME, nullable=False),
        pa.field("arrived", _TIME, nullable=False),
        pa.field("machine", pa.string(), nullable=False),
        pa.field("power_a", pa.float64()),
        pa.field("power_b", pa.float64()),
        pa.field("power_c", pa.float64()),
        pa.field("valves", pa.int8(), nullable=False),
        pa.field("dosing", pa.bool_(), nullable=False),
        pa.field("fault", pa.int8(), nullable=False),
    ]
)
"""Columns of :func:`factory`; its docstring says what each one means."""

_KINDS: Final = ("press", "mill", "oven", "pump")
_SLOT: Final = 20.0  # seconds per episode
_EPISODES: Final = ("surge", "quiet", "stuck", "dropout")
_UNITS: Final = {"us": 1, "ms": 1_000, "s": 1_000_000, "min": 60_000_000}
_MAX_ROWS: Final = 1_000_000_000

_Floats = npt.NDArray[np.float64]
_Ints = npt.NDArray[np.int64]
_Bools = npt.NDArray[np.bool_]


def factory(
    machines: int = 3,
    seconds: float = 60,
    rate: float = 100,
    *,
    seed: int = 7,
    late_share: float = 0.02,
    max_delay: str = "2 s",
    null_share: float = 0.001,
) -> pa.Table:
    """Generate the sensor events of a small factory, in the order in which they arrive.

    Parameters
    ----------
    machines
        How many machines report, at least 1.
    seconds
        Length of the stream in event time.
    rate
        Ticks per second and machine, at most 100,000. A tick of a machine that is off makes no event.
    seed
        The same arguments and seed give the same bytes.
    late_share
        Share of events that arrive after their event time, 0 to 1.
    max_delay
        Bound of the delay of a late event, exclusive: ``"500 ms"``, ``"2 s"``, ``"1 min"``.
    null_share
        Share of nulls in each power column, 0 to 1.

    Returns
    -------
    pyarrow.Table
        One row per event, sorted by ``arrived``:

        ========== ================== ==========================================================
        column     type               meaning
        ========== ================== ==========================================================
        ts         timestamp[us, UTC] event time: a tick plus jitter of up to 0.4 ticks
        arrived    timestamp[us, UTC] when the event came in; equals ``ts`` unless it is late
        machine    string             ``press-1``, ``mill-2``, ``oven-3``, ``pump-4``, ``press-5``
        power_a    float64            power of phase A in kW, to the watt; null now and then
        power_b    float64            the same for phase B
        power_c    float64            the same for phase C
        valves     int8               four valves, one bit each: bit k is 1 while valve k is open
        dosing     bool               the additive pump is running
        fault      int8               ground truth: a position in :data:`FAULTS`
        ========== ================== ==========================================================

    Raises
    ------
    ArgumentError
        If an argument is out of its range, naming it, its value and what is allowed.

    Notes
    -----
    Each 20 s of a machine hold one episode of 3 to 7 s: a ``surge`` (all phases far above a healthy reading), a
    ``quiet`` period (off, no events), a ``stuck`` sensor (the readings repeat) or a ``dropout`` (the readings fall to
    zero). Kinds take turns, and each machine starts with another one. A stream shorter than 20 s holds one shorter
    episode.

    O(n log n) for n rows, about half a second per million.

    Examples
    --------
    >>> from slidewise import datasets
    >>> events = datasets.factory(machines=2, seconds=20, seed=7)
    >>> events.column_names
    ['ts', 'arrived', 'machine', 'power_a', 'power_b', 'power_c', 'valves', 'dosing', 'fault']
    >>> sorted(set(events["machine"].to_pylist()))
    ['mill-2', 'press-1']
    >>> {datasets.FAULTS[code] for code in events["fault"].to_pylist()} == {"none", "surge"}
    True
    >>> events.equals(datasets.factory(machines=2, seconds=20, seed=7))
    True
    """
    _check_whole("machines", machines, at_least=1)
    _check_whole("seed", seed, at_least=0)
    _check_number("seconds", seconds, above=0.0, at_most=math.inf)
    _check_number("rate", rate, above=0.0, at_most=100_000.0)
    _check_share("late_share", late_share)
    _check_share("null_share", null_share)
    delay = _delay(max_delay)
    if machines * seconds * rate > _MAX_ROWS:
        raise bad("machines * seconds * rate", machines * seconds * rate, f"at most {_MAX_ROWS:,} rows")

    parts = [_machine(number, seconds, rate, seed, late_share, delay, null_share) for number in range(machines)]
    events = pa.concat_tables(parts)
    # Stable, so equal arrivals keep the order of the machines and, within one machine, of event time.
    order = np.argsort(events["arrived"].cast(pa.int64()).to_numpy(), kind="stable")
    return events.take(pa.array(order)).combine_chunks()


def _machine(
    number: int, seconds: float, rate: float, seed: int, late_share: float, delay: int, null_share: float
) -> pa.Table:
    """Events of one machine in event-time order."""
    random = np.random.default_rng([seed, number])
    ticks = int(seconds * rate)
    period = 1e6 / rate
    jitter = random.integers(0, max(1, int(0.4 * period)), ticks)
    offsets = np.floor(np.arange(ticks) * period).astype(np.int64) + jitter
    at = offsets / 1e6

    fault, on = _episodes(at, seconds, number, random)
    powers, valves, dosing = _work(at, random)
    for power in powers:
        _break(power, fault, random)

    late = random.random(ticks) < late_share
    delays = np.where(late, random.integers(1, delay, ticks), 0)
    missing = random.random((3, ticks)) < null_share
    ts = START + offsets[on]
    name = f"{_KINDS[number % len(_KINDS)]}-{number + 1}"
    columns = [
        pa.array(ts, _TIME),
        pa.array(ts + delays[on], _TIME),
        pa.repeat(pa.scalar(name), len(ts)),
        *(
            # Rounded to the watt: readings look measured, and the last bits of sin() on other machines do not show.
            pa.array(np.round(power[on], 3), mask=gone[on])
            for power, gone in zip(powers, missing, strict=True)
        ),
        pa.array(valves[on], pa.int8()),
        pa.array(dosing[on]),
        pa.array(fault[on], pa.int8()),
    ]
    return pa.Table.from_arrays(columns, schema=SCHEMA)


def _episodes(
    at: _Floats, seconds: float, number: int, random: np.random.Generator
) -> tuple[npt.NDArray[np.int8], _Bools]:
    """Fault code per tick, and whether the machine is on."""
    fault = np.zeros(len(at), np.int8)
    on = np.ones(len(at), np.bool_)
    slot = min(_SLOT, seconds)
    for turn in range(math.ceil(seconds / slot)):
        start = slot * (turn + random.uniform(0.25, 0.55))
        length = slot * random.uniform(0.15, 0.35)
        lo, hi = np.searchsorted(at, [start, start + length])
        kind = _EPISODES[(turn + number) % len(_EPISODES)]
        if kind == "quiet":
            on[lo:hi] = False
        else:
            fault[lo:hi] = FAULTS.index(kind)
    return fault, on


def _work(at: _Floats, random: np.random.Generator) -> tuple[list[_Floats], _Ints, _Bools]:
    """Three phases of power, valve bits and dosing pump of a healthy machine going through its work cycle."""
    cycle = random.uniform(12.0, 20.0)
    shift = random.uniform(0.0, 1.0)
    idle, load = random.uniform(1.5, 2.5), random.uniform(4.0, 7.0)
    turn = (at / cycle + shift) % 1.0
    ramp = np.clip(np.minimum(turn / 0.15, (0.75 - turn) / 0.15), 0.0, 1.0)
    duty = ramp * ramp * (3.0 - 2.0 * ramp)
    wander = 0.3 * np.sin(2 * np.pi * at / 47.0 + shift)
    ripple = 0.35 * np.sin(2 * np.pi * at * 1.7) * duty
    mean = idle + wander + load * duty + ripple
    spread = 0.05 + 0.15 * duty
    powers = [mean * balance + spread * random.standard_normal(len(at)) for balance in (1.0, 0.96, 1.03)]

    valves = np.zeros(len(at), np.int64)
    for valve in range(4):
        opens = 0.05 + 0.15 * valve
        valves |= ((turn >= opens) & (turn < opens + 0.25)).astype(np.int64) << valve
    return powers, valves, (turn >= 0.3) & (turn < 0.4)


def _break(power: _Floats, fault: npt.NDArray[np.int8], random: np.random.Generator) -> None:
    """Write the faults into one phase, in place."""
    healthy = power.max(initial=0.0)
    edges = np.flatnonzero(np.diff(fault, prepend=np.int8(0), append=np.int8(0)))
    for lo, hi in itertools.pairwise(edges):
        kind = FAULTS[fault[lo]]
        if kind == "surge":
            power[lo:hi] += 0.95 * healthy + 0.5 * random.standard_normal(hi - lo)
        elif kind == "dropout":
            power[lo:hi] = 0.02 * np.abs(random.standard_normal(hi - lo))
        elif kind == "stuck":
            power[lo:hi] = power[lo]


def _delay(text: object) -> int:
    """Microseconds of a duration such as ``"2 s"``."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(us|ms|s|min)\s*", text) if isinstance(text, str) else None
    size = round(float(found[1]) * _UNITS[found[2]]) if found else 0
    if not 2 <= size <= 86_400_000_000:
        raise bad("max_delay", text, "a duration of 2 us to 1440 min, such as '2 s' (units: us, ms, s, min)")
    return size


def _check_whole(name: str, value: object, at_least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < at_least:
        raise bad(name, value, f"a whole number of at least {at_least}")


def _check_number(name: str, value: object, above: float, at_most: float) -> None:
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not math.isfinite(value)
        or not above < value <= at_most
    ):
        top = "" if math.isinf(at_most) else f" and at most {at_most:,.0f}"
        raise bad(name, value, f"a finite number above {above:g}{top}")


def _check_share(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 <= value <= 1.0:
        raise bad(name, value, "a share from 0 to 1")
