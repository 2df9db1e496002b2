"""A ROC curve from noisy histograms of scores: rates at every threshold, the area, and the threshold that serves best."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.core import drawing
from discreet.core.cost import Cost
from discreet.core.release import Release
from discreet.errors import InvalidRequest
from discreet.models.evaluate.rates import Floats, Rates, noise_deviation, reach

if TYPE_CHECKING:
    import matplotlib.axes


BINS = 64  # cells of a score


@dataclass(frozen=True, eq=False)
class Threshold:
    """A score above which a row is put into the second class, with the release that it was read off."""

    score: float
    rates: Rates
    release: Release = field(repr=False)
    cost: Cost = field(repr=False)


@dataclass(frozen=True, eq=False)
class Roc:
    """``false_alarms`` and ``hits`` as the threshold falls; ``rows`` is the most rows of one person.

    Proof that what is read off it costs nothing: it is computed from one release.
    """

    counts: Any
    cost: Cost
    release: Release
    classes: tuple[Any, ...] = (0, 1)
    rows: int = 1

    @cached_property
    def _curves(self) -> tuple[Any, Any]:
        counts = np.maximum(np.asarray(self.counts, np.float64), 0.0)[:, ::-1]
        totals = counts.sum(axis=1, keepdims=True)
        even = np.full_like(counts, 1 / counts.shape[1])
        shares = np.divide(counts, totals, out=even, where=totals > 0)
        no, yes = np.concatenate([np.zeros((2, 1)), np.cumsum(shares, axis=1)], axis=1)
        return no, yes

    @property
    def false_alarms(self) -> Any:
        """The share of the first class above each threshold."""
        return self._curves[0]

    @property
    def hits(self) -> Any:
        """The share of the second class above each threshold."""
        return self._curves[1]

    @property
    def thresholds(self) -> Floats:
        """The scores at which ``false_alarms`` and ``hits`` are given: infinite at both ends."""
        bins = np.shape(self.counts)[1]
        share = np.arange(1, bins) / bins
        return np.concatenate([[math.inf], 3 * np.log(share / (1 - share))[::-1], [-math.inf]])

    @property
    def area(self) -> float:
        """The area under the curve, within [0, 1]: the chance that a row of the second class scores above one of the first.

        Its numerator is a sum of products of counts with noise of their own, so that noise does not bend it; a half where
        too few counts are left.
        """
        no, yes = np.asarray(self.counts, np.float64)
        people = float(no.sum() * yes.sum())
        found = float(no @ _above(yes))
        return min(1.0, max(0.0, found / people)) if no.sum() > 0 and yes.sum() > 0 else 0.5

    def area_interval(self, level: float = 0.95, of: str = "table") -> tuple[float, float]:
        """Two ends for the area: noise of these rows, or with sampling too for the population; to first order in both."""
        if of not in ("table", "population"):
            raise InvalidRequest(f"of must be 'table' or 'population', got {of!r}")
        no, yes = np.asarray(self.counts, np.float64)
        if no.sum() <= 0 or yes.sum() <= 0:
            return 0.0, 1.0
        area = self.area
        # What one more row in a cell does to the area.
        slopes = np.stack(
            [(_above(yes) / yes.sum() - area) / no.sum(), (_above(no[::-1])[::-1] / no.sum() - area) / yes.sum()]
        )
        people = float(self.rows * (slopes**2 * np.maximum([no, yes], 0.0)).sum()) if of == "population" else 0.0
        noise = noise_deviation(self.release) * float(np.sqrt((slopes**2).sum()))
        far = float(reach(self.release, level, np.array([people]), np.array([noise]))[0])
        return max(0.0, area - far), min(1.0, area + far)

    def at(self, threshold: float) -> Rates:
        """The rates of the rule "second class above this score"; the score counts as the edge of a cell next to it."""
        bins = np.shape(self.counts)[1]
        cut = round(bins * 0.5 * (1 + math.tanh(threshold / 6.0)))
        above = (np.arange(bins) >= cut).astype(np.float64)
        none = np.zeros(bins)
        four = [[1 - above, none], [above, none], [none, 1 - above], [none, above]]
        return Rates(self.release, np.stack([np.concatenate(parts) for parts in four]), self.rows)

    def best(self, false_yes: float = 1.0, false_no: float = 1.0, share: float | None = None) -> Threshold:
        """The threshold with the least cost of errors, "false yes" and "false no" at what each costs; paid for already.

        ``share`` is that of the second class where the model will be used; that of these rows without it. With
        ``share=0.5`` and equal costs it maximises hits less false alarms (Youden).
        """
        check_costs(false_yes, false_no)
        if share is not None and not 0 < share < 1:
            raise InvalidRequest(f"share must lie strictly between 0 and 1, got {share}")
        no, yes = np.maximum(np.asarray(self.counts, np.float64), 0.0).sum(1)
        part = share if share is not None else float(yes / (no + yes)) if no + yes > 0 else 0.5
        cost = false_yes * (1 - part) * self.false_alarms + false_no * part * (1 - self.hits)
        inner = cost[1:-1]
        score = float(self.thresholds[1:-1][int(np.argmin(inner))])
        return Threshold(score, self.at(score), self.release, self.cost)

    def plot(self, axes: matplotlib.axes.Axes | None = None, label: str = "") -> matplotlib.axes.Axes:
        """The curve as a picture; returns the axes."""
        axes = drawing.new_axes(axes, (5.5, 4.5))
        axes.plot(self.false_alarms, self.hits, label=f"{label} area {self.area:.3f}".strip())
        axes.plot([0, 1], [0, 1], color="grey", ls=":", lw=1)
        axes.set_xlabel("false alarms")
        axes.set_ylabel("hits")
        axes.legend(frameon=False)
        return axes


def check_costs(false_yes: float, false_no: float) -> None:
    """Refuse what errors cannot cost; before anything is paid, too."""
    if not (0 < false_yes < math.inf and 0 < false_no < math.inf):
        raise InvalidRequest(
            f"what errors cost must be positive and finite, got {false_yes} and {false_no}; 1 and 1 are usual"
        )


def _above(counts: Floats) -> Floats:
    """For each cell the count in cells above it, and half of its own."""
    return np.asarray(counts[::-1].cumsum()[::-1] - counts / 2)
