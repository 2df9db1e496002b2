"""The statistics as plain functions on arrays, for someone who holds the data.

All take the keywords of ``Keywords`` (epsilon, delta, rho, mechanism, calibration) and of ``Setting``: ``neighbors``
("add_remove" by default, "replace", "both"), ``ledger`` (a Ledger that pays; none by default) and ``seed`` (for tests only).
Arrays are validated as NumPy would; a NaN counts as missing: it contributes nothing, or the middle of the bounds under
replace.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Unpack

import numpy as np

from discreet.core.labels import closest
from discreet.core.numbers import Number
from discreet.core.price import Keywords, Price
from discreet.core.query import Relation, check_relation
from discreet.core.random import Random, chosen
from discreet.core.result import Result
from discreet.core.runner import Desk, NoLedger, Payer
from discreet.core.schema import Categories, Column, Real, Schema
from discreet.errors import InvalidRequest
from discreet.sources import open_source
from discreet.statistics.joint import ask, ask_each, ask_together
from discreet.statistics.question import Table, build, builder

Bounds = Sequence[float]


class Setting(Keywords, total=False):
    """What to spend, and where: the neighbouring relation, who pays, and a seed for tests."""

    neighbors: Relation
    ledger: Payer | None
    seed: int | Random | None


def check_keywords(setting: Setting) -> None:
    """Refuse a keyword that is none of a price or a setting: ignored, it would spend or protect otherwise than was meant."""
    for key in setting:
        if key not in Setting.__annotations__:
            raise InvalidRequest(f"no keyword is called {key!r}{closest(key, Setting.__annotations__)}")


def _desk(columns: Mapping[str, tuple[Any, Column]], setting: Setting) -> tuple[Desk, Table, Price]:
    check_keywords(setting)
    relation = check_relation(setting.get("neighbors", "add_remove"))
    schema = Schema({name: column for name, (_, column) in columns.items()}, neighbors=relation)
    arrays = {name: values for name, (values, _) in columns.items()}
    source = open_source(arrays, schema)
    ledger = setting.get("ledger")
    if ledger is not None and not hasattr(ledger, "pay"):
        raise InvalidRequest(f"ledger must be a Ledger, got {ledger!r}; open one with discreet.Ledger(url)")
    desk = Desk(source, NoLedger() if ledger is None else ledger, chosen(setting.get("seed")), relation)
    size = len(next(iter(arrays.values())))
    if relation == "replace" and not size:
        raise InvalidRequest(
            "under replace the number of rows is public, and there are none; use add_remove, or wait for rows"
        )
    price = Price(**{k: v for k, v in setting.items() if k in Keywords.__annotations__})  # type: ignore[arg-type]
    return desk, Table(schema, size if relation == "replace" else None, gaussian=price.is_gaussian), price


def ask_of_arrays(
    columns: Mapping[str, tuple[Any, Column]], setting: Setting, name: str, *args: Any, **kwargs: Any
) -> Result:
    """Ask a registered statistic of arrays, each with its declaration."""
    desk, table, price = _desk(columns, setting)
    return desk.run(ask(build(name, table, *args, **kwargs), price, desk.relation))


def numbers_of(values: Any, name: str = "x") -> Any:
    """One column of numbers, as doubles; refuses anything else."""
    array = np.asarray(values)
    if array.ndim != 1 or array.dtype.kind not in "fiub":
        raise InvalidRequest(f"{name} must be one column of numbers, got shape {array.shape} of {array.dtype}")
    return array.astype(np.float64, copy=False)


def declared(bounds: Bounds) -> Real:
    """The declaration of a column with these public bounds."""
    if np.shape(bounds) != (2,):
        raise InvalidRequest(f"bounds must be two public numbers (lo, hi), got {bounds!r}; they are never read off the data")
    return Real(*bounds)


def _x(x: Any, bounds: Bounds) -> dict[str, tuple[Any, Column]]:
    return {"x": (numbers_of(x), declared(bounds))}


def two_columns(x: Any, y: Any, bounds: Sequence[Bounds]) -> dict[str, tuple[Any, Column]]:
    """Two columns of numbers with the bounds of each."""
    if np.shape(bounds) != (2, 2):
        raise InvalidRequest(f"bounds must be ((lo, hi) of x, (lo, hi) of y), got {bounds!r}")
    return {"x": (numbers_of(x), declared(bounds[0])), "y": (numbers_of(y, "y"), declared(bounds[1]))}


def count(x: Any, *, of: str = "table", **setting: Unpack[Setting]) -> Result:
    """The number of rows of ``x``."""
    size = len(x)
    return ask_of_arrays({"x": (np.zeros(size), Real(0, 1))}, setting, "count", of=of)


def sum(x: Any, *, bounds: Bounds, of: str = "table", **setting: Unpack[Setting]) -> Result:  # noqa: A001
    """The sum of ``x``, clipped to ``bounds``."""
    return ask_of_arrays(_x(x, bounds), setting, "sum", "x", of=of)


def mean(x: Any, *, bounds: Bounds, of: str = "table", **setting: Unpack[Setting]) -> Result:
    """The mean of ``x``, clipped to ``bounds``."""
    return ask_of_arrays(_x(x, bounds), setting, "mean", "x", of=of)


def variance(x: Any, *, bounds: Bounds, of: str = "table", **setting: Unpack[Setting]) -> Result:
    """The variance (divisor n - 1) of ``x``, clipped to ``bounds``."""
    return ask_of_arrays(_x(x, bounds), setting, "variance", "x", of=of)


def std(x: Any, *, bounds: Bounds, of: str = "table", **setting: Unpack[Setting]) -> Result:
    """The standard deviation of ``x``, clipped to ``bounds``."""
    return ask_of_arrays(_x(x, bounds), setting, "std", "x", of=of)


def covariance(x: Any, y: Any, *, bounds: Sequence[Bounds], of: str = "table", **setting: Unpack[Setting]) -> Result:
    """The covariance of ``x`` and ``y``, each clipped to its bounds."""
    return ask_of_arrays(two_columns(x, y, bounds), setting, "covariance", "x", "y", of=of)


def covariance_matrix(X: Any, *, bounds: Sequence[Bounds], positive: bool = True, **setting: Unpack[Setting]) -> Result:
    """The covariances of all pairs of columns of ``X``, each clipped to its bounds: one release.

    ``positive`` puts eigenvalues that noise made negative to 0.
    """
    array = np.asarray(X, np.float64)
    if array.ndim != 2 or np.shape(bounds) != (array.shape[1], 2):
        raise InvalidRequest(f"X must have two axes and bounds a pair (lo, hi) for each column, got shape {array.shape}")
    names = [f"x{i}" for i in range(array.shape[1])]
    columns: dict[str, tuple[Any, Column]] = {n: (array[:, i], declared(bounds[i])) for i, n in enumerate(names)}
    return ask_of_arrays(columns, setting, "covariance_matrix", *names, positive=positive)


def correlation(x: Any, y: Any, *, bounds: Sequence[Bounds], of: str = "table", **setting: Unpack[Setting]) -> Result:
    """Pearson's correlation of ``x`` and ``y``, each clipped to its bounds."""
    return ask_of_arrays(two_columns(x, y, bounds), setting, "correlation", "x", "y", of=of)


def pooled_variance(
    groups: Sequence[Any], *, bounds: Bounds, approx_n_max: bool = False, labels: str = "public", **setting: Unpack[Setting]
) -> Result:
    """The variance within groups, given as one array each.

    Under replace, ``labels="public"`` says that who is in which group is no secret, ``approx_n_max`` that its sizes are;
    ``labels="private"`` protects the membership too.
    """
    data = [numbers_of(g) for g in _some(groups)]
    columns: dict[str, tuple[Any, Column]] = {"x": (np.concatenate(data), declared(bounds)), "group": _labels(data)}
    return _pooled(data, columns, setting, labels, approx_n_max, "pooled_variance", "x")


def pooled_covariance(
    groups: Sequence[Any],
    *,
    bounds: Sequence[Bounds],
    approx_n_max: bool = False,
    labels: str = "public",
    **setting: Unpack[Setting],
) -> Result:
    """The covariance within groups, given as one array of two columns each; keywords as for ``pooled_variance``."""
    data = [np.asarray(g, np.float64) for g in _some(groups)]
    if any(g.ndim != 2 or g.shape[1] != 2 for g in data):
        raise InvalidRequest("groups must be arrays of two columns, x and y")
    both = np.concatenate(data)
    columns = two_columns(both[:, 0], both[:, 1], bounds) | {"group": _labels(data)}
    return _pooled(data, columns, setting, labels, approx_n_max, "pooled_covariance", "x", "y")


def _some(groups: Sequence[Any]) -> Sequence[Any]:
    if not len(groups):
        raise InvalidRequest("give at least one group, got none; each group is an array")
    return groups


def _labels(groups: Sequence[Any]) -> tuple[Any, Column]:
    names = [str(i) for i in range(len(groups))]
    return np.repeat(np.arange(len(groups)), [len(g) for g in groups]), Categories(tuple(names), missing="0")


def _pooled(
    data: Sequence[Any], columns: Any, setting: Setting, labels: str, approx_n_max: bool, name: str, *args: str
) -> Result:
    """Ask for a pooled statistic. Whoever calls this holds the groups, and may say that they are no secret."""
    if labels not in ("public", "private"):
        raise InvalidRequest(f"labels must be 'public' or 'private', got {labels!r}")
    desk, table, price = _desk(columns, setting)
    public = labels == "public"
    largest = max(len(g) for g in data) if public and not approx_n_max else None
    facts = replace(table, public_labels=public, largest_group=largest)
    return desk.run(ask(builder(name)(facts, *args, by="group"), price, desk.relation))


def histogram(
    x: Any,
    *,
    bounds: Bounds | None = None,
    bins: int | Sequence[float] = 10,
    normalize: bool = False,
    allow_negative: bool = False,
    **setting: Unpack[Setting],
) -> Result:
    """Counts of ``x`` in public bins: a number of them over ``bounds``, or the edges, which are bounds by themselves."""
    if bounds is None:
        edges = [] if isinstance(bins, int) else list(bins)
        if len(edges) < 2:
            raise InvalidRequest(
                f"a number of bins needs public bounds=(lo, hi), got none with bins={bins!r}; or give edges"
            )
        bounds = (edges[0], edges[-1])
    kwargs = {"bins": bins, "normalize": normalize, "allow_negative": allow_negative}
    return ask_of_arrays(_x(x, bounds), setting, "histogram", "x", **kwargs)


def crosstab(
    *columns: Any, categories: Sequence[Sequence[Any]], allow_negative: bool = False, **setting: Unpack[Setting]
) -> Result:
    """Counts of every combination of the public ``categories``, one list for each column; other values are dropped.

    Columns of a data frame keep their names.
    """
    if not columns or len(columns) != len(categories):
        raise InvalidRequest(f"give one list of categories for each column, got {len(categories)} for {len(columns)}")
    own = [getattr(c, "name", None) for c in columns]
    kept = all(isinstance(name, str) and name for name in own) and len(set(own)) == len(own)
    names = [str(name) for name in own] if kept else [f"column{i}" for i in range(len(columns))]
    named = {n: (np.asarray(c), Categories(tuple(k))) for n, c, k in zip(names, columns, categories, strict=True)}
    return ask_of_arrays(named, setting, "crosstab", *named, allow_negative=allow_negative)


def quantile(
    x: Any,
    q: Number | Sequence[Number],
    *,
    bounds: Bounds,
    interval: bool = False,
    method: str | None = None,
    **setting: Unpack[Setting],
) -> Result | list[Result]:
    """The q-quantile of ``x``; a list of q shares one pass and divides the cost equally.

    ``interval=True`` reads it off a distribution, ``method="pair"`` (n public) buys two more quantiles: both have an
    interval in values.
    """
    if isinstance(q, Sequence) and not isinstance(q, str):
        desk, table, price = _desk(_x(x, bounds), setting)
        share = price.share(Fraction(1, len(q)))
        questions = [builder("quantile")(table, "x", q=each, interval=interval, method=method) for each in q]
        return desk.run(ask_each(questions, share, desk.relation))
    return ask_of_arrays(_x(x, bounds), setting, "quantile", "x", q=q, interval=interval, method=method)


def median(
    x: Any, *, bounds: Bounds, interval: bool = False, method: str | None = None, **setting: Unpack[Setting]
) -> Result:
    """The median of ``x``; ``interval`` and ``method`` as for ``quantile``."""
    return ask_of_arrays(_x(x, bounds), setting, "median", "x", interval=interval, method=method)


def distribution(x: Any, *, bounds: Bounds, bins: int | Sequence[float] = 256, **setting: Unpack[Setting]) -> Result:
    """The whole distribution of ``x`` in public bins, from one release: ``.curve()``, ``.band()`` and ``.quantile(q)``."""
    return ask_of_arrays(_x(x, bounds), setting, "distribution", "x", bins=bins)


def share(x: Any, *, categories: Sequence[Any], **setting: Unpack[Setting]) -> Result:
    """The share of every one of the public ``categories`` in ``x``; other values are dropped."""
    return ask_of_arrays({"x": (np.asarray(x), Categories(tuple(categories)))}, setting, "share", "x")


def bounds(
    x: Any, *, outer: Bounds, unit: Number | None = None, bins: int | None = None, **setting: Unpack[Setting]
) -> Result:
    """Bounds for ``x``, found within the wide public range ``outer``: ``lo, hi = bounds(...).value``.

    People are counted in bins by powers of two of either sign, values below ``unit`` with zero; or in ``bins`` even ones.
    Where no bin has enough people the bounds are ``outer`` and ``note`` says so.
    """
    return ask_of_arrays(_x(x, outer), setting, "bounds", "x", unit=unit, bins=bins)


def categories(x: Any, *, minimum: int | None = None, counts: bool = True, **setting: Unpack[Setting]) -> Result:
    """The labels in ``x`` that enough people have, with how many; needs ``epsilon`` and ``delta``.

    ``minimum`` hides what is counted, with its noise, less often; ``counts=False`` gives the names alone, more of them.
    """
    declared = Categories("private")  # type: ignore[arg-type]
    return ask_of_arrays({"x": (x, declared)}, setting, "categories", "x", minimum=minimum, counts=counts)


def together(
    x: Any, statistics: Sequence[str], *, bounds: Bounds, shares: Sequence[Number] | None = None, **setting: Unpack[Setting]
) -> list[Result]:
    """Several statistics of ``x`` by name (``["mean", "variance"]``), with one joint calibration and one pass."""
    desk, table, price = _desk(_x(x, bounds), setting)
    questions = [builder(name)(table, "x") for name in statistics]
    return desk.run(ask_together(questions, price, desk.relation, shares))


_KEYWORDS = """

    Spend ``epsilon`` alone (Laplace noise), ``epsilon`` and ``delta``, or ``rho`` (Gaussian noise, calibrated as
    ``calibration`` says: "analytic", "classical" or "probabilistic"). ``neighbors`` is "add_remove" (the default), "replace"
    or "both". ``ledger`` is a Ledger that pays; ``seed`` is for tests only and makes what it touches not private.
"""
for _function in (count, sum, mean, variance, std, covariance, correlation, pooled_variance, pooled_covariance, histogram,
                  crosstab, quantile, median, distribution, share, bounds, categories, together):  # fmt: skip
    _function.__doc__ = (_function.__doc__ or "").rstrip() + _KEYWORDS
