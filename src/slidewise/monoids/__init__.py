"""What to compute: the Monoid, the catalogue of built-ins, aggregates bound to columns, and the laws."""

from slidewise.monoids import laws
from slidewise.monoids.aggregate import Aggregate, Family, aggregate
from slidewise.monoids.catalogue import BUILTINS
from slidewise.monoids.catalogue.sketches import might_contain
from slidewise.monoids.monoid import Monoid

__all__ = ["BUILTINS", "Aggregate", "Family", "Monoid", "aggregate", "laws", "might_contain"]
