"""What is known of a fitted model's coefficients together: intervals, covariance, contrasts, tests and a summary.

All of it is read off what the fit released, and costs nothing.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.models.design import Floats
from discreet.models.intervals.coefficient_intervals import CoefficientIntervals
from discreet.models.intervals.coefficient_table import CoefficientTable, summarise
from discreet.models.intervals.error_law import ErrorLaw
from discreet.models.intervals.wald import CoefficientTest, restrictions

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Known:
    """Coefficients on the scale of the table, the intercept last, and the law of what they are wrong by."""

    names: tuple[str, ...]
    estimates: Floats
    error_law: ErrorLaw
    ridge: float

    def intervals(self, level: float) -> CoefficientIntervals:
        half = self.error_law.half_lengths(level)
        return CoefficientIntervals(self.names, self.estimates - half, self.estimates + half, level, self.ridge)


class Coefficients:
    """A model whose coefficients have a known law."""

    @abstractmethod
    def _known(self) -> Known:
        """What the fit released about its coefficients; refuses where that was not paid for."""

    @abstractmethod
    def test(self, coefficients: Any, value: Any = 0.0) -> CoefficientTest:
        """Whether coefficients, or combinations of them, have given values."""

    def confidence_intervals(self, level: float = 0.95) -> CoefficientIntervals:
        """An interval for each coefficient: rows as ``coef_``, the intercept last, on the scale of the table."""
        return self._known().intervals(level)

    def covariance(self) -> pd.DataFrame:
        """The joint covariance of all coefficients: sampling and noise together, names on both axes."""
        import pandas as pd

        known = self._known()
        return pd.DataFrame(known.error_law.covariance, index=list(known.names), columns=list(known.names))

    def contrast(
        self, combinations: str | Mapping[str, float] | Sequence[str | Mapping[str, float]], level: float = 0.95
    ) -> CoefficientIntervals:
        """Intervals of combinations of coefficients, as ``{"arm=new": 1, "arm=old": -1}`` for a difference.

        A combination is judged by the joint law of its coefficients, which is narrower or wider than their intervals say
        one by one. Its estimate is ``.middle``; ``test`` takes the same combinations.
        """
        known = self._known()
        lines, words = restrictions(combinations, known.names)
        made = Known(tuple(words), lines @ known.estimates, known.error_law.along(lines), known.ridge)
        return made.intervals(level)

    def summary(self, level: float = 0.95) -> CoefficientTable:
        """A table of coefficients in the habit of statsmodels: estimate, standard error, z, p and interval of each.

        Standard errors are those of sampling and noise together. ``print`` shows it; ``to_frame()`` and ``plot()`` go on.
        """
        known = self._known()
        single = [
            known.error_law.along(line[None]).judge(known.estimates[[i]]) for i, line in enumerate(np.eye(len(known.names)))
        ]
        errors = np.sqrt(np.maximum(np.diag(known.error_law.covariance), 0.0))
        return summarise(self, known.intervals(level), known.estimates, errors, np.array(single))
