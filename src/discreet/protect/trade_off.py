"""Loss and utility against risk over the safe nodes of a lattice, from which a custodian chooses another node.

A point is a safe choice of levels: how likely a released person is found on average (the number of groups over the rows that
are released, the prosecutor's mean) and how much is lost. Nodes on the lower edge lose least at their risk; for these it is
measured what is left of an analysis (``discreet.protect.analyses``). A point leads to the words that choose it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.protect.analyses import Analyses, Utility
from discreet.protect.anonymous import Anonymized
from discreet.protect.copies import Copy
from discreet.protect.incognito import Node
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
    utility: Utility | None = None
    method: str = "full_domain"

    @property
    def anchor(self) -> str:
        """Its place on the page."""
        return "node-" + "-".join(map(str, self.node))


def points(result: Anonymized) -> list[Point]:
    """The lowest safe nodes and the chosen one, by risk."""
    view = result.view
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


def measured(result: Anonymized, listed: list[Point], target: str | None = None, positive: object = None) -> list[Point]:
    """The same points with what is left of an analysis at each."""
    analyses = Analyses(result, target, positive)
    return [replace(point, utility=analyses.of(result, point.node)) for point in listed]


def figure(result: Anonymized, every: list[Point], listed: list[Point]) -> Any:
    """Loss against risk; every point leads to its lines on the page."""
    made = new_figure(7.5, 4.2)
    axes = made.subplots()
    some = [point for point in every if point.node not in {other.node for other in listed}]
    marks = axes.scatter([100 * p.risk for p in some], [p.loss for p in some], s=22, color="#cbd5e0", label="safe")
    marks.set_urls([f"#{p.anchor}" for p in some])
    axes.plot([100 * p.risk for p in listed], [p.loss for p in listed], color=_GREEN, linewidth=1, zorder=2)
    marks = axes.scatter(
        [100 * p.risk for p in listed], [p.loss for p in listed], s=70, color=_GREEN, zorder=3, label="least loss"
    )
    marks.set_urls([f"#{p.anchor}" for p in listed])
    chosen = next(p for p in every if p.node == result.node)
    mark = axes.scatter([100 * chosen.risk], [chosen.loss], marker="D", s=50, color=_RED, zorder=4, label="chosen")
    mark.set_urls([f"#{chosen.anchor}"])
    axes.set_xlabel(_RISK)
    axes.set_ylabel("loss (NCP)")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    return made


_GREEN, _RED, _BLUE = "#2f855a", "#d9480f", "#2b6cb0"
_MARKS = {"full_domain": ("o", _BLUE), "mondrian": ("s", _GREEN), "microaggregation": ("^", _RED)}
_RISK = "mean chance that a released person is found, in %"
_MEASURES = {"queries": "error of counts, median", "means": "shift of a mean, in sd", "auc": "area under the ROC curve"}


def utility_figure(named: Mapping[str, Point]) -> Any:
    """What is left of an analysis against risk, a panel for each measure; points are numbered, and named on the right."""
    found = {name: (point.risk, point.utility) for name, point in named.items() if point.utility is not None}
    panels = {
        measure: words
        for measure, words in _MEASURES.items()
        if any(getattr(utility, measure) is not None for _, utility in found.values())
    }
    alike = len({point.method for point in named.values()}) == 1
    made = new_figure(4.3 * len(panels), 4.2)
    for axes, (measure, words) in zip(np.atleast_1d(made.subplots(1, len(panels))), panels.items(), strict=True):
        for number, (name, (risk, utility)) in enumerate(found.items(), 1):
            value = getattr(utility, measure)
            if value is not None:
                shape, colour = _MARKS[named[name].method]
                mark = axes.scatter([100 * risk], [value], s=40, marker=shape, color=colour)
                mark.set_urls([f"#{named[name].anchor}"])
                below = number % 2 == 0 if alike else shape == "s"  # of two that nearly meet, one on each side
                beside = (-9, -9) if below else (4, 4)
                axes.annotate(str(number), (100 * risk, value), xytext=beside, textcoords="offset points", fontsize=7)
        if measure == "auc":
            of_table = next(utility.auc_of_table for _, utility in found.values())
            axes.axhline(of_table, color="#718096", linewidth=1, linestyle="--")
            axes.annotate("the table itself", (0.02, of_table), xycoords=("axes fraction", "data"), va="bottom", fontsize=7)
        risks = [risk for risk, _ in found.values()]
        if max(risks) > 20 * min(risks):
            axes.set_xscale("log")
            axes.xaxis.set_major_formatter(lambda x, _: f"{x:g}")
            axes.xaxis.set_minor_formatter(lambda x, _: f"{x:g}" if f"{x:e}"[0] in "25" else "")
        axes.set_xlabel("mean chance of being found, in %")
        axes.set_ylabel(words)
        axes.margins(x=0.15, y=0.1)
        axes.spines[["top", "right"]].set_visible(False)
    names = {f"{number}  {name}": _MARKS[named[name].method] for number, name in enumerate(found, 1) if name != str(number)}
    if names:
        from matplotlib.lines import Line2D

        lines = [Line2D([], [], linestyle="", marker=m, color=c, label=name) for name, (m, c) in names.items()]
        made.legend(handles=lines, loc="outside right upper")
    return made


def together(copies: Mapping[str, Copy], target: str | None = None, positive: object = None) -> Any:
    """Utility and risk of several copies of one table, of any kind, in one picture."""
    analyses = Analyses(next(iter(copies.values())), target, positive)
    named = {}
    for name, copy in copies.items():
        sizes = copy.sizes() if isinstance(copy, Anonymized) else copy.sizes
        gone = copy.suppressed if isinstance(copy, Anonymized) else 0
        node, method = (copy.node, "full_domain") if isinstance(copy, Anonymized) else ((), copy.method)
        rows = max(1, int(sizes.sum()))
        worst = 1 / max(1, int(sizes.min(initial=rows)))
        named[name] = Point(node, len(sizes) / rows, worst, copy.metrics["ncp"], gone, name, analyses.of(copy), method)
    return utility_figure(named)


def new_figure(width: float, height: float) -> Any:
    from matplotlib.figure import Figure

    # No pyplot: nothing global is left behind, and no window system is looked for.
    return Figure(figsize=(width, height), layout="constrained")
