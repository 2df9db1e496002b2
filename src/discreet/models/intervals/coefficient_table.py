"""A fitted model's coefficients as a table, in the habit of statsmodels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.models.design import Floats
from discreet.models.intervals.coefficient_intervals import COVERS, CoefficientIntervals

if TYPE_CHECKING:
    import matplotlib.axes
    import pandas as pd


@dataclass(frozen=True, eq=False)
class CoefficientTable:
    """Estimates, standard errors, z, p and intervals of all coefficients, and what was paid for them."""

    title: str
    facts: tuple[tuple[str, str], ...]
    intervals: CoefficientIntervals
    estimates: Floats
    errors: Floats
    tests: Floats

    def to_frame(self) -> pd.DataFrame:
        """A data frame with a row for each coefficient."""
        import pandas as pd

        ends = self.intervals
        low, high = (f"{100 * (1 + sign * ends.level) / 2:g} %" for sign in (-1, 1))
        columns = {"coefficient": self.estimates, "standard error": self.errors, "z": self.tests[:, 0]}
        columns |= {"p": self.tests[:, 1], low: ends.lower, high: ends.upper}
        return pd.DataFrame(columns, index=pd.Index(ends.names, name="name"))

    def plot(self, axes: matplotlib.axes.Axes | None = None) -> matplotlib.axes.Axes:
        """Coefficients with their intervals; returns the axes."""
        return self.intervals.plot(axes)

    def __str__(self) -> str:
        table = self.to_frame()
        wide = max(len(str(n)) for n in table.index)
        heads = list(table.columns)
        lines = [f"{'':<{wide}}" + "".join(f"{head:>16}" for head in heads)]
        for name, row in table.iterrows():
            cells = [f"{row[h]:>16.4f}" if h in ("z", "p") else f"{row[h]:>16.6g}" for h in heads]
            lines.append(f"{name!s:<{wide}}" + "".join(cells))
        rule = "=" * max(map(len, lines))
        told = [f"{word}: {fact}" for word, fact in self.facts]
        below = f"Errors are of sampling and noise together; z and intervals are about {COVERS}."
        return "\n".join([self.title, rule, *told, rule, *lines, rule, below])

    __repr__ = __str__


def summarise(
    model: Any, intervals: CoefficientIntervals, estimates: Floats, errors: Floats, tests: Floats
) -> CoefficientTable:
    """The summary of a fitted model."""
    privacy, target = model.privacy_, model.fitted_.design.target
    levels = [
        f"{f.column}: {f.labels[f.reference]}" for f in model.fitted_.design.features if f.labels and f.reference is not None
    ]
    facts = [("target", target.column), ("guarantee", str(privacy)), ("ridge", f"{float(model.fitted_.ridge):g}")]
    if target.classes:
        facts.insert(1, ("scores are positive for", str(model.classes_[1])))
    if levels:
        facts.append(("reference levels", ", ".join(levels)))
    return CoefficientTable(type(model).__name__, tuple(facts), intervals, estimates, errors, tests)
