"""A set of integers below n as a tree of bitmaps: 64 members to a word, 64 words to a word of the floor above.

    floor 1   [ 1 0 1 ]              bit p is set if word p below is not zero
    floor 0   [0110][0000][1000]     bit p is set if p is a member

`put` and `take` touch one word unless it was or becomes zero; `after` and `before` look into one word unless the
neighbour is farther away: O(log₆₄ n) at worst, four floors for ten million. n bits and a little: a set of a million
stays in a core's own cache. Plain functions for a kernel to be built of; a member that is asked for must exist.
"""

from __future__ import annotations

from typing import Any

import numpy as np

U = np.uint64
NONE, ONE = np.uint64(0), np.uint64(1)

BACK = 24
"""How many of the 64 bits around a mark lie below it: one member must, two or three above."""

MARGIN = 64
"""The smallest number that may be a member where `pair_at` is used: it looks at the bits below."""


def room(size: int) -> tuple[Any, Any]:
    """The words of an empty set of integers below `size`, and where each floor begins; the top floor is one word.

    Each floor ends in a word that stays zero, so that a search may start right behind the last member.
    """
    begins, total, count = [0], 0, size
    while True:
        count = -(-count // 64)
        total += count + 1
        if count <= 1:
            return np.zeros(total, dtype=np.uint64), np.array(begins, dtype=np.int64)
        begins.append(total)


def put(words: Any, floors: Any, member: Any) -> None:
    """Add a member that is not there."""
    p = member
    for floor in range(len(floors)):
        place = U(floors[floor] + (p >> 6))
        word = words[place]
        words[place] = word | (ONE << U(p & 63))
        if word != NONE:
            return
        p >>= 6


def take(words: Any, floors: Any, member: Any) -> None:
    """Take out a member that is there."""
    p = member
    for floor in range(len(floors)):
        place = U(floors[floor] + (p >> 6))
        word = words[place] & ~(ONE << U(p & 63))
        words[place] = word
        if word != NONE:
            return
        p >>= 6


def after(words: Any, floors: Any, start: Any) -> Any:
    """The smallest member not below `start`."""
    p = start
    word = words[U(p >> 6)] >> U(p & 63)
    if word != NONE:
        return p + lowest(word)
    floor = 0
    while word == NONE:
        floor += 1
        p = (p >> 6) + 1
        word = words[U(floors[floor] + (p >> 6))] >> U(p & 63)
    p += lowest(word)
    while floor > 0:
        floor -= 1
        p = (p << 6) + lowest(words[U(floors[floor] + p)])
    return p


def before(words: Any, floors: Any, start: Any) -> Any:
    """The largest member below `start`."""
    p = start - 1
    word = words[U(p >> 6)] << U(63 - (p & 63))
    if word != NONE:
        return p - 63 + highest(word)
    floor = 0
    while word == NONE:
        floor += 1
        p = (p >> 6) - 1
        word = words[U(floors[floor] + (p >> 6))] << U(63 - (p & 63))
    p += highest(word) - 63
    while floor > 0:
        floor -= 1
        p = (p << 6) + highest(words[U(floors[floor] + p)])
    return p


def pair_at(words: Any, floors: Any, mark: Any, steps: Any, following: bool) -> Any:
    """The member `steps` members after the first one not below `mark`, and the one that follows if it is wanted.

    One step or none in either direction is what a sliding window asks for, and which of them cannot be predicted. So
    these are computed without a branch from the 64 bits around the mark, if they hold both members.
    """
    begin = mark - BACK
    shift = U(begin & 63)
    view = (words[U(begin >> 6)] >> shift) | ((words[U((begin >> 6) + 1)] << ONE) << (U(63) - shift))
    lower, upper = view & ((ONE << U(BACK)) - ONE), view >> U(BACK)
    at = upper & (upper - U(steps > 0))
    behind = at & (at - U(steps >= 0))
    if (U(steps + 1) <= U(2)) & (behind != NONE) & ((lower != NONE) | (steps >= 0)):
        is_down = steps >> 63  # all bits or none
        return mark + ((lowest(at) & ~is_down) | ((highest(lower) - BACK) & is_down)), mark + lowest(behind)
    for _ in range(-steps):
        mark = before(words, floors, mark)
    for _ in range(steps):
        mark = after(words, floors, mark) + 1
    mark = after(words, floors, mark)
    return mark, after(words, floors, mark + 1) if following else mark


def lowest(word: Any) -> Any:
    """The number of the lowest bit that is set; LLVM knows this way of writing it and makes it one instruction."""
    x = ~word & (word - ONE)
    x = x - ((x >> ONE) & U(0x5555555555555555))
    x = (x & U(0x3333333333333333)) + ((x >> U(2)) & U(0x3333333333333333))
    x = (x + (x >> U(4))) & U(0x0F0F0F0F0F0F0F0F)
    return np.int64((x * U(0x0101010101010101)) >> U(56))


def highest(word: Any) -> Any:
    """The number of the highest bit that is set: the exponent of the word as a float.

    Without the bits right below set ones it cannot be rounded up to the next power of two.
    """
    return (np.float64(word & ~(word >> ONE)).view(np.int64) >> 52) - 1023
