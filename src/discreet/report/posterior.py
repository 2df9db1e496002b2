"""The page about a posterior: what can be concluded, what was assumed, and whether the draws can be trusted."""

from __future__ import annotations

import base64
import datetime
import io
import warnings
from collections.abc import Callable, Mapping
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet import __version__
from discreet.core.release import Release
from discreet.errors import InvalidRequest
from discreet.inference.outputs.diagnostics import PoorSampling
from discreet.inference.outputs.posterior import Posterior
from discreet.report.numerals import percent, shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST_ROWS = 60
_DOTS = 130  # per inch
_FEWER_DOTS = 80  # for traces, which no compression makes small


def render(posterior: Posterior, title: str, *, level: float = 0.95, draws_file: str = "draws.nc") -> str:
    """One file, no network, readable by a non-expert."""
    from jinja2 import Environment, StrictUndefined

    here = files("discreet.report")
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string(here.joinpath("posterior.html.j2").read_text(encoding="utf-8"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PoorSampling)  # the page says it
        summary = posterior.summary(level)
    rows = summary.cells()
    first = summary.rows[0]
    page = template.render(
        title=title,
        made=datetime.datetime.now(datetime.UTC).date().isoformat(),
        version=__version__,
        style=here.joinpath("style.css").read_text(encoding="utf-8"),
        notes=summary.notes,
        level=percent(level),
        sentence=f"{first['name']} lies between {shown(first['low'])} and {shown(first['high'])} with {percent(level)} "
        f"probability, and its median is {shown(first['median'])}.",
        forest=image(posterior.plot_forest(level=level)),
        forest_alt="; ".join(
            f"{r['name']}: {shown(r['median'])} ({shown(r['low'])} to {shown(r['high'])})" for r in summary.rows[:8]
        ),
        heads=summary.heads(),
        rows=rows[:_MOST_ROWS],
        left_out=max(0, len(rows) - _MOST_ROWS),
        trace=image(posterior.plot_trace(), _FEWER_DOTS),
        assumed=assumed(posterior.model) + _several(posterior),
        observed=[_observed(release) for release in posterior.releases],
        drawn=_drawn(posterior),
        verdict=_verdict(posterior),
        draws_file=draws_file,
        **_compared(posterior, level),
    )
    return page.replace(" %", "\u00a0%")  # a number and its unit stay on one line


def image(figure: Figure, dots: int = _DOTS) -> str:
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=dots)
    return "data:image/png;base64," + base64.b64encode(out.getvalue()).decode("ascii")


def _compared(posterior: Posterior, level: float) -> dict[str, Any]:
    """The picture beside the naive analysis, and how much narrower that one is."""
    try:
        other = posterior.naive()
        picture = posterior.plot_comparison(other)
    except InvalidRequest as problem:
        return {"comparison": None, "narrower": "", "no_comparison": str(problem)}
    ratios = []
    for name in set(posterior.draws) & set(other.draws):
        (low, high), (left, right) = posterior.interval(name, level), other.interval(name, level)
        width = np.asarray(right) - np.asarray(left)
        ratios += np.ravel((np.asarray(high) - np.asarray(low)) / np.where(width > 0, width, np.nan)).tolist()
    known = [r for r in ratios if np.isfinite(r)]
    least, most = (shown(round(f(known), 2)) if known else "" for f in (min, max))
    times = least if least == most else f"{least} to {most}"
    words = f"The intervals that know the noise are {times} times as wide as those that take the released numbers for exact."
    return {"comparison": image(picture), "narrower": words if known else "", "no_comparison": ""}


def _observed(release: Release) -> dict[str, str]:
    law = release.mechanism
    name = str(law.name).replace("_", " ").replace("laplace", "Laplace").replace("gaussian", "Gaussian")
    scales = sorted({float(s) for s in getattr(law, "scales", ())})
    size = f", scale {' to '.join(shown(s) for s in dict.fromkeys((scales[0], scales[-1])))}" if scales else ""
    columns = ", ".join(release.columns) or "rows"
    count = np.size(release.value)
    return {
        "what": f"{count} number{'s' if count > 1 else ''} about {columns}",
        "law": name[0].upper() + name[1:] + size,
        "cost": "unknown" if release.cost is None else str(release.cost),
        "entry": str(release.entry.number) if release.entry is not None and release.entry.hash else "none",
    }


def _drawn(posterior: Posterior) -> str:
    size = f"{posterior.chains} chains of {posterior.count:,} draws"
    time = f"{posterior.seconds:.2g} seconds, and {posterior.compile_seconds:.2g} to compile"
    return f"{size} were made by the sampler “{posterior.sampler.replace('_', ' ')}” in {time}."


def _verdict(posterior: Posterior) -> str:
    if posterior.problems:
        return "They should not be trusted yet: " + "; ".join(posterior.problems) + "."
    exact = "" if posterior.approximate else " The sampler is exact: more draws come arbitrarily close to the posterior."
    return f"The chains agree and are long enough for every quantity above.{exact}"


def assumed(model: Mapping[str, Any]) -> list[str]:
    """The data model and its prior, in words."""
    kind = str(model.get("model", "own"))
    words = _WORDS.get(kind)
    lines = [words(model) if words else f"The model is “{kind.replace('_', ' ')}”, as given by whoever made this page."]
    rows = model.get("n")
    if isinstance(rows, int | float):
        lines.append(f"The number of people is public: {rows:,.0f}.")
    elif "rows" in model:
        prior = _prior_of_rows(model["rows"])
        lines.append(f"The number of people is not known either, and was drawn along; before, its law was {prior}.")
    return lines


def _prior_of_rows(rows: Mapping[str, Any]) -> str:
    if rows["law"] == "uniform":
        return f"flat from {rows['least']:,} to {rows['most']:,}, far beyond what the noise allows"
    return f"Poisson of mean {shown(rows['mean'])}" if rows["law"] == "poisson" else f"“{rows['law']}”"


def _several(posterior: Posterior) -> list[str]:
    """What the model takes rows for: people of their own, with a value in every column."""
    queries = [r.query for r in posterior.releases if r.query is not None]
    most = max((int(getattr(q, "rows", 1)) for q in queries if q.name == "cells"), default=1)
    columns = dict.fromkeys(c for r in posterior.releases for c in r.columns)
    said = [f"A person may have up to {most} rows; the model takes every row for a person of its own."] if most > 1 else []
    if len(queries) > 1 and len(columns) > 1:
        said.append(f"Every row is taken to have a value in each of the columns {', '.join(columns)}.")
    elif columns:
        said.append("A row without a value is left out, as it was when the numbers were released.")
    return said


def _variance(model: Mapping[str, Any]) -> str:
    variance = model["variance"]
    if isinstance(variance, list | tuple):
        return f"of unknown variance (inverse gamma, shape {shown(variance[0])}, scale {shown(variance[1])})"
    return f"of the known variance {shown(variance)}"


def _table(model: Mapping[str, Any]) -> str:
    alpha = model["alpha"]
    size = "weights of their own" if isinstance(alpha, list | tuple) else f"weight {shown(alpha)}"
    return (
        "Everyone falls into one cell of the table, independently of the others, with the shares that are asked for. Before "
        f"anything was seen all shares were possible: a Dirichlet prior, each cell with {size}."
    )


def _normal(model: Mapping[str, Any]) -> str:
    return (
        f"Everyone's value is normal around an unknown mean, {_variance(model)}; values beyond the declared bounds were "
        "moved to them, as when the number was released. Before anything was seen the mean was taken to be "
        f"{shown(model['mean'])} ± {shown(model['deviation'])}."
    )


def _regression(model: Mapping[str, Any]) -> str:
    names = list(model.get("columns") or ["x", "y"])
    return (
        f"{names[-1]} is a constant plus a multiple of {', '.join(names[:-1])}, plus a normal rest {_variance(model)}; "
        f"{', '.join(names[:-1])} normal too. Before anything was seen every coefficient was taken to be 0 ± "
        f"{shown(model['deviation'])}."
    )


_WORDS: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "dirichlet_multinomial": _table,
    "beta_bernoulli": lambda m: (
        "Everyone is a yes with the same unknown probability, independently of the others; before anything was seen it had "
        f"the prior Beta({shown(m['a'])}, {shown(m['b'])})."
    ),
    "normal": _normal,
    "gamma_poisson": lambda m: (
        "Everyone's count is Poisson with the same unknown rate; before anything was seen it had the prior "
        f"Gamma({shown(m['shape'])}, {shown(m['inverse_scale'])})."
    ),
    "linear_regression": _regression,
    "logistic_regression": lambda m: (
        "The chance of a yes depends on the covariates through a logistic curve; before anything was seen every coefficient "
        f"was taken to be 0 ± {shown(m['deviation'])}."
    ),
}
