"""The built-in aggregates: each a family of monoids, one per kind of column.

To add one: write its monoid, a `Family` that picks it by kind, a function with docstring and doctest, and add the
family to `BUILTINS` and the function to the package's names. Tests enumerate `BUILTINS`, so its laws, containers and
Spark are tested from then on.

Partials are flat tuples of numbers wherever possible, so that they compile; big ones are tallies
(`slidewise.monoids.tally`). NaN is a value larger than any number, as in Spark; null never reaches a monoid.
"""

from slidewise.monoids.aggregate import Family
from slidewise.monoids.catalogue.counts import COUNT, count
from slidewise.monoids.catalogue.ends import FIRST, FIRST_N, LAST, LAST_N, first, first_n, last, last_n
from slidewise.monoids.catalogue.extremes import (
    ARGMAX,
    ARGMIN,
    COUNT_OF_MAX,
    COUNT_OF_MIN,
    MAX,
    MIN,
    SPREAD,
    argmax,
    argmin,
    count_of_max,
    count_of_min,
    max,
    min,
    spread,
)
from slidewise.monoids.catalogue.logic import ALL, ANY, all, any
from slidewise.monoids.catalogue.moments import (
    CORRELATION,
    COVARIANCE,
    KURT,
    SKEW,
    STDDEV,
    VAR,
    correlation,
    covariance,
    kurt,
    skew,
    stddev,
    var,
)
from slidewise.monoids.catalogue.ranks import MEDIAN, TOP_K, median, top_k
from slidewise.monoids.catalogue.sketches import APPROX_DISTINCT, BLOOM, QUANTILE, approx_distinct, bloom, quantile
from slidewise.monoids.catalogue.sums import GEOMEAN, MEAN, PRODUCT, SUM, geomean, mean, product, sum
from slidewise.monoids.catalogue.times import (
    EWM,
    LONGEST_INCREASING_RUN,
    TIME_WEIGHTED_MEAN,
    ewm,
    longest_increasing_run,
    time_weighted_mean,
)
from slidewise.monoids.catalogue.values import (
    COLLECT,
    COLLECT_DISTINCT,
    CONCAT,
    COUNT_DISTINCT,
    MOST_FREQUENT,
    collect,
    collect_distinct,
    concat,
    count_distinct,
    most_frequent,
)

BUILTINS: dict[str, Family] = {
    family.name: family
    for family in (
        COUNT,
        SUM,
        PRODUCT,
        MEAN,
        VAR,
        STDDEV,
        SKEW,
        KURT,
        GEOMEAN,
        MIN,
        MAX,
        ARGMIN,
        ARGMAX,
        COUNT_OF_MIN,
        COUNT_OF_MAX,
        SPREAD,
        FIRST,
        LAST,
        FIRST_N,
        LAST_N,
        COLLECT,
        COLLECT_DISTINCT,
        COUNT_DISTINCT,
        TOP_K,
        MOST_FREQUENT,
        BLOOM,
        APPROX_DISTINCT,
        QUANTILE,
        MEDIAN,
        COVARIANCE,
        CORRELATION,
        LONGEST_INCREASING_RUN,
        TIME_WEIGHTED_MEAN,
        EWM,
        ALL,
        ANY,
        CONCAT,
    )
}
"""Name -> family, for everything that enumerates the built-ins."""

__all__ = [
    "BUILTINS",
    "all",
    "any",
    "approx_distinct",
    "argmax",
    "argmin",
    "bloom",
    "collect",
    "collect_distinct",
    "concat",
    "correlation",
    "count",
    "count_distinct",
    "count_of_max",
    "count_of_min",
    "covariance",
    "ewm",
    "first",
    "first_n",
    "geomean",
    "kurt",
    "last",
    "last_n",
    "longest_increasing_run",
    "max",
    "mean",
    "median",
    "min",
    "most_frequent",
    "product",
    "quantile",
    "skew",
    "spread",
    "stddev",
    "sum",
    "time_weighted_mean",
    "top_k",
    "var",
]
