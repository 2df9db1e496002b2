"""Loss against risk over the safe nodes of a lattice: the picture from which a custodian chooses another node.

A point is a safe choice of levels: how likely a released person is found on average (the number of groups over the rows that
are released, the prosecutor's mean) and how much is lost. Nodes on the lower edge lose least at their risk; each of them is
listed with the words that choose it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.protect.anonymous import Anonymized
from discreet.protect.incognito import Node, View
from discreet.protect.metrics import metric_named

_MOST = 300  # nodes that are computed: the lowest ones, which lose least
_LISTED = 10


@dataclass(frozen=True)
class Point:
    """A safe node with its mean risk, its largest risk, its loss and the rows it leaves out."""

    node: Node
    risk: float
    worst: float
    loss: float
    suppressed: int
    words: str

    @property
    def anchor(self) -> str:
        """Its place on the page."""
        return "node-" + "-".join(map(str, self.node))


def points(result: Anonymized) -> list[Point]:
    """The lowest safe nodes and the chosen one, by risk."""
    shares = result.base.shares() if result.base.sensitive is not None else None
    view = View(result.base, result.demand.rules(shares, result.base.values))
    metric = metric_named("ncp", result.base)
    made = []
    for node in dict.fromkeys([result.node, *result.safe.nodes()[:_MOST]]):
        _, bad, sizes = view.entries(node)
        kept = sizes[~bad]
        rows = int(kept.sum())
        if rows:
            words = ",".join(f"{name}={level}" for name, level in zip(result.levels, node, strict=True))
            loss, _ = metric.score(node, view)
            made.append(Point(node, len(kept) / rows, 1 / int(kept.min()), loss, int(sizes[bad].sum()), words))
    return sorted(made, key=lambda point: (point.risk, point.loss))


def edge(every: list[Point]) -> list[Point]:
    """The points that no other has both less risk and less loss than; of many, some spread over all."""
    best: list[Point] = []
    for point in every:
        if not best or point.loss < best[-1].loss:
            best.append(point)
    if len(best) <= _LISTED:
        return best
    return [best[place] for place in np.linspace(0, len(best) - 1, _LISTED).round().astype(int)]


def figure(result: Anonymized, every: list[Point], listed: list[Point]) -> Any:
    """Loss against risk; the listed nodes lead to their line on the page."""
    from matplotlib.figure import Figure

    made = Figure(figsize=(7.5, 4.2), layout="constrained")
    axes = made.subplots()
    axes.scatter([100 * p.risk for p in every], [p.loss for p in every], s=14, color="#cbd5e0", label="safe")
    axes.plot([100 * p.risk for p in listed], [p.loss for p in listed], color="#2f855a", linewidth=1, zorder=2)
    marks = axes.scatter(
        [100 * p.risk for p in listed], [p.loss for p in listed], s=70, color="#2f855a", zorder=3, label="least loss"
    )
    marks.set_urls([f"#{p.anchor}" for p in listed])
    chosen = next(p for p in every if p.node == result.node)
    axes.scatter([100 * chosen.risk], [chosen.loss], marker="D", s=50, color="#d9480f", zorder=4, label="chosen")
    axes.set_xlabel("mean chance that a released person is found, in %")
    axes.set_ylabel("loss (NCP)")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    return made
