"""How to aggregate a window in memory: one algorithm, one file; their cards; the ladder that chooses."""

from slidewise.swag.card import Card
from slidewise.swag.choose import ALGORITHMS, Choice, choose
from slidewise.swag.structure import Structure

__all__ = ["ALGORITHMS", "Card", "Choice", "Structure", "choose"]
