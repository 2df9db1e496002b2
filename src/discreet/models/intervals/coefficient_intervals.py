"""Confidence intervals of coefficients, as they are printed, tabulated and drawn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.models.design import Floats

if TYPE_CHECKING:
    import matplotlib.axes
    import pandas as pd

COVERS = "the regularised minimiser of the population (the coefficients that this loss and ridge have on all people)"


@dataclass(frozen=True, eq=False)
class CoefficientIntervals:
    """Confidence intervals, one row (lower, upper) for each coefficient, on the scale of the table, the intercept last.

    They cover the *regularised* minimiser of the population, coefficient by coefficient. ``np.asarray`` gives the rows.
    """

    names: tuple[str, ...]
    lower: Floats
    upper: Floats
    level: float
    ridge: float
    unit: str = "coefficient"

    covers = COVERS

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Floats:
        return np.column_stack((self.lower, self.upper)).astype(dtype or np.float64)

    def __len__(self) -> int:
        return len(self.lower)

    def __iter__(self) -> Iterator[tuple[float, float]]:
        return iter(zip(self.lower.tolist(), self.upper.tolist(), strict=True))

    def __getitem__(self, place: Any) -> Any:
        return np.asarray(self)[place]

    @property
    def lengths(self) -> Floats:
        """Upper less lower ends."""
        return self.upper - self.lower

    @property
    def middle(self) -> Floats:
        """The estimates: the middle of each interval, or of its logarithm where these are ratios."""
        if self.unit == "odds ratio":
            return np.asarray(np.sqrt(self.lower * self.upper), np.float64)
        return (self.lower + self.upper) / 2

    def exponentiated(self) -> CoefficientIntervals:
        """Intervals of exp(coefficient): odds ratios, where the coefficients are log odds."""
        with np.errstate(over="ignore"):
            ends = np.exp(self.lower), np.exp(self.upper)
        return CoefficientIntervals(self.names, *ends, self.level, self.ridge, "odds ratio")

    def to_frame(self) -> pd.DataFrame:
        """A data frame with a row for each coefficient: estimate, lower and upper end."""
        import pandas as pd

        return pd.DataFrame(
            {self.unit: self.middle, "lower": self.lower, "upper": self.upper}, index=pd.Index(self.names, name="name")
        )

    def plot(self, axes: matplotlib.axes.Axes | None = None) -> matplotlib.axes.Axes:
        """Estimates with their intervals, one line each, the first on top; returns the axes."""
        import matplotlib.pyplot as plt

        if axes is None:
            _, axes = plt.subplots(figsize=(6.4, 0.9 + 0.35 * len(self)), layout="constrained")
        places = np.arange(len(self))[::-1]
        axes.hlines(places, self.lower, self.upper, color="tab:blue", lw=2)
        axes.plot(self.middle, places, "o", color="tab:blue", ms=5)
        ratio = self.unit == "odds ratio"
        axes.axvline(1.0 if ratio else 0.0, color="grey", lw=1, ls=":")
        if ratio:
            axes.set_xscale("log")
        axes.set(yticks=places, yticklabels=self.names, xlabel=f"{self.unit}, {100 * self.level:g} % interval")
        return axes

    def __repr__(self) -> str:
        wide = max(len(n) for n in self.names)
        rows = [f"{n:<{wide}}  {a: .6g}  {b: .6g}" for n, (a, b) in zip(self.names, self, strict=True)]
        head = f"{100 * self.level:g} % intervals; each covers {COVERS}; ridge {self.ridge:g}"
        return "\n".join([head, *rows])
