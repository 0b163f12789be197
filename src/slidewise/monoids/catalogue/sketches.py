"""Sketches: small arrays in place of all values, with a stated error; merging them is exactly associative.

    approx_distinct   HyperLogLog registers, dense, merged by max
    bloom             a Bloom filter's bits, merged by or
    quantile          counts by logarithmic bucket (DDSketch's idea), merged by sum; counts can be taken out again

The first two take a hash of the value: 63 bits, the same on every machine (engine/hashing.py).
"""

from __future__ import annotations

import functools
import math
from typing import Any

from slidewise.errors import ArgumentError, bad, whole
from slidewise.monoids.aggregate import Aggregate, Family
from slidewise.monoids.catalogue.base import ANY, NUMERIC, Kinds, bind
from slidewise.monoids.catalogue.ranks import checked_quantile, exact_quantile
from slidewise.monoids.kinds import NUMBERS
from slidewise.monoids.monoid import Monoid
from slidewise.monoids.tally import Tally, monoid_of

HASH_BITS = 63


# ---- approx_distinct ------------------------------------------------------------------------------------------------
TOP = 46
"""2**-r is added up as the integer 2**(46 - r): exact, and 2**16 registers stay below 2**63."""


def _hyperloglog(bits: int) -> Tally:
    size = 2**bits
    longest = HASH_BITS - bits
    alpha = {16: 0.673, 32: 0.697, 64: 0.709}.get(size, 0.7213 / (1 + 1.079 / size))
    scale = alpha * size * size * 2.0**TOP
    few = 2.5 * size

    def add(S: Any, h: int) -> None:
        rest = h >> bits
        rank = 1
        probe = 1 << (longest - 1)
        while rank <= longest and rest & probe == 0:
            rank += 1
            probe >>= 1
        register = h & (size - 1)
        if S[register] < rank:
            S[register] = rank

    def merge(S: Any, T: Any) -> None:
        for k in range(size):
            if S[k] < T[k]:
                S[k] = T[k]

    def lower(S: Any) -> int:
        total = 0
        zeros = 0
        for k in range(size):
            r = int(S[k])
            total += (1 << TOP) >> r
            zeros += r == 0
        estimate = scale / total
        if estimate <= few and zeros > 0:
            estimate = size * math.log(size / zeros)  # linear counting: nearly exact while registers are empty
        return int(estimate + 0.5)

    return Tally(add=add, merge=merge, lower=lower, size=size, dtype="uint8", answer="int64")


@functools.cache
def _approx_distinct(bits: int) -> Monoid:
    return monoid_of(_hyperloglog(bits), commutative=True, name="approx_distinct", result="int64", answers_empty=True)


def _choose_approx_distinct(kinds: Kinds, error: float = 0.02) -> Monoid:
    return _approx_distinct(math.ceil(math.log2((1.04 / error) ** 2)))


APPROX_DISTINCT = Family(
    "approx_distinct", ANY, _choose_approx_distinct, nature="algebraic", parts=("registers",), hashes=True
)


def approx_distinct(column: str | None = None, *, error: float = 0.02) -> Aggregate:
    """About how many distinct non-null values, by a HyperLogLog with this relative standard error; int64, 0 for none.

    `error` from 0.0041 to 0.26; memory is (1.04 / error)² bytes, rounded up to a power of two, for the window and for
    each block of it; an answer costs as many steps.

    >>> import slidewise as sw
    >>> sw.slide([7, 7, 8, 9], sw.approx_distinct(), sw.trailing(3))
    [1, 1, 2, 3]
    """
    if isinstance(error, bool) or not isinstance(error, (int, float)) or not 0.0041 <= error <= 0.26:
        raise bad("error", error, "a number from 0.0041 to 0.26")
    return bind(APPROX_DISTINCT, column, error=float(error))


# ---- bloom ----------------------------------------------------------------------------------------------------------
def _filter(size: int, probes: int) -> Tally:
    """`size` bytes of bits, and one byte that says how many bits a value sets."""
    last = size * 8 - 1

    def add(S: Any, h: int) -> None:
        step = (h >> 31) | 1
        at = h & 0x7FFFFFFF
        for _ in range(probes):
            bit = at & last
            S[bit >> 3] |= 1 << (bit & 7)
            at += step
        S[size] = probes

    def merge(S: Any, T: Any) -> None:
        for k in range(size + 1):
            S[k] |= T[k]

    def lower(S: Any) -> Any:
        return S

    return Tally(add=add, merge=merge, lower=lower, size=size + 1, dtype="uint8", answer="bytes")


@functools.cache
def _bloom(size: int, probes: int) -> Monoid:
    return monoid_of(_filter(size, probes), commutative=True, name="bloom", result="binary")


def _choose_bloom(kinds: Kinds, capacity: int = 1000, error: float = 0.01) -> Monoid:
    bits = -capacity * math.log(error) / math.log(2) ** 2
    size = 2 ** max(0, math.ceil(math.log2(bits / 8)))
    return _bloom(size, max(1, round(size * 8 / capacity * math.log(2))) if size * 8 / capacity < 40 else 28)


BLOOM = Family("bloom", ANY, _choose_bloom, nature="algebraic", parts=("bits",), hashes=True)


def bloom(column: str | None = None, *, capacity: int = 1000, error: float = 0.01) -> Aggregate:
    """A Bloom filter of the non-null values, as bytes, to be asked by `slidewise.monoids.might_contain`; null for none.

    Up to `capacity` distinct values in a window, the share of false positives stays below `error`.

    >>> import slidewise as sw
    >>> seen = sw.slide(["a", "b", "c"], sw.bloom(), sw.trailing(2))
    >>> [sw.monoids.might_contain(seen[-1], value) for value in "abc"]
    [False, True, True]
    """
    capacity = whole("capacity", capacity, 1, "an integer from 1 to 10,000,000", below=10_000_001)
    if isinstance(error, bool) or not isinstance(error, (int, float)) or not 1e-6 <= error <= 0.5:
        raise bad("error", error, "a number from 0.000001 to 0.5")
    return bind(BLOOM, column, capacity=capacity, error=float(error))


def might_contain(seen: bytes, value: Any) -> bool:
    """False if `value` was surely not among those of a `bloom`; True if it probably was. O(1).

    >>> import slidewise as sw
    >>> sw.monoids.might_contain(sw.slide([1, 2], sw.bloom(), sw.trailing(2))[1], 1)
    True
    """
    from slidewise.monoids.hashing import hash_value

    if not isinstance(seen, (bytes, bytearray, memoryview)) or len(seen) < 2:
        raise bad("seen", seen, "the bytes of a bloom")
    size, h = len(seen) - 1, hash_value(value)
    step, at = (h >> 31) | 1, h & 0x7FFFFFFF
    for _ in range(seen[size]):
        bit = at & (size * 8 - 1)
        if not seen[bit >> 3] >> (bit & 7) & 1:
            return False
        at += step
    return True


# ---- quantile -------------------------------------------------------------------------------------------------------
GROUP = 64
"""Buckets are counted in groups of as many, so that a rank is found in two short scans."""

SMALLEST, LARGEST = 1e-9, 1e9


def _histogram(q: float, error: float, smallest: float, largest: float) -> Tally:
    """A total, counts by group, counts by bucket.

    Buckets from low to high: −inf, negatives, zero, positives, inf, NaN.
    """
    gamma = (1 + error) / (1 - error)
    log_gamma = math.log(gamma)
    side = math.ceil(math.log(largest / smallest) / log_gamma)
    zero = side + 1
    buckets = 2 * side + 4
    groups = -(-buckets // GROUP)
    first = 1 + groups
    middle = 2.0 / (1.0 + gamma)

    def bucket(x: float) -> int:
        value = float(x)
        if value != value:
            return buckets - 1
        size = abs(value)
        if size == math.inf:
            return buckets - 2 if value > 0 else 0
        if size < smallest:
            return zero
        k = math.ceil(math.log(size / smallest) / log_gamma)
        k = 1 if k < 1 else side if k > side else k
        return zero + k if value > 0 else zero - k

    def change(S: Any, x: float, by: int) -> None:
        k = bucket(x)
        S[0] += by
        S[1 + k // GROUP] += by
        S[first + k] += by

    def add(S: Any, x: float) -> None:
        change(S, x, 1)

    def remove(S: Any, x: float) -> None:
        change(S, x, -1)

    def merge(S: Any, T: Any) -> None:
        for k in range(first + buckets):
            S[k] += T[k]

    def lower(S: Any) -> float | None:
        if S[0] == 0:
            return None
        rank = int(q * (S[0] - 1))
        group = 0
        while rank >= S[1 + group]:
            rank -= S[1 + group]
            group += 1
        k = group * GROUP
        while rank >= S[first + k]:
            rank -= S[first + k]
            k += 1
        if k == buckets - 1:
            return math.nan
        if k == buckets - 2:
            return math.inf
        if k == 0:
            return -math.inf
        if k == zero:
            return 0.0
        size = smallest * math.exp(abs(k - zero) * log_gamma) * middle
        return size if k > zero else -size

    return Tally(
        add=add, remove=remove, merge=merge, lower=lower, size=first + groups * GROUP, dtype="int64", answer="float64"
    )


@functools.cache
def _quantile(q: float, error: float, smallest: float, largest: float) -> Monoid:
    return monoid_of(_histogram(q, error, smallest, largest), commutative=True, name="quantile", result="float64")


def _choose_quantile(
    kinds: Kinds,
    q: float = 0.5,
    error: float = 0.01,
    exact: bool = False,
    smallest: float = SMALLEST,
    largest: float = LARGEST,
) -> Monoid | None:
    if kinds[0] not in NUMBERS and kinds[0] != "decimal":
        return None
    return exact_quantile("quantile", q) if exact else _quantile(q, error, smallest, largest)


QUANTILE = Family("quantile", NUMERIC, _choose_quantile, nature="algebraic", parts=("counts by bucket",))


def quantile(
    column: str | float | None = None,
    q: float | None = None,
    *,
    error: float = 0.01,
    exact: bool = False,
    smallest: float = SMALLEST,
    largest: float = LARGEST,
) -> Aggregate:
    """The q-quantile, float64; null without values. By default within a relative error, at O(1) per event.

    Parameters
    ----------
    q
        From 0 to 1; 0.5 unless given.
    error
        The relative error, from 0.001 to 0.5: the answer is within ``error * abs(x)`` of the value x at that rank.
    exact
        True: keep all values; interpolated between neighbours, as Spark's `percentile`.
    smallest, largest
        The error holds for absolute values in this range; below they count as 0, above as `largest`. Infinities and
        NaN are kept apart.

    >>> import slidewise as sw
    >>> near = sw.slide(list(range(1, 1001)), sw.quantile(q=0.99), sw.trailing(1000))[-1]
    >>> abs(near - 990) <= 0.01 * 990
    True
    >>> sw.slide([1, 2, 3, 4], sw.quantile(q=0.25, exact=True), sw.trailing(4))
    [1.0, 1.25, 1.5, 1.75]
    """
    if column is not None and not isinstance(column, str):
        if q is not None:
            raise bad("column", column, "the name of a column")
        column, q = None, column
    q = checked_quantile(0.5 if q is None else q)
    if not isinstance(exact, bool):
        raise bad("exact", exact, "True or False")
    if exact:
        return bind(QUANTILE, column, q=q, exact=True)
    if isinstance(error, bool) or not isinstance(error, (int, float)) or not 0.001 <= error <= 0.5:
        raise bad("error", error, "a number from 0.001 to 0.5")
    if not all(isinstance(end, (int, float)) for end in (smallest, largest)) or not 0 < smallest < largest < math.inf:
        raise ArgumentError(f"smallest={smallest!r}, largest={largest!r}: expected 0 < smallest < largest")
    return bind(QUANTILE, column, q=q, error=float(error), smallest=float(smallest), largest=float(largest))
