"""Several tests: what reading many p-values costs in false alarms, and the correction for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.errors import InvalidRequest


@dataclass(frozen=True)
class Holm:
    """p-values beside Holm's corrected ones, in the order given; ``releases`` counts the tests read off each release."""

    pvalues: tuple[float, ...]
    adjusted: tuple[float, ...]
    releases: tuple[int, ...]

    def rejected(self, alpha: float = 0.05) -> tuple[bool, ...]:
        """Which hypotheses are rejected when at most ``alpha`` of all tables may have a false alarm among them."""
        return tuple(p <= alpha for p in self.adjusted)

    def __iter__(self) -> Iterator[float]:
        return iter(self.adjusted)

    def __len__(self) -> int:
        return len(self.adjusted)

    def __str__(self) -> str:
        tests, releases = len(self), len(self.releases)
        many = f"{tests} test{'s' * (tests > 1)}, read off {releases} release{'s' * (releases > 1)}"
        pairs = "; ".join(f"p {p:.4g}, corrected {a:.4g}" for p, a in zip(self.pvalues, self.adjusted, strict=True))
        return f"{many} (Holm): {pairs}"


def holm(results: Iterable[Any], tests: int | None = None) -> Holm:
    """Holm's correction of the p-values of results (or of plain p-values).

    The smallest of m is multiplied by m, the next by m - 1, and so on, never less than one before it. ``tests`` is how
    many were made in all, where that is more than are given: also those that were read and not reported.

    Proof: let the first true hypothesis in the order of p be the j-th; at most m - j + 1 hypotheses are true, and a false
    alarm needs the smallest of their p-values to be at most alpha / (m - j + 1), which by the union bound has probability at
    most alpha, however the tests depend on one another (Holm 1979): here they share the noise of a release.
    """
    if isinstance(results, str) or not isinstance(results, Iterable):
        raise InvalidRequest(f"holm takes a list of tests or of p-values, got {results!r}")
    results = list(results)
    if not results:
        raise InvalidRequest("give at least one test, got none")
    told = [getattr(r, "pvalue", r) for r in results]
    if not all(isinstance(p, float | int | np.number) for p in told):
        raise InvalidRequest(f"holm takes a list of tests or of p-values, got {told!r}")
    found = np.array(told, np.float64)
    if not ((found >= 0) & (found <= 1)).all():
        raise InvalidRequest(f"p-values lie between 0 and 1, got {found.tolist()}")
    many = len(found) if tests is None else tests
    if isinstance(many, bool) or not isinstance(many, int | np.integer) or many < len(found):
        raise InvalidRequest(f"tests counts all that were made, at least the {len(found)} given, got {tests}")
    order = np.argsort(found, kind="stable")
    raised = np.minimum(np.maximum.accumulate(found[order] * (many - np.arange(len(found)))), 1.0)
    adjusted = np.empty(len(found))
    adjusted[order] = raised
    shared = Counter(_release(r) for r in results)
    return Holm(tuple(found.tolist()), tuple(adjusted.tolist()), tuple(shared.values()))


def _release(result: Any) -> int:
    """What tells one release from another; a plain p-value is its own."""
    releases = getattr(result, "releases", None)
    return id(result) if not releases else id(releases[0])
