"""Functions for ``analyse``: what they find in one table, and the variance that its rows alone would give it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.errors import InvalidRequest

Columns = Mapping[str, npt.NDArray[Any]]
Answer = tuple[Any, Any]
Analysis = Callable[[Columns], Answer]
Floats = npt.NDArray[np.float64]


def mean(column: str) -> Analysis:
    """The mean of a column of numbers; empty cells are left out."""

    def found(table: Columns) -> Answer:
        values = _numbers(table[column])
        there = values[~np.isnan(values)]
        return there.mean(), there.var() / max(1, there.size)

    return found


def share(column: str, label: Any) -> Analysis:
    """The share of rows that have a label."""

    def found(table: Columns) -> Answer:
        _check_label(table, column, label)
        p = float(np.mean(np.asarray(table[column] == label)))
        return p, p * (1 - p) / max(1, len(table[column]))

    return found


def difference(column: str, *, by: str, between: tuple[Any, Any]) -> Analysis:
    """The mean of a column where ``by`` has the first label, less that where it has the second."""

    def found(table: Columns) -> Answer:
        for label in between:
            _check_label(table, by, label)
        values, groups = _numbers(table[column]), table[by]
        parts = [values[(groups == label) & ~np.isnan(values)] for label in between]
        if min(part.size for part in parts) < 2:
            return 0.0, float(np.nanvar(values)) + 1.0  # a table without one of the groups says nothing
        return parts[0].mean() - parts[1].mean(), sum(part.var() / part.size for part in parts)

    return found


def regression(target: str, features: Sequence[str], *, yes: Any = None) -> Analysis:
    """Coefficients, the constant last: of least squares, or with ``yes`` of logistic regression on whether it is that label.

    A feature of numbers counts as it is; one of labels as one column for each but the first. Rows with an empty
    cell are left out. Variances are the sandwich's, which do not trust the model.
    """

    def found(table: Columns) -> Answer:
        x, names = _design(table, features)
        y = (table[target] == yes).astype(float) if yes is not None else _numbers(table[target])
        whole = ~(np.isnan(x).any(1) | np.isnan(y))
        x, y = x[whole], y[whole]
        theta = _logistic(x, y) if yes is not None else np.linalg.lstsq(x, y, rcond=None)[0]
        expected = _chance(x @ theta) if yes is not None else x @ theta
        curvature = expected * (1 - expected) if yes is not None else np.ones(len(y))
        bread = np.linalg.pinv((x * curvature[:, None]).T @ x)
        meat = (x * ((y - expected) ** 2)[:, None]).T @ x
        spread = np.diag(bread @ meat @ bread)
        return dict(zip(names, theta.tolist(), strict=True)), dict(zip(names, spread.tolist(), strict=True))

    return found


def _design(table: Columns, features: Sequence[str]) -> tuple[Floats, list[str]]:
    columns, names = [], []
    for feature in features:
        values = table[feature]
        if values.dtype.kind in "biuf":
            columns.append(values.astype(np.float64))
            names.append(feature)
            continue
        known = getattr(table, "labels", {}).get(feature)  # those declared, so that every table has the same columns
        labels = list(known) if known else sorted({v for v in values.tolist() if v is not None}, key=str)
        gone = np.array([value is None for value in values.tolist()], bool)
        for label in labels[1:]:
            columns.append(np.where(gone, np.nan, (values == label).astype(float)))
            names.append(f"{feature} = {label}")
    if not columns:
        raise InvalidRequest(f"a regression needs features that vary, got {list(features)}")
    size = len(columns[0])
    return np.column_stack([*columns, np.ones(size)]), [*names, "constant"]


def _logistic(x: Floats, y: Floats) -> Floats:
    """Newton's method with a little ridge, so that a table with separated classes has an answer too."""
    theta = np.zeros(x.shape[1])
    scale = np.maximum(np.sqrt((x**2).mean(0)), 1e-12)
    z = x / scale
    for _ in range(50):
        p = _chance(z @ theta)
        slope = z.T @ (y - p) - 1e-6 * theta
        step = np.linalg.solve((z * (p * (1 - p))[:, None]).T @ z + 1e-6 * np.eye(len(theta)), slope)
        theta = theta + np.clip(step, -5, 5)
        if np.abs(step).max() < 1e-9:
            break
    return np.asarray(theta / scale)


def _chance(score: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-np.clip(score, -30, 30))))


def _check_label(table: Columns, column: str, label: Any) -> None:
    """Refuse a label that the column never has: its share would be 0 without any doubt."""
    known = getattr(table, "labels", {}).get(column)
    if known is not None and label not in known:
        raise InvalidRequest(f"column {column!r} has no label {label!r}; its labels are {', '.join(map(repr, known))}")


def _numbers(values: npt.NDArray[Any]) -> Floats:
    if values.dtype.kind not in "biuf":
        raise InvalidRequest("this analysis needs a column of numbers; use share, or another column")
    return values.astype(np.float64)
