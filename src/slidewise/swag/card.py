"""A card: what a reader must know of an algorithm before choosing it, as the papers' tables have it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Card:
    """One row of the table that `slidewise algorithms` prints and the README shows.

    Attributes
    ----------
    name, full_name
        As in `ALGORITHMS`, and in words.
    paper
        Where it first appeared; without a paper, what it is, e.g. ``"a fold"``.
    ordering
        Where elements may come and go: ``"FIFO"``, or ``"any"`` place.
    needs
        What it asks of a monoid: ``"nothing"`` (it only folds), ``"associative"``, ``"inverse"``, ``"selective"``,
        ``"a tally"``, ``"a tally with remove"``. Tests choose monoids by it; what it cannot serve, `refuse` refuses.
    amortized, worst
        ⊕ per step, on average and at worst.
    bulk_evict
        What evicting many at once costs.
    space, local_size
        Partials for n elements, in all and, where a store holds the rest, in memory.
    custom_policy
        How `enforce` finds what a slide policy evicts: ``"O(log n)"`` looks, ``"head by head"``, or ``"none"``.
    external_store
        True if its elements can live in a store.
    compiles
        False if it runs on Python objects alone.
    """

    name: str
    full_name: str
    paper: str
    ordering: str
    needs: str
    amortized: str
    worst: str
    bulk_evict: str
    space: str
    local_size: str
    custom_policy: str
    external_store: bool
    compiles: bool = True

    @property
    def modes(self) -> str:
        """Where it runs: as machine code, on Python objects."""
        return "compiled, objects" if self.compiles else "objects"


COLUMNS = {
    "name": "name",
    "ordering": "window",
    "needs": "needs",
    "amortized": "amortized",
    "worst": "worst",
    "bulk_evict": "bulk evict",
    "space": "partials",
    "modes": "runs on",
    "paper": "first appeared",
}
"""What the tables show: a card's field, and its heading."""


def markdown(cards: Iterable[Card]) -> str:
    """The cards as a table for the README.

    >>> print(markdown([])[:36])
    | name | window | needs | amortized
    """
    rows = ([f"`{card.name}`", *(str(getattr(card, field)) for field in list(COLUMNS)[1:])] for card in cards)
    lines = [list(COLUMNS.values()), ["---"] * len(COLUMNS), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
