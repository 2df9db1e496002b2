"""The page about synthetic tables: what was measured, how far the table is from it, and what it must not be used for.

Its only input is what was released, so it can show noisy counts with their error and never the real ones.
"""

from __future__ import annotations

import datetime
from importlib.resources import files
from itertools import combinations

from discreet import __version__
from discreet.report.numerals import shown
from discreet.report.posterior import image
from discreet.synthetic import pictures
from discreet.synthetic.tables import Synthetic

_MOST_ROWS = 60
_MOST_PAIRS = 40


def render(synthetic: Synthetic, title: str, written: tuple[str, ...] = ()) -> str:
    """One file, no network, readable by a non-expert; ``written`` are the files beside it."""
    from jinja2 import Environment, StrictUndefined

    here = files("discreet.report")
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string(here.joinpath("synthetic.html.j2").read_text(encoding="utf-8"))
    found = synthetic.distances()
    pairs = pictures.pairs(synthetic)
    alone = any(len(m.places) == 1 and m.direct for m in synthetic.measurements)
    page = template.render(
        title=title,
        made=datetime.datetime.now(datetime.UTC).date().isoformat(),
        version=__version__,
        style=here.joinpath("style.css").read_text(encoding="utf-8"),
        private=synthetic.private,
        columns=", ".join(synthetic.columns),
        rows=f"{synthetic.rows:,}",
        tables=synthetic.count,
        cost=str(synthetic.cost),
        free=synthetic.cost.epsilon == 0,
        picture=image(pictures.columns(synthetic)) if alone else None,
        pairs=None if pairs is None else image(pairs),
        distances=[
            {
                "columns": " × ".join(each.columns),
                "cells": f"{each.cells:,}",
                "deviation": shown(each.deviation),
                "measured": f"{each.measured:.3f}",
                "noise": f"{each.noise:.3f}",
                "at_most": f"{each.at_most:.3f}",
            }
            for each in found[:_MOST_ROWS]
        ],
        left_out=max(0, len(found) - _MOST_ROWS),
        moments=_moments(synthetic),
        means={size: _mean([a.at_most for a in found if len(a.columns) == size]) for size in (1, 2)},
        guessed=_guessed(synthetic),
        impossible=synthetic.writer.impossible,
        several=synthetic.domain.rows,
        written=written,
    )
    return page.replace(" %", "\u00a0%")


def _mean(values: list[float]) -> str | None:
    return f"{sum(values) / len(values):.3f}" if values else None


def _moments(synthetic: Synthetic) -> list[str]:
    """The columns of which something else than counts was used: means, and what goes into correlations."""
    used = [m.places for m in synthetic.measurements if m.places and not m.disjoint]
    return [" × ".join(synthetic.domain.names[i] for i in places) for places in dict.fromkeys(used)]


def _guessed(synthetic: Synthetic) -> list[str]:
    """The pairs of columns that were not measured together."""
    known = {frozenset(pair) for names in synthetic.measured_together for pair in combinations(names, 2)}
    missing = [pair for pair in combinations(synthetic.domain.names, 2) if frozenset(pair) not in known]
    words = [f"{a} and {b}" for a, b in missing[:_MOST_PAIRS]]
    return [*words, f"and {len(missing) - _MOST_PAIRS} more"] if len(missing) > _MOST_PAIRS else words
