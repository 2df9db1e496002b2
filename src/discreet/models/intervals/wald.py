"""Tests of coefficients of a fitted model, from what the fit released: they cost nothing more."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.errors import InvalidRequest
from discreet.models.design import Floats
from discreet.models.intervals.coefficient_intervals import COVERS
from discreet.models.intervals.error_law import DRAWS, ErrorLaw
from discreet.models.queries.regression_sums import RegressionMoments

Combination = str | Mapping[str, float]
_LEVEL = 0.05
_AT_POWER = 2.8015852  # deviations that a two-sided test at .05 needs to reject with probability .8
_QUIET = 3.0  # the least eigenvalue of the sums must be this many deviations of their noise


@dataclass(frozen=True)
class CoefficientTest:
    """A test of coefficients: the statistic, its p-value, how it was found and of which hypothesis.

    ``seen`` is how far from the hypothesis one combination must be for such a test at .05 to reject with probability .8;
    None of several together, and where the noise leaves nothing to say.
    """

    statistic: float
    pvalue: float
    method: str
    hypothesis: str
    seen: float | None = None

    def __str__(self) -> str:
        told = f"{self.hypothesis}: p = {self.pvalue:.4g}, statistic {self.statistic:.4g} ({self.method})"
        if self.pvalue <= _LEVEL:
            return told
        told += ". Not rejected at .05, which is no evidence that it is true"
        return told if self.seen is None else f"{told}: {self.seen:.3g} away from it is found with probability .8"


def restrictions(given: Combination | Sequence[Combination], names: Sequence[str]) -> tuple[Floats, list[str]]:
    """One line of coefficients for each combination, and the combinations in words."""
    many = [given] if isinstance(given, str | Mapping) else list(given)
    if not many:
        raise InvalidRequest("name at least one coefficient to test, got none")
    lines, words = np.zeros((len(many), len(names))), []
    for line, one in zip(lines, many, strict=True):
        parts = {one: 1.0} if isinstance(one, str) else {str(k): float(v) for k, v in one.items()}
        for name, value in parts.items():
            if name not in names:
                raise InvalidRequest(f"no coefficient is called {name!r}; there are {', '.join(names)}")
            line[list(names).index(name)] = value
        words.append(" + ".join(f"{v:g} {k}" if v != 1 else k for k, v in parts.items()))
    if not np.isfinite(lines).all() or np.linalg.matrix_rank(lines) < len(lines):
        raise InvalidRequest("combinations to test must be finite, and none of them a combination of the others")
    return lines, words


@dataclass(frozen=True)
class Sums:
    """Noisy sums of squares and products of features, the constant and the target, in this order, and their noise.

    ``scale`` is the deviation of an entry on the diagonal (``off_diagonal`` times that above it), or with ``dimension`` the
    scale of spherical Laplace noise in so many numbers. ``known_rows``: the constant's own sum has no noise. Products
    with the target have ``target_factor`` times less of it.
    """

    raw: Floats
    rows: float
    scale: float
    dimension: int | None = None
    known_rows: bool = False
    off_diagonal: float = 1.0
    target_factor: float = 1.0

    @staticmethod
    def of(moments: RegressionMoments) -> Sums:
        """Those of a regression."""
        dimension = moments.size if moments.spherical else None
        return Sums(
            moments.raw,
            moments.rows,
            moments.scale,
            dimension,
            moments.known_rows,
            target_factor=moments.target_factor,
        )


def restricted(sums: Sums, lines: Floats, values: Floats, clusters: int = 1) -> tuple[float, float]:
    """The statistic and the p-value of R beta = r from noisy sums, without any ridge; R are the ``lines``, r the ``values``.

    With X = (sum of x x')~ and W = X**-1, L = R W (sum of x y)~ - r. With beta_0 fitted under the hypothesis and s =
    (-beta_0, 1), L is normal with covariance s^2 R W R' (s^2 the variance of residuals s'Ts / (n - p), times ``clusters``,
    the most rows a person has) plus that of R W E s, E the symmetric noise: its entry above the diagonal at k, l has the
    weight M_k s_l + M_l s_k, M = R W. Several lines: the squared length of L in its covariance, chi-squared (spherical
    noise: its law is drawn). Where the least eigenvalue of X is below three deviations of the noise p is 1.

    Proof: at the hypothesis L = R W (sum of x e + E s), up to terms of smaller order, for residuals e of one variance.
    """
    scored = error_law_of(sums, lines, values, clusters)
    if scored is None:
        return 0.0, 1.0
    score, error_law = scored
    return error_law.judge(score)


def error_law_of(sums: Sums, lines: Floats, values: Floats, clusters: int = 1) -> tuple[Floats, ErrorLaw] | None:
    """L and its law under the hypothesis; None where noise is larger than what it is added to."""
    covariances = parts_of(sums, lines, values, clusters)
    if covariances is None:
        return None
    score, sampled, noise = covariances
    if sums.dimension is None:
        return score, ErrorLaw((sampled + noise)[None], np.zeros((1, *noise.shape)), 1)
    return score, ErrorLaw(sampled[None], noise[None], sums.dimension)


def _seen(error_law: ErrorLaw) -> float | None:
    """Of one combination: the distance from the hypothesis that its test finds with probability .8."""
    whole = error_law.covariance
    return _AT_POWER * math.sqrt(max(float(whole[0, 0]), 0.0)) if len(whole) == 1 else None


def parts_of(sums: Sums, lines: Floats, values: Floats, clusters: int = 1) -> tuple[Floats, Floats, Floats] | None:
    """L and its covariances from sampling and from noise (spherical: that of noise of scale 1); None where noise rules."""
    side, kept, goal = len(sums.raw), sums.raw[:-1, :-1], sums.raw[:-1, -1]
    deviation = sums.scale * (1.0 if sums.dimension is None else np.sqrt(sums.dimension + 1))
    if np.linalg.eigvalsh(kept)[0] < max(_QUIET * deviation, 1e-9):
        return None
    inverse = np.linalg.inv(kept)
    through = lines @ inverse
    score, inner = through @ goal - values, through @ lines.T
    null = inverse @ goal - inverse @ lines.T @ np.linalg.solve(inner, score)
    s = np.append(-null, 1.0)
    variance = max(0.0, float(s @ sums.raw @ s)) / max(1.0, sums.rows - (side - 1)) * clusters
    rows, columns = np.triu_indices(side)
    spread = np.column_stack([through, np.zeros(len(lines))])
    once = spread[:, rows] * s[columns]
    entries = np.where(rows == columns, once, sums.off_diagonal * (once + spread[:, columns] * s[rows]))
    entries[:, (columns == side - 1) & (rows < columns)] /= sums.target_factor
    if sums.known_rows:
        entries[:, (rows == side - 2) & (columns == side - 2)] = 0.0
    return score, variance * inner, sums.scale**2 * entries @ entries.T


def linear_test(model: Any, coefficients: Combination | Sequence[Combination], value: Any) -> CoefficientTest:
    """Wald's test (one combination) or the F test (several) of a ``LinearRegression`` made from released sums."""
    fitted = model.fitted_
    if fitted.moments is None:
        raise InvalidRequest(f"tests are made from released sums, which method={fitted.method!r} does not have")
    design = fitted.design
    if design.weight is not None:
        raise InvalidRequest("tests are for rows without weights; fit without sample_weight")
    if not design.intercept:
        raise InvalidRequest("tests are of models with an intercept; fit with fit_intercept=True")
    lines, words = restrictions(coefficients, (*design.names, "intercept"))
    values = np.broadcast_to(np.asarray(value, np.float64), (len(lines),)) - lines[:, -1] * design.target.middle
    sums = Sums.of(fitted.moments)
    scored, judged, seen = error_law_of(sums, lines @ fitted.entry_lines, values, design.rows), (0.0, 1.0), None
    if scored is not None:
        score, error_law = scored
        judged, seen = error_law.judge(score), _seen(error_law)
    how = "Wald" if len(lines) == 1 else "F, as chi-squared"
    law = f"drawn {DRAWS} times" if sums.dimension is not None and len(lines) > 1 else "noise of the sums included"
    method = f"asymptotic: {how}, residuals of one variance, no ridge, {law}"
    return CoefficientTest(*judged, method, _hypothesis(words, value), seen)


def classifier_test(
    model: Any, coefficients: Combination | Sequence[Combination], value: Any, offset: float = 0.0
) -> CoefficientTest:
    """Wald's test of combinations of coefficients of a model fitted with ``intervals=True``, several together.

    ``offset`` is what the intercept has beyond that of the design.
    """
    fitted = model.fitted_
    if fitted.error_law is None:
        raise InvalidRequest("tests are paid for when a model is fitted; make it with intervals=True and fit again")
    design = fitted.design
    names = (*design.names, *(["intercept"] if design.intercept else []))
    lines, words = restrictions(coefficients, names)
    beyond = offset * lines[:, -1] if design.intercept else 0.0
    score = lines @ (design.lines @ fitted.theta) + beyond - np.broadcast_to(np.asarray(value, np.float64), (len(lines),))
    error_law = fitted.error_law.along(lines @ design.lines)
    statistic, p = error_law.judge(score)
    how = "Wald" if len(lines) == 1 else f"Wald, of {len(lines)} together"
    method = f"asymptotic: {how}, noise included; about {COVERS}, ridge {float(fitted.ridge):g}"
    return CoefficientTest(statistic, p, method, _hypothesis(words, value), _seen(error_law))


def _hypothesis(words: Sequence[str], value: Any) -> str:
    return f"{', '.join(words)} = {', '.join(f'{v:g}' for v in np.ravel(np.asarray(value, np.float64)))}"
