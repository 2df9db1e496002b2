"""The page about an anonymous copy: what was asked, the lattice with the chosen node, and groups before and after.

One HTML file that needs nothing else: styles and pictures are in it.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from discreet.errors import InvalidRequest
from discreet.protect import trade_off
from discreet.protect.anonymous import Anonymized
from discreet.protect.incognito import Node
from discreet.protect.lattice_histogram import Ints
from discreet.protect.treatment import safe_harbour

_DRAWN = 400  # a lattice of more nodes is drawn by its heights: single nodes could not be told apart
_INK, _SAFE, _UNSAFE, _CHOSEN = "#1f2933", "#2f855a", "#cbd5e0", "#d9480f"


def lattice_figure(result: Anonymized) -> Any:
    """The lattice of levels: every node where they can be told apart, else how many pass at each height."""
    mask = result.safe.mask
    return _nodes_figure(result) if mask.size <= _DRAWN else _heights_figure(result)


def _nodes_figure(result: Anonymized) -> Any:
    from matplotlib.collections import LineCollection

    mask = result.safe.mask
    nodes = [tuple(int(x) for x in node) for node in np.ndindex(mask.shape)]
    rows: dict[int, list[Node]] = {}
    for node in nodes:
        rows.setdefault(sum(node), []).append(node)
    widest = max(map(len, rows.values()))
    place = {node: (i - (len(row) - 1) / 2, h) for h, row in rows.items() for i, node in enumerate(row)}
    labelled = widest <= 16
    figure = trade_off.new_figure(max(5.0, min(13.0, 0.8 * widest)), max(3.0, 0.75 * len(rows)))
    axes = figure.subplots()
    lines, colours = [], []
    for node in nodes:
        for column in range(mask.ndim):
            if node[column] + 1 < mask.shape[column]:
                above = (*node[:column], node[column] + 1, *node[column + 1 :])
                lines.append([place[node], place[above]])
                colours.append(_SAFE if mask[node] else "#b8c2cc")
    axes.add_collection(LineCollection(lines, colors=colours, linewidths=0.5, alpha=0.6, zorder=1))
    for node in nodes:
        chosen, safe = node == result.node, bool(mask[node])
        face = _CHOSEN if chosen else _SAFE if safe else "white"
        x, y = place[node]
        axes.scatter(
            x, y, s=(330 if labelled else 60), color=face, edgecolors=_INK if safe else "#a0aec0", linewidths=0.7, zorder=2
        )
        if labelled:
            colour = "white" if safe else "#4a5568"
            text = "".join(map(str, node)) if max(mask.shape) <= 10 else ",".join(map(str, node))
            axes.text(x, y, text, ha="center", va="center", fontsize=6.5, color=colour, zorder=3)
    axes.set_ylabel("height (sum of levels)")
    axes.set_yticks(range(len(rows)))
    axes.set_xticks([])
    axes.margins(x=0.06, y=0.1)
    _legend(axes)
    _bare(axes)
    return figure


def _legend(axes: Any) -> None:
    from matplotlib.lines import Line2D

    marks = [("not safe", "white"), ("safe", _SAFE), ("chosen", _CHOSEN)]
    handles = [
        Line2D([], [], marker="o", linestyle="", markerfacecolor=c, markeredgecolor=_INK, markersize=8, label=name)
        for name, c in marks
    ]
    axes.legend(handles=handles, loc="upper center", bbox_to_anchor=(0.5, 1.1), ncols=3, frameon=False)


def _heights_figure(result: Anonymized) -> Any:
    mask = result.safe.mask
    heights = np.indices(mask.shape).sum(axis=0)
    top = int(heights.max())
    every = np.bincount(heights.ravel(), minlength=top + 1)
    safe = np.bincount(heights[mask], minlength=top + 1)
    figure = trade_off.new_figure(7.5, max(3.0, 0.26 * (top + 1)))
    axes = figure.subplots()
    axes.barh(range(top + 1), every, color=_UNSAFE, label="not safe")
    axes.barh(range(top + 1), safe, color=_SAFE, label="safe")
    at = sum(result.node)
    axes.scatter([safe[at] / 2], [at], color=_CHOSEN, marker="D", s=45, zorder=3, edgecolors="white", label="chosen node")
    axes.set_xlabel("nodes")
    axes.yaxis.get_major_locator().set_params(integer=True)
    axes.set_ylabel("height (sum of levels)")
    axes.legend(frameon=False, loc="lower right")
    _bare(axes)
    return figure


def sizes_figure(result: Anonymized) -> Any:
    """How many rows are in groups of each size, before and after, on one logarithmic axis."""
    before, after = result.sizes(before=True), result.sizes()
    largest = max(int(before.max(initial=1)), int(after.max(initial=1)))
    edges = _edges(result.demand.k, largest)
    figure = trade_off.new_figure(7.5, 4.2)
    panels = figure.subplots(2, 1, sharex=True, sharey=True)
    for axes, sizes, colour, title in zip(panels, (before, after), ("#718096", _SAFE), ("before", "after"), strict=True):
        rows = _rows_by_size(sizes, edges)
        axes.bar(edges[:-1], 100 * rows, width=np.diff(edges), align="edge", color=colour, edgecolor="white", linewidth=0.6)
        axes.axvline(result.demand.k, color=_CHOSEN, linewidth=1.2, linestyle="--")
        axes.set_ylabel("% of rows")
        axes.set_title(
            f"{title}: {len(sizes):,} groups, smallest {int(sizes.min(initial=largest)):,}", fontsize=10, loc="left"
        )
        _bare(axes)
    panels[0].annotate(
        f"k = {result.demand.k}", (result.demand.k, 1), xycoords=("data", "axes fraction"), xytext=(4, -10),
        textcoords="offset points", color=_CHOSEN, fontsize=9,
    )  # fmt: skip
    panels[1].set_xscale("log", base=2)
    panels[1].set_xlim(1, edges[-1])
    panels[1].set_xlabel("size of the group")
    panels[1].xaxis.set_major_formatter(lambda x, _: f"{int(x):,}")
    return figure


def _edges(k: int, largest: int) -> Any:
    """Doubling sizes of which one is k, so that no bar lies on both sides of it."""
    below = [2**i for i in range(k.bit_length()) if 2**i < k]
    above = [k * 2**i for i in range(64) if k * 2 ** (i - 1) <= largest or i < 2]
    return np.array([*below, *above], float)


def _rows_by_size(sizes: Ints, edges: Any) -> Any:
    total = max(1, int(sizes.sum()))
    return np.histogram(sizes, bins=edges, weights=sizes)[0] / total


def _bare(axes: Any) -> None:
    axes.spines[["top", "right"]].set_visible(False)


def svg(figure: Any) -> str:
    """A figure as inline SVG; words stay words, so that they can be searched and read aloud."""
    import matplotlib as mpl

    out = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "discreet"}):
        figure.savefig(out, format="svg", metadata={"Date": None})
    text = out.getvalue().replace(' target="_blank"', "")  # a point leads to its place on this page, in this window
    return text[text.index("<svg") :]


def render(result: Anonymized, title: str = "Anonymous copy", target: str | None = None, positive: object = None) -> str:
    """The page as one HTML text; with a ``target`` column and its ``positive`` value, a regression is tried on copies."""
    from jinja2 import Environment
    from markupsafe import Markup

    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    every = trade_off.points(result)
    listed = trade_off.measured(result, _with_chosen(every, result), target, positive)
    measures = {f"{place + 1}": point for place, point in enumerate(listed)}
    return environment.from_string(_PAGE).render(
        title=title,
        result=result,
        demand=result.demand,
        columns=_columns(result),
        metrics=_metrics(result),
        lattice=Markup(svg(lattice_figure(result))),  # noqa: S704  drawn here, from numbers
        sizes=Markup(svg(sizes_figure(result))),  # noqa: S704
        trade=Markup(svg(trade_off.figure(result, every, listed))),  # noqa: S704
        utility=Markup(svg(trade_off.utility_figure(measures))),  # noqa: S704
        listed=measures,
        every=every,
        target=target,
        area=listed[0].utility.auc_of_table if target and listed[0].utility else 0.0,
        share=100 * result.suppressed / result.rows,
        safe=int(result.safe.mask.sum()),
        nodes=result.safe.mask.size,
        drawn=result.safe.mask.size <= _DRAWN,
        harbour=safe_harbour(result),
    )


def _with_chosen(every: list[trade_off.Point], result: Anonymized) -> list[trade_off.Point]:
    listed = trade_off.edge(every)
    chosen = next(point for point in every if point.node == result.node)
    return listed if chosen in listed else sorted([*listed, chosen], key=lambda point: (point.risk, point.loss))


def write(
    result: Anonymized,
    path: str | Path,
    title: str = "Anonymous copy",
    target: str | None = None,
    positive: object = None,
) -> Path:
    """The page as a new file."""
    place = Path(path)
    page = render(result, title, target, positive)
    try:
        with place.open("x", encoding="utf-8") as out:
            out.write(page)
    except OSError as problem:
        raise InvalidRequest(f"the report must go into a new file, and {str(place)!r}: {problem.strerror}") from None
    return place


def _columns(result: Anonymized) -> Sequence[dict[str, Any]]:
    out = []
    for column in result.base.columns:
        level = result.levels[column.name]
        examples = [str(label) for label in column.labels[level][:4] if label is not None]
        more = ", ..." if column.size(level) > 4 else ""
        out.append(
            {
                "name": column.name,
                "level": level,
                "height": column.height,
                "called": column.levels[level],
                "before": column.size(0),
                "after": column.size(level),
                "examples": ", ".join(examples) + more,
            }
        )
    return out


def _metrics(result: Anonymized) -> Sequence[tuple[str, float, bool]]:
    return [(name, loss, name == result.metric) for name, loss in result.losses.items()]


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{ title }}</title>
<style>
html { background: #fff; }
body { font: 16px/1.5 system-ui, sans-serif; color: #1f2933; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; margin-bottom: .2rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; }
table { border-collapse: collapse; width: 100%; }
td, th { text-align: left; padding: .35rem .7rem .35rem 0; border-bottom: 1px solid #e2e8f0; }
th { font-weight: 600; } .n { text-align: right; font-variant-numeric: tabular-nums; }
.facts { display: flex; flex-wrap: wrap; gap: 1.5rem; margin: 1.2rem 0; } .facts div { min-width: 7rem; }
.facts b { display: block; font-size: 1.5rem; } .facts span { color: #52606d; }
.node { display: none; } .node:target { display: block; background: #fff3bf; padding: .6rem 1rem; } code { font-size: .9em; }
svg { max-width: 100%; height: auto; } .note { background: #fff8f1; border-left: 4px solid #d9480f; padding: .6rem 1rem; }
</style></head><body>
<h1>{{ title }}</h1>
<p>k = {{ demand.k }}{% if demand.l is not none %}, {{ demand.diversity }} l = {{ demand.l }}{% endif %}
{%- if demand.t is not none %}, t = {{ demand.t }}{% endif %}, at most {{ "{:,}".format(result.limit) }} rows suppressed,
the least loss by {{ result.metric }}.</p>
<div class="facts">
<div><b>{{ "{:,}".format(result.rows) }}</b><span>rows</span></div>
<div><b>{{ "{:,}".format(result.suppressed) }}</b><span>suppressed ({{ "%.2f" % share }} %)</span></div>
<div><b>{{ "{:,}".format(result.sizes()|length) }}</b><span>groups released</span></div>
<div><b>{{ "{:,}".format(safe) }} of {{ "{:,}".format(nodes) }}</b><span>nodes are safe</span></div>
<div><b>{{ "{:,}".format(result.tested) }}</b><span>nodes computed</span></div>
</div>
<h2>Levels</h2>
<table><tr><th>column</th><th>level</th><th class="n">values before</th><th class="n">after</th>
<th>what they look like</th></tr>
{% for c in columns %}
<tr><td>{{ c.name }}</td><td>{{ c.level }} of {{ c.height }} ({{ c.called }})</td><td class="n">{{ c.before }}</td>
<td class="n">{{ c.after }}</td><td>{{ c.examples }}</td></tr>
{% endfor %}
</table>
<h2>The lattice</h2>
{% if drawn %}<p>Each node is one choice of levels, in the order {{ result.levels|join(", ") }}; lines lead to the next
coarser ones.</p>
{% else %}<p>The {{ "{:,}".format(nodes) }} choices of levels by their height, from the values themselves to all at the
top.
Chosen: {% for name, level in result.levels.items() %}{{ name }} {{ level }}{{ ", " if not loop.last }}{% endfor %}.</p>
{% endif %}
{{ lattice }}
<h2>What another choice would give</h2>
<p>Each point is a safe choice of levels: click on it, and the words that choose it are shown below the picture.</p>
{{ trade }}
{% for p in every %}
<div class="node" id="{{ p.anchor }}"><code>discreet protect anonymize JOB.toml --node {{ p.words }}</code>
{%- if p.node == result.node %} (chosen){% endif %}<br>found on average {{ "%.3f" % (100 * p.risk) }} %, at most
{{ "%.2f" % (100 * p.worst) }} %; loss {{ "%.4f" % p.loss }}; {{ "{:,}".format(p.suppressed) }} rows left out</div>
{% endfor %}
<p>Those that lose least at their risk, and what is left of an analysis at each. <em>Counts</em> of rows in a stretch of
one column and of another, read off the copy, are wrong by so much; <em>means</em> move by so many standard deviations, and
<em>correlations</em> by so much at most{% if target %}; a <em>regression</em> that predicts {{ target }} from the copy has
this area under the ROC curve, and {{ "%.3f" % area }} from the table itself{% endif %}. These numbers tell of the table:
they are for whoever holds it.</p>
{{ utility }}
<table><tr><th></th><th>choose it with</th><th class="n">found, mean</th><th class="n">at most</th>
<th class="n">loss (NCP)</th><th class="n">left out</th><th class="n">counts</th><th class="n">means</th>
<th class="n">correlations</th>
{%- if target %}<th class="n">regression</th>{% endif %}</tr>
{% for name, p in listed.items() %}
<tr><td>{{ name }}</td><td><code>--node {{ p.words }}</code>{% if p.node == result.node %} (chosen){% endif %}</td>
<td class="n">{{ "%.3f" % (100 * p.risk) }} %</td><td class="n">{{ "%.2f" % (100 * p.worst) }} %</td>
<td class="n">{{ "%.4f" % p.loss }}</td><td class="n">{{ "{:,}".format(p.suppressed) }}</td>
<td class="n">{{ "%.1f" % (100 * p.utility.queries) }} %</td>
<td class="n">{{ "%.3f" % p.utility.means if p.utility.means is not none else "none" }}</td>
<td class="n">{{ "%.3f" % p.utility.correlation if p.utility.correlation is not none else "none" }}</td>
{%- if target %}<td class="n">{{ "%.3f" % p.utility.auc }}</td>{% endif %}</tr>
{% endfor %}
</table>
<h2>Groups before and after</h2>
<p>The share of rows that are in groups of each size. Left of the line a group is smaller than k.</p>
{{ sizes }}
<h2>What was lost</h2>
<table><tr><th>metric</th><th class="n">loss (0: none, 1: all)</th></tr>
{% for name, value, used in metrics %}
<tr><td>{{ name }}{% if used %} (chosen by this one){% endif %}</td><td class="n">{{ "%.4f" % value }}</td></tr>
{% endfor %}
</table>
<h2>Identifiers of HIPAA's safe harbour</h2>
<p>What was found in the table by its form, and what the copy shows of it. Look at the other columns as well: a scan knows
forms only.</p>
<table><tr><th>identifier</th><th>columns</th><th>what was done</th></tr>
{% for identifier, found, done in harbour %}
<tr><td>{{ identifier }}</td><td>{{ found }}</td><td>{{ done }}</td></tr>
{% endfor %}
</table>
<h2>What this does not give</h2>
<p class="note">k-anonymity claims no epsilon. Where all rows of a group share their sensitive value, the group gives it
away however large it is; who knows that somebody does not have some value can rule it out; and two anonymous copies of
one table can be joined to less than k. Ask for l-diversity or t-closeness where values are sensitive, release one copy
only, and use private statistics where a guarantee against any prior knowledge is needed.</p>
</body></html>
"""
