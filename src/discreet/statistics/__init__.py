"""Private statistics, one per file. Importing this package fills the registries of queries, readings and statistics."""

from discreet.statistics import (
    bounds,
    categories,
    count,
    covariance,
    distribution,
    histogram,
    mean,
    quantile,
    share,
    sum,  # noqa: A004
    survival,
    variance,
)

__all__ = [
    "bounds",
    "categories",
    "count",
    "covariance",
    "distribution",
    "histogram",
    "mean",
    "quantile",
    "share",
    "sum",
    "survival",
    "variance",
]
