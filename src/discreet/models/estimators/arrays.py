"""What arrays and parameters have to be that are handed to a model: refused as NumPy and scikit-learn do, with a remedy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from discreet.core import numbers
from discreet.errors import InvalidRequest

RIDGE_ONLY = ("ridge", "l2")


def rows_of(model: Any, X: Any, *, reset: bool = False) -> Any:
    """A matrix of finite numbers, checked as scikit-learn does; ``reset`` where the model is fitted to it."""
    from sklearn.utils.validation import validate_data

    if isinstance(X, Mapping | str | bytes | Path) and not hasattr(X, "shape"):  # a sparse matrix may be a dict
        kind = "a dict" if isinstance(X, Mapping) else repr(X)
        raise InvalidRequest(
            f"X must be an array or a data frame with a column for each feature, got {kind}; make one of it first "
            "(pandas.DataFrame, pandas.read_csv), or fit to named columns with Session.fit"
        )
    rows = validate_data(model, X, dtype=np.float64, reset=reset, ensure_min_samples=1, ensure_all_finite=False)
    # Their sum is no finite number where one of them is none, and nearly always one where all are.
    with np.errstate(all="ignore"):
        total = np.einsum("ij->", rows)
    if not np.isfinite(total) and not np.isfinite(rows).all():
        row, column = np.argwhere(~np.isfinite(rows))[0].tolist()
        found = "NaN" if np.isnan(rows[row, column]) else "infinity (inf)"
        raise InvalidRequest(
            f"X must hold finite numbers, got {found} in row {row}, column {column}; leave out or fill such rows by a "
            "public rule, or use a Session, where the schema says what a missing value becomes"
        )
    return rows


def read_bounds(bounds: Any, features: int) -> list[tuple[float, float]]:
    """One public pair (lo, hi) for each feature, from one pair for all or from a list of pairs."""
    wanted = f"bounds must be one pair (lo, hi), or a list with a pair for each of {features} features"
    try:
        array = np.asarray(bounds, np.float64)
    except (TypeError, ValueError):
        raise InvalidRequest(f"{wanted}, got {bounds!r}; as in bounds=[(0, 110), (0, 1)]") from None
    alike = array.shape == (2,)
    array = array.reshape(1, 2) if alike else array
    if array.shape != (1 if alike else features, 2):
        got = f"{bounds!r}" if array.ndim == 0 else f"shape {array.shape}"
        if array.shape == (2, features):
            got = f"a list of {features} lows and one of highs; write list(zip(lows, highs))"
        elif array.ndim == 2 and array.shape[1] == 2:
            got = f"{len(array)} pairs"
        raise InvalidRequest(f"{wanted}, got {got}")
    wrong = ~((array[:, 0] < array[:, 1]) & np.isfinite(array).all(axis=1))
    if wrong.any():
        lo, hi = array[wrong][0].tolist()
        raise InvalidRequest(
            f"bounds must have finite lo < hi, got ({lo:g}, {hi:g}); bounds are pairs for each feature. Leave out a "
            "column that never varies"
        )
    pairs = [(lo, hi) for lo, hi in array.tolist()]
    return pairs * features if alike else pairs


def checked_weights(given: Any, rows: int, most: float) -> Any:
    """One weight in [0, most] for each row, or an error that says the bound."""
    from sklearn.utils.validation import check_array

    given = np.full(rows, given) if np.isscalar(given) else given
    weights = check_array(given, ensure_2d=False, dtype=np.float64, input_name="weights")
    if weights.shape != (rows,):
        raise InvalidRequest(f"weights must be one number for each of {rows} rows, got shape {weights.shape}")
    if weights.min() < 0 or weights.max() > most:
        raise InvalidRequest(
            f"weights must be within [0, {most:g}], got {weights.min():g} to {weights.max():g}; give a public "
            f"weight_bound= of at least the largest, or divide them by a public number"
        )
    return weights


def positive_ridge(ridge: Any) -> Fraction:
    """A ridge above 0."""
    exact = numbers.rational(ridge, "ridge")
    if exact <= 0:
        raise InvalidRequest(
            f"ridge must be positive, got {ridge}; give one such as 1 (of the sum of losses): without it one person could "
            "move the minimiser by any amount"
        )
    return exact


def check_penalty(penalty: Any) -> None:
    """Only a ridge is private here; anything else is refused with the reason."""
    if penalty not in RIDGE_ONLY:
        raise InvalidRequest(
            f"penalty must be 'ridge', got {penalty!r}; the guarantees need an objective that is strongly convex and has a "
            "second derivative, which an absolute value has not: one person could move the minimiser by any amount"
        )


def declared_classes(classes: Sequence[Any] | None, name: str) -> tuple[Any, Any]:
    """Two public class labels."""
    if classes is None:
        raise InvalidRequest(f"{name} needs public classes=[no, yes]; they are never read off the data")
    pair = tuple(np.asarray(classes).tolist())
    if len(pair) != 2 or pair[0] == pair[1]:
        more = ""
        if len(pair) > 2:
            more = "; for more of them use SoftmaxRegression, LinearSVC, SGDClassifier, GaussianNB or RandomForestClassifier"
        raise InvalidRequest(f"classes must be two different labels, got {list(pair)}{more}")
    return pair


def class_codes(y: Any, pair: tuple[Any, Any]) -> Any:
    """0 or 1 for each label; refuses others than the two."""
    from sklearn.utils.multiclass import type_of_target

    def words(goal: Any) -> str:
        return " Only binary classification is supported." if type_of_target(goal) == "multiclass" else ""

    return label_codes(y, np.array(pair), words)


def label_codes(y: Any, labels: Any, more: Callable[[Any], str] = lambda goal: "") -> Any:
    """The number of each label among the declared ones; refuses others, with ``more`` words about them."""
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import column_or_1d

    goal, declared = column_or_1d(y, warn=True), labels.tolist()
    if goal.dtype.kind == "f" and not np.isfinite(goal).all():
        found = "NaN" if np.isnan(goal).any() else "infinity"
        raise InvalidRequest(
            f"Input y contains {found}: it must hold the declared classes {declared} only; leave out rows without a label"
        )
    check_classification_targets(goal)
    strange = ~np.isin(goal, labels)
    if strange.any():
        raise InvalidRequest(
            f"y must hold the declared classes {declared} only, got {goal[strange][:1].tolist()[0]!r}; declare "
            f"classes=[...] as they are written in y, or convert y.{more(goal)}"
        )
    order = np.argsort(labels)
    return order[np.searchsorted(labels, goal, sorter=order)].astype(np.int64)
