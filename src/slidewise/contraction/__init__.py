"""Slider's contraction trees: a window of splits that moves, folded with as few combines as its movement allows.

Pure structures over any associative fold: no Spark, no clock. `TREES` names them; each is one file that opens with its
cost and its invariant. After Bhatotia et al., Slider: Incremental Sliding Window Analytics, 2014.
"""

from __future__ import annotations

from typing import Any

from slidewise.contraction.coalescing import Coalescing
from slidewise.contraction.folding import Folding
from slidewise.contraction.randomized import Randomized, height_of
from slidewise.contraction.rotating import Rotating
from slidewise.contraction.strawman import Strawman
from slidewise.contraction.tree import VOID, Fold, Place, Tree, Void, folding_of

TREES: dict[str, type[Tree[Any]]] = {tree.name: tree for tree in (Strawman, Folding, Randomized, Rotating, Coalescing)}
"""Name -> class."""

__all__ = [
    "TREES",
    "VOID",
    "Coalescing",
    "Fold",
    "Folding",
    "Place",
    "Randomized",
    "Rotating",
    "Strawman",
    "Tree",
    "Void",
    "folding_of",
    "height_of",
]
