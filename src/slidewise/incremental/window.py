"""Which splits a job's window holds: a fixed number, all of them, or as many as the caller says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from slidewise.contraction import TREES, Fold, Tree
from slidewise.errors import bad, listed, whole


@dataclass(frozen=True)
class Splits:
    """A window over splits; made by `splits`."""

    width: int | None = None
    bucket: int = 1
    variable: bool = False
    tree: str = "coalescing"
    seed: int = 0

    def make(self, fold: Fold[Any]) -> Tree[Any]:
        """An empty tree for this window; O(1)."""
        if self.tree == "rotating":
            assert self.width is not None
            return TREES[self.tree](fold, buckets=self.width // self.bucket, width=self.bucket)  # type: ignore[call-arg]
        if self.tree == "randomized":
            return TREES[self.tree](fold, seed=self.seed)  # type: ignore[call-arg]
        return TREES[self.tree](fold)

    def dropped(self, there: int, added: int) -> int:
        """How many splits leave a window of fixed width by themselves when so many come; O(1)."""
        return 0 if self.width is None else max(0, min(there, there + added - self.width))

    @property
    def grows(self) -> bool:
        """True if nothing ever leaves."""
        return self.width is None and not self.variable

    def described(self) -> str:
        """In words, as the state keeps it."""
        shape = f"{self.width} splits" if self.width is not None else "variable" if self.variable else "append only"
        bucket = f" in buckets of {self.bucket}" if self.bucket > 1 else ""
        seed = f", seed {self.seed}" if self.tree == "randomized" else ""
        return f"{shape}{bucket}, {self.tree} tree{seed}"


def splits(
    width: int | None = None, *, bucket: int = 1, variable: bool = False, tree: str | None = None, seed: int = 0
) -> Splits:
    """The window of a `Job`, in splits; O(1).

    Parameters
    ----------
    width
        So many splits; the oldest leave by themselves. None: all splits there ever were, unless `variable`.
    bucket
        Splits come in groups of so many, each folded to one leaf of the tree.
    variable
        Splits leave when the caller says so (``drop=``).
    tree
        By default "rotating" for a fixed width, "coalescing" for all splits, "folding" if variable; "randomized" is for
        windows that shrink wildly, "strawman" for comparison.
    seed
        Of the randomized tree.

    Examples
    --------
    >>> from slidewise import incremental as inc
    >>> inc.splits(90).described()
    '90 splits, rotating tree'
    >>> inc.splits(variable=True).described()
    'variable, folding tree'
    """
    if not isinstance(variable, bool):
        raise bad("variable", variable, "True or False")
    if width is not None:
        width = whole("width", width, 1)
        if variable:
            raise bad("width", width, "None where variable=True: the caller says what leaves")
    bucket = whole("bucket", bucket, 1)
    if bucket > 1 and (width is None or width % bucket):
        raise bad("bucket", bucket, "1, or a number that divides a fixed width")
    usual = "rotating" if width is not None else "folding" if variable else "coalescing"
    allowed = [usual, "strawman", *(["folding", "randomized"] if width is not None or variable else [])]
    chosen = usual if tree is None else tree
    if chosen not in allowed:
        raise bad("tree", tree, f"one of {listed(dict.fromkeys(allowed))} for this window")
    if bucket > 1 and chosen != "rotating":
        raise bad("bucket", bucket, "1 for any tree but 'rotating'")
    return Splits(width, bucket, variable, chosen, whole("seed", seed, 0))
