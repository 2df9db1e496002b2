"""The shape functions of an additive model: what each column adds to the score, as a picture and as a table."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import UnknownName
from discreet.models.design import Design, Floats
from discreet.models.feature import Feature
from discreet.models.intervals.error_law import ErrorLaw

if TYPE_CHECKING:
    import matplotlib.axes
    import pandas as pd

_ACROSS = 3  # pictures side by side


@dataclass(frozen=True, eq=False)
class Shape:
    """What one column adds to the log odds, bin by bin or label by label, on the average over these nothing.

    ``lower`` and ``upper`` are the ends of its band where that was paid for: each covers, with probability ``level`` over
    the sample and the noise, the shape that the ridge has on all people.
    """

    feature: Feature
    values: Floats
    lower: Floats | None
    upper: Floats | None
    level: float

    @property
    def column(self) -> str:
        """The column."""
        return self.feature.column

    @property
    def places(self) -> list[str]:
        """Its labels, or its bins."""
        if self.feature.labels:
            return [str(label) for label in self.feature.labels]
        return [name.removeprefix(f"{self.column} ") for name in self.feature.names]

    @property
    def edges(self) -> Floats:
        """Where its bins begin and end; of a category the numbers of its labels, less a half."""
        if self.feature.labels:
            return np.asarray(np.arange(self.feature.places + 1) - 0.5, np.float64)
        return np.array([self.feature.lo, *self.feature.cuts, self.feature.hi])

    def to_frame(self) -> pd.DataFrame:
        """A data frame with a row for each bin or label."""
        import pandas as pd

        ends = {} if self.lower is None else {"lower": self.lower, "upper": self.upper}
        return pd.DataFrame({"log odds": self.values, **ends}, index=pd.Index(self.places, name=self.column))

    def plot(self, axes: matplotlib.axes.Axes | None = None) -> matplotlib.axes.Axes:
        """The shape with its band; returns the axes."""
        import matplotlib.pyplot as plt

        if axes is None:
            _, axes = plt.subplots(figsize=(4.2, 3.0), layout="constrained")
        axes.axhline(0.0, color="grey", lw=1, ls=":")
        words = "log odds"
        if self.lower is not None and self.upper is not None:
            axes.stairs(self.upper, self.edges, baseline=self.lower, fill=True, color="tab:blue", alpha=0.25)
            words = f"log odds, {100 * self.level:g} % band"
        axes.stairs(self.values, self.edges, baseline=None, color="tab:blue", lw=2)
        if self.feature.labels:
            axes.set_xticks(np.arange(self.feature.places), self.places, rotation=60, ha="right")
        axes.set(xlabel=self.column, ylabel=words)
        return axes


@dataclass(frozen=True, eq=False)
class Shapes:
    """The shapes of all columns, and the ``baseline`` that they are added to: together they are the score."""

    shapes: tuple[Shape, ...]
    baseline: float

    def __iter__(self) -> Iterator[Shape]:
        return iter(self.shapes)

    def __len__(self) -> int:
        return len(self.shapes)

    def __getitem__(self, column: str | int) -> Shape:
        """By the name of a column, or by its place."""
        if isinstance(column, int):
            return self.shapes[column]
        for shape in self.shapes:
            if shape.column == column:
                return shape
        raise UnknownName(f"no column is called {column!r}; the model reads {[s.column for s in self.shapes]}")

    def plot(self, figure: Any = None) -> Any:
        """A picture of every shape; returns the figure."""
        import matplotlib.pyplot as plt

        across = min(_ACROSS, len(self))
        down = math.ceil(len(self) / across)
        figure = figure or plt.figure(figsize=(4.2 * across, 3.0 * down), layout="constrained")
        for place, shape in enumerate(self.shapes):
            shape.plot(figure.add_subplot(down, across, place + 1))
        return figure

    def __repr__(self) -> str:
        lines = [f"{s.column}: log odds {s.values.min():.3g} to {s.values.max():.3g}" for s in self.shapes]
        return "\n".join([f"{len(self)} shapes around a baseline of {self.baseline:.3g}", *lines])


def shapes_of(design: Design, theta: Floats, error_law: ErrorLaw | None, level: float) -> Shapes:
    """Coefficients of bins and labels less their mean in each column, which the baseline takes; a reference level is 0.

    A mean over public places is a linear map, so a shape has the law of its coefficients along it.
    """
    made, place, baseline = [], 0, 0.0
    table = theta / design.units
    for feature in design.features:
        lines = np.zeros((feature.places, design.width))
        lines[feature.coded, place + np.arange(feature.size)] = 1.0
        baseline += float((lines @ table).mean())
        lines -= lines.mean(axis=0)
        values, half = lines @ table, None
        if error_law is not None:
            half = error_law.along(lines / design.units).half_lengths(level)
        lower, upper = (None, None) if half is None else (values - half, values + half)
        made.append(Shape(feature, values, lower, upper, level))
        place += feature.size
    return Shapes(tuple(made), baseline + (float(table[-1]) if design.intercept else 0.0))
