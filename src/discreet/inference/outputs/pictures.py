"""Pictures of a posterior: traces, densities, intervals, and the comparison with the analysis that ignores the noise.

Every function returns a Matplotlib figure; ``figure.savefig("theta.png")`` writes it. No window is opened.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import groupby
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from discreet.errors import InvalidRequest
from discreet.inference.outputs.names import places
from discreet.inference.outputs.posterior import Posterior, check_level
from discreet.inference.outputs.series import Series, estimated, in_orders, series

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = npt.NDArray[np.float64]

AWARE, NAIVE, INK, SOFT, MUTED = "#2b6cb0", "#9c2f0f", "#1b2430", "#dfe6ee", "#55606e"
CHAINS = ("#2b6cb0", "#c2571a", "#3a7d44", "#7b4b94", "#b8860b", "#55606e", "#0b8a8a", "#9c2f0f")
_WIDTH = 7.2  # inches
_MOST = 12  # numbers drawn in panels of their own; a forest takes more
_MOST_ROWS = 60
_ROW = 0.1  # the share of a panel's height that an interval takes


def trace(posterior: Posterior, names: Sequence[str] | None = None) -> Figure:
    """Every chain's draws in order, one panel for each number."""
    shown, left_out = _few(series(posterior, names))
    figure = _figure(0.9 + 1.45 * len(shown), posterior, left_out)
    panels = figure.subplots(len(shown), 1, sharex=True, squeeze=False)[:, 0]
    drawn = min(posterior.chains, len(CHAINS))
    for axes, one in zip(panels, shown, strict=True):
        for chain in range(drawn):
            axes.plot(one.draws[chain], lw=0.5, alpha=0.75, color=CHAINS[chain])
        axes.set_ylabel(one.label, rotation=0, ha="right", va="center", fontsize=9)
        _plain(axes)
    panels[-1].set_xlabel("draw")
    chains = f"{drawn} of {posterior.chains} chains" if drawn < posterior.chains else f"{posterior.chains} chains"
    _title(figure, f"Traces of {chains}", posterior)
    return figure


def density(posterior: Posterior, names: Sequence[str] | None = None, level: float = 0.95) -> Figure:
    """The density of every number, with the interval of ``level`` and the median below it."""
    shown, left_out = _few(series(posterior, names))
    tail = (1 - check_level(level)) / 2
    figure, panels = _panels(len(shown), posterior, left_out)
    for axes, one in zip(panels, shown, strict=True):
        log = in_orders([one])
        _curve(axes, one, AWARE, "-", log, filled=True)
        _finish(axes, [one], log)
        _interval(axes, one.flat, tail, 0, 1, AWARE)
    _title(figure, f"Posterior densities, with medians and {100 * level:.4g} % intervals", posterior)
    return figure


def forest(posterior: Posterior, names: Sequence[str] | None = None, level: float = 0.95) -> Figure:
    """Medians with intervals of one half (thick) and of ``level`` (thin), below one another; a scale for each quantity."""
    shown, left_out = _few(series(posterior, names), _MOST_ROWS)
    tail = (1 - check_level(level)) / 2
    groups = [list(members) for _, members in groupby(shown, key=lambda s: s.quantity)]
    figure = _figure(1.0 + 0.3 * len(shown) + 0.55 * len(groups), posterior, left_out)
    ratios = [len(g) + 0.8 for g in groups]
    panels = figure.subplots(len(groups), 1, squeeze=False, height_ratios=ratios)[:, 0]
    for axes, members in zip(panels, groups, strict=True):
        for row, one in enumerate(reversed(members)):
            low, a, middle, b, high = np.quantile(one.flat, [tail, 0.25, 0.5, 0.75, 1 - tail])
            axes.plot([low, high], [row, row], color=AWARE, lw=1.4, solid_capstyle="butt")
            axes.plot([a, b], [row, row], color=AWARE, lw=5, solid_capstyle="butt")
            axes.plot(middle, row, "o", ms=5.5, mfc="white", mec=INK, mew=1.3)
        if in_orders(members):
            _log_scale(axes)
        axes.set_yticks(range(len(members)), [s.label for s in reversed(members)], fontsize=9)
        axes.set_ylim(-0.7, len(members) - 0.3)
        axes.tick_params(axis="y", length=0)
        _plain(axes)
    _title(figure, f"Medians with 50 % and {100 * level:.4g} % intervals", posterior)
    return figure


def comparison(
    posterior: Posterior,
    other: Posterior | None = None,
    names: Sequence[str] | None = None,
    truth: Mapping[str, Any] | None = None,
    level: float = 0.95,
    labels: tuple[str, str] | None = None,
) -> Figure:
    """The posterior over that of the naive analysis (or ``other``): densities, and below them their intervals.

    ``labels`` say what each of the two is, where their models and samplers do not.

    ``truth`` marks true values, by quantity or by single number, where someone knows them.
    """
    against = posterior.naive() if other is None else other
    pairs = {s.label: s for s in series(against)}
    both = [s for s in series(posterior, names) if s.label in pairs]
    if not both:
        raise InvalidRequest(
            f"the two posteriors must share a quantity, got {', '.join(posterior.draws)} and {', '.join(against.draws)}"
        )
    shown, left_out = _few(both)
    tail = (1 - check_level(level)) / 2
    true = _true(posterior, truth or {})
    figure, panels = _panels(len(shown), posterior, left_out, key=0.25)
    for axes, one in zip(panels, shown, strict=True):
        log = in_orders([one, pairs[one.label]])
        _curve(axes, pairs[one.label], NAIVE, "--", log, filled=False)
        _curve(axes, one, AWARE, "-", log, filled=True)
        _finish(axes, [one, pairs[one.label]], log)
        _interval(axes, one.flat, tail, 0, 2, AWARE)
        _interval(axes, pairs[one.label].flat, tail, 1, 2, NAIVE)
        if one.label in true:
            axes.axvline(true[one.label], color=INK, lw=1.2, ls=":")
    words = list(labels) if labels is not None else _labels(posterior, against)
    _key(figure, words, truth is not None)
    which = "Noise-aware and naive posteriors" if against.sampler == "naive" and labels is None else " and ".join(words)
    _title(figure, f"{which}, {100 * level:.4g} % intervals below", posterior)
    return figure


def _labels(posterior: Posterior, other: Posterior) -> list[str]:
    """What two posteriors are: the naive one says so; others by model, laws and sampler, as far as they differ."""
    if other.sampler == "naive":
        return ["the noise is in the model", "naive: the noise is ignored"]
    told = [
        {
            "model": str(p.model.get("model", "a model")),
            "laws": ", ".join(dict.fromkeys(r.mechanism.name for r in p.releases)) or "no release",
            "sampler": f"sampler {p.sampler}",
        }
        for p in (posterior, other)
    ]
    apart = [key for key in told[0] if told[0][key] != told[1][key]]
    if not apart:
        return ["this posterior", "the other posterior"]
    return [", ".join(one[key] for key in apart) for one in told]


def _true(posterior: Posterior, truth: Mapping[str, Any]) -> dict[str, float]:
    """True values by single number."""
    found: dict[str, float] = {}
    for name, value in truth.items():
        labels = places(name, posterior.axes(name)) if name in posterior.draws else [name]
        values = np.ravel(np.asarray(value, np.float64))
        if len(values) != len(labels):
            raise InvalidRequest(f"the truth of {name} must have {len(labels)} numbers, got {len(values)}")
        found |= dict(zip(labels, values.tolist(), strict=True))
    return found


def _log_scale(axes: Axes) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 3.0), numticks=8))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())


def _curve(axes: Axes, one: Series, colour: str, style: str, log: bool, *, filled: bool) -> None:
    """A density; on a scale of orders of magnitude that of the logarithm, so that areas stay probabilities."""
    at, height = estimated(Series(one.label, one.quantity, np.log(one.draws)) if log else one)
    at = np.exp(at) if log else at
    if len(at) == 1:
        axes.axvline(float(at[0]), color=colour, ls=style)
        return
    drawn = "steps-mid" if one.whole else "default"
    axes.plot(at, height, color=colour, ls=style, lw=1.6, drawstyle=drawn)
    if filled:
        axes.fill_between(at, height, color=colour, alpha=0.18, lw=0, step="mid" if one.whole else None)


def _interval(axes: Axes, values: Floats, tail: float, row: int, rows: int, colour: str) -> None:
    """An interval with its median in one of the rows below zero, in shares of the panel's height."""
    low, middle, high = np.quantile(values, [tail, 0.5, 1 - tail])
    placed, y = axes.get_xaxis_transform(), _ROW * (rows - row - 0.5)
    axes.plot([low, high], [y, y], transform=placed, color=colour, lw=2.4, solid_capstyle="butt")
    axes.plot(middle, y, "o", transform=placed, ms=4.5, mfc="white", mec=colour, mew=1.4)


def _finish(axes: Axes, shown: Sequence[Series], log: bool) -> None:
    """The label, and the range in which nearly all draws lie: a long tail would press the rest into a line."""
    low = min(float(np.quantile(s.flat, 0.002)) for s in shown)
    high = max(float(np.quantile(s.flat, 0.998)) for s in shown)
    if log:
        _log_scale(axes)
        axes.set_xlim(low, high)
    else:
        room = 0.08 * (high - low) or 0.5
        axes.set_xlim(low - room, high + room)
    top = max(axes.get_ylim()[1], 1e-300)
    axes.set_ylim(-top * _ROW * len(shown) / (1 - _ROW * len(shown)), top)
    axes.axhline(0, color=MUTED, lw=0.6)
    axes.set_yticks([])
    axes.set_title(shown[0].label, loc="left", fontsize=9, color=INK)
    _plain(axes)
    axes.spines["left"].set_visible(False)


def _few(found: list[Series], most: int = _MOST) -> tuple[list[Series], int]:
    return found[:most], max(0, len(found) - most)


def _figure(height: float, posterior: Posterior, left_out: int, key: float = 0.0) -> Figure:
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    notes = [f"{left_out} more are not drawn; name those you want"] if left_out else []
    lines = [line for note in [*posterior.notes, *notes] for line in wrap(f"Note: {note}.", 112)]
    below = 0.17 * len(lines) + (0.08 if lines else 0.0)
    whole = height + below
    room = (0.01, below / whole, 0.98, 1 - (below + 0.35 + key) / whole)
    figure = Figure(figsize=(_WIDTH, whole), layout=ConstrainedLayoutEngine(rect=room))
    if lines:
        figure.text(0.012, 0.06 / whole, "\n".join(lines), fontsize=8, color=NAIVE, va="bottom")
    return figure


def _panels(count: int, posterior: Posterior, left_out: int, key: float = 0.0) -> tuple[Figure, list[Axes]]:
    columns = 1 if count == 1 else 2 if count in (2, 4) else 3
    rows = math.ceil(count / columns)
    figure = _figure(0.6 + key + (2.4 if count == 1 else 1.85) * rows, posterior, left_out, key)
    panels = figure.subplots(rows, columns, squeeze=False).ravel().tolist()
    for axes in panels[count:]:
        axes.set_visible(False)
    return figure, panels[:count]


def _key(figure: Figure, words: Sequence[str], truth: bool) -> None:
    from matplotlib.lines import Line2D

    lines = [Line2D([], [], color=AWARE, lw=2), Line2D([], [], color=NAIVE, lw=2, ls="--")]
    lines += [Line2D([], [], color=INK, lw=1.2, ls=":")] if truth else []
    height = figure.get_size_inches()[1]
    figure.legend(
        lines, [*words, "truth"][: len(lines)], loc="upper left", bbox_to_anchor=(0.005, 1 - 0.3 / height), ncols=3,
        frameon=False, fontsize=8.5,
    )  # fmt: skip


def _title(figure: Figure, words: str, posterior: Posterior) -> None:
    mark = " (approximate)" if posterior.approximate else ""
    height = figure.get_size_inches()[1]
    figure.text(0.012, 1 - 0.1 / height, words + mark, fontsize=11, color=INK, va="top", weight="bold")


def _plain(axes: Axes) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(MUTED)
    axes.tick_params(colors=INK, labelsize=8)
    axes.grid(alpha=0.25, lw=0.6)
    axes.set_axisbelow(True)
