"""Pictures of a synthetic table beside what was measured: noisy counts with their error, never the real ones."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import InvalidRequest

if TYPE_CHECKING:
    from discreet.synthetic.tables import Synthetic

_MOST_NAMED = 24  # levels that are named below a picture


def columns(synthetic: Synthetic, axes: Any = None) -> Any:
    """A panel for each column that was measured by itself: bars for the model, dots with two deviations for the release."""
    alone = [m for m in synthetic.measurements if len(m.places) == 1 and m.direct]
    if not alone:
        raise InvalidRequest("no column was measured by itself; look at .table")
    if axes is None:
        from matplotlib.figure import Figure

        wide = min(2, len(alone))
        tall = math.ceil(len(alone) / wide)
        figure = Figure(figsize=(4.4 * wide, 3.0 * tall), layout="constrained")
        panels = np.ravel(figure.subplots(tall, wide, squeeze=False)).tolist()
        for panel in panels[len(alone) :]:
            panel.set_axis_off()
    else:
        figure, panels = axes.figure, [axes]
    for panel, m in zip(panels, alone, strict=False):
        _panel(panel, synthetic, m)
    return figure


def _panel(panel: Any, synthetic: Synthetic, m: Any) -> None:
    attribute = synthetic.domain.attributes[m.places[0]]
    fitted = synthetic.model.counts(synthetic.domain.sizes, m.places)
    places = np.arange(attribute.size)
    panel.bar(places, fitted, color="#9dbfe0", width=0.8, label="synthetic")
    panel.errorbar(
        places, m.value, yerr=2 * m.sigma, fmt=".", color="#9c2f0f", elinewidth=1, markersize=4, label="measured ± 2 sd"
    )
    panel.axhline(0, color="#c9d2dc", linewidth=0.8)
    panel.set_title(attribute.name, fontsize=10)
    names = synthetic.levels(attribute)
    step = max(1, math.ceil(attribute.size / _MOST_NAMED))
    shown = places[::step]
    panel.set_xticks(shown, [names[i] for i in shown], rotation=90 if attribute.size > 4 else 0, fontsize=7)
    panel.tick_params(axis="y", labelsize=7)
    if m is next(x for x in synthetic.measurements if len(x.places) == 1 and x.direct):
        panel.legend(fontsize=7, frameon=False)


def pairs(synthetic: Synthetic, most: int = 6) -> Any:
    """The first pairs that were measured: noisy counts on the left, the model's on the right."""
    from matplotlib.figure import Figure

    found = [m for m in synthetic.measurements if len(m.places) == 2 and m.disjoint][:most]
    if not found:
        return None
    figure = Figure(figsize=(7.4, 2.6 * len(found)), layout="constrained")
    panels = figure.subplots(len(found), 2, squeeze=False)
    for (left, right), m in zip(panels, found, strict=True):
        model = m.expected(synthetic.model.counts(synthetic.domain.sizes, m.places))
        first, second = (synthetic.domain.attributes[i] for i in m.places)
        top = max(float(model.max()), float(m.value.max()), 1.0)
        for panel, counts, word in ((left, m.value, "measured, noisy"), (right, model, "synthetic")):
            panel.imshow(np.maximum(counts, 0), aspect="auto", cmap="Blues", vmin=0, vmax=top, interpolation="nearest")
            panel.set_title(f"{first.name} × {second.name}: {word}", fontsize=9)
            panel.set_xlabel(second.name, fontsize=8)
            panel.set_ylabel(first.name, fontsize=8)
            panel.set_xticks([])
            panel.set_yticks([])
    return figure
