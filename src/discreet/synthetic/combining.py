"""An estimate from several synthetic tables, with intervals that hold: the combining rules.

Of m tables, each with an estimate q_i and the variance v_i that its rows alone would give it: the estimate is the mean of
the q_i. With B their variance and v the mean of the v_i, its variance is T = (1 + 1/m) B - v, because every q_i varies by
the noise, by who was in the table, and by the N rows that were drawn once more, which v takes off again. Student's t has
(m - 1)(1 - v / ((1 + 1/m) B))**2 degrees of freedom (Raghunathan, Reiter and Rubin 2003; Räisä, Jälkö, Kaski and Honkela
2023 for tables made from noisy counts). Where T is not positive, (N/n) v stands in for it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.core import numbers
from discreet.errors import InvalidRequest

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Combined:
    """What several synthetic tables say of some quantities: ``value``, ``error``, ``interval``, ``pvalue``.

    Statements are about the population that the real table came from. ``note`` says where they rest on more than what was
    measured. Without variances of the tables' own the error is larger than it has to be, never smaller.
    """

    estimates: Floats
    variances: Floats | None
    ratio: float
    names: tuple[str, ...]
    shape: tuple[int, ...]
    note: str | None = None

    @property
    def value(self) -> Any:
        """The mean of the tables' estimates."""
        return self._shown(self.estimates.mean(0))

    @property
    def error(self) -> Any:
        """The standard error of the value."""
        return self._shown(np.sqrt(self._spread()[0]))

    @property
    def degrees(self) -> Any:
        """The degrees of freedom of Student's t."""
        return self._shown(self._spread()[1])

    def interval(self, level: float = 0.95) -> tuple[Any, Any]:
        """An interval for each quantity: it covers that of the population in a share ``level`` of all tables and noises."""
        from scipy.special import stdtrit

        share = float(numbers.probability(level, "level"))
        spread, degrees = self._spread()
        reach = stdtrit(degrees, (1 + share) / 2) * np.sqrt(spread)
        middle = self.estimates.mean(0)
        return self._shown(middle - reach), self._shown(middle + reach)

    def pvalue(self, null: float = 0.0) -> Any:
        """The p-value, two-sided, of the hypothesis that the quantity is ``null``."""
        from scipy.special import stdtr

        spread, degrees = self._spread()
        apart = np.abs(self.estimates.mean(0) - null)
        with np.errstate(divide="ignore", invalid="ignore"):
            score = np.where(apart == 0, 0.0, apart / np.sqrt(spread))
        return self._shown(2 * stdtr(degrees, -score))

    def rows(self, level: float = 0.95) -> dict[str, list[Any]]:
        """A column for names, values, errors, ends of intervals and p-values."""
        low, high = self.interval(level)
        columns = {"value": self.value, "error": self.error, "low": low, "high": high, "pvalue": self.pvalue()}
        return {"name": list(self.names)} | {name: np.ravel(each).tolist() for name, each in columns.items()}

    def __float__(self) -> float:
        if self.estimates.shape[1] != 1:
            raise InvalidRequest(f"there are {self.estimates.shape[1]} quantities, not one; use .value")
        return float(self.estimates.mean())

    def __str__(self) -> str:
        listed = self.rows()
        lines = [
            f"{name + ': ' if name else ''}{value:.6g} ({low:.6g} to {high:.6g}), p = {p:.3g}"
            for name, value, low, high, p in zip(
                listed["name"], listed["value"], listed["low"], listed["high"], listed["pvalue"], strict=True
            )
        ]
        lines.append(
            f"95 % intervals for the population, from {len(self.estimates)} synthetic tables; p is of the hypothesis 0"
        )
        return "\n".join([*lines, *([f"Note: {self.note}"] if self.note else [])])

    __repr__ = __str__

    def _spread(self) -> tuple[Floats, Floats]:
        """The variance of the value, and the degrees of freedom."""
        count = len(self.estimates)
        between = (1 + 1 / count) * self.estimates.var(0, ddof=1)
        if self.variances is None:
            return between, np.full(between.shape, count - 1.0)
        within = self.variances.mean(0)
        made = between - within
        with np.errstate(divide="ignore", invalid="ignore"):
            degrees = (count - 1) * (1 - within / between) ** 2
        rest = self.ratio * within
        positive = made > 0
        return np.where(positive, made, rest), np.where(positive, np.maximum(degrees, 1.0), count - 1.0)

    def _shown(self, values: Floats) -> Any:
        made = np.asarray(values, np.float64).reshape(self.shape)
        return float(made) if made.ndim == 0 else made


def combined(answers: Sequence[Any], ratio: float, note: str | None) -> Combined:
    """Answers of one function about each of several tables: estimates, or estimates with their variances."""
    if len(answers) < 2:
        raise InvalidRequest(f"estimates of at least two tables are combined, got {len(answers)}; make more with tables=")
    pairs = [a if isinstance(a, tuple) else (a, None) for a in answers]
    if any(len(pair) != 2 for pair in pairs):
        raise InvalidRequest("a function returns an estimate, or an estimate and its variance, each a number or an array")
    names: tuple[str, ...] = ()
    first = pairs[0][0]
    if isinstance(first, dict):
        names = tuple(map(str, first))
        pairs = [([q[key] for key in first], None if v is None else [v[key] for key in first]) for q, v in pairs]
    try:
        estimates = np.array([np.asarray(q, np.float64) for q, _ in pairs])
        known = all(v is not None for _, v in pairs)
        variances = np.array([np.asarray(v, np.float64) for _, v in pairs]) if known else None
    except (TypeError, ValueError) as problem:
        raise InvalidRequest(f"a function returns numbers of one shape for every table ({problem})") from None
    if not np.isfinite(estimates).all() or (variances is not None and not np.isfinite(variances).all()):
        raise InvalidRequest("a function must return finite numbers for every synthetic table; make it answer for any table")
    if variances is not None and (variances.shape != estimates.shape or (variances < 0).any()):
        raise InvalidRequest("variances must be as many as estimates and not negative")
    shape = estimates.shape[1:]
    size = math.prod(shape)
    flat = estimates.reshape(len(pairs), size)
    spread = None if variances is None else variances.reshape(len(pairs), size)
    return Combined(flat, spread, ratio, names or tuple(str(i) if size > 1 else "" for i in range(size)), shape, note)
