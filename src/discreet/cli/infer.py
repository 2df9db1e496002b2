"""``discreet infer``: what can be concluded from numbers that were released, with the law of their noise in the model."""

from __future__ import annotations

import enum
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli import show
from discreet.errors import InvalidRequest

TABLE, SUMMARY, PAGE = "summary.csv", "summary.json", "posterior.html"
NETCDF, DOCUMENT = "draws.nc", "draws.json"


class Model(enum.StrEnum):
    """What the people of a table are taken to be like."""

    table = "table"
    share = "share"
    mean = "mean"
    rate = "rate"
    regression = "regression"
    logistic = "logistic"


def register(app: typer.Typer) -> None:
    """Add the command ``infer``."""
    app.command("infer")(infer)


def infer(
    file: Annotated[Path, typer.Argument(help="A releases.json, a result or a release.", metavar="RELEASES")],
    model: Annotated[Model, typer.Option("--model", "-m", help="What people are taken to be like.")],
    ask: Annotated[
        list[str] | None, typer.Option("--ask", "-a", help="The number or title of an answer to use; may be repeated.")
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option("--column", "-c", help="The column of a mean, share or rate; a feature of a regression."),
    ] = None,
    target: Annotated[str | None, typer.Option("--target", "-t", help="The column a regression explains.")] = None,
    rows: Annotated[int | None, typer.Option("--rows", "-n", help="The number of people, where it is public.")] = None,
    success: Annotated[str | None, typer.Option("--success", help="The label that counts as a yes, for a share.")] = None,
    alpha: Annotated[float, typer.Option("--alpha", help="Prior weight of every cell of a table or side of a share.")] = 1.0,
    prior_mean: Annotated[
        float | None, typer.Option("--prior-mean", help="Where a mean was expected; the middle of the declared bounds.")
    ] = None,
    prior_sd: Annotated[
        float | None, typer.Option("--prior-sd", help="How far off that may be; by default as wide as the bounds.")
    ] = None,
    variance: Annotated[
        float | None, typer.Option("--variance", help="The variance of people's values, where it is known.")
    ] = None,
    sampler: Annotated[
        str | None, typer.Option("--sampler", help="Another sampler than the one made for the model.")
    ] = None,
    draws: Annotated[int, typer.Option("--draws", help="Draws of each chain.")] = 1000,
    warmup: Annotated[int, typer.Option("--warmup", help="Steps of each chain before them.")] = 1000,
    chains: Annotated[int, typer.Option("--chains", help="Chains.")] = 4,
    seed: Annotated[int | None, typer.Option("--seed", help="Makes the same draws again.")] = None,
    level: Annotated[float, typer.Option("--level", help="Probability of the intervals.")] = 0.95,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The folder to write into; MODEL-posterior beside RELEASES.")
    ] = None,
    json: show.Json = False,
) -> None:
    """Draw from the posterior given RELEASES; write the draws, summary.csv, summary.json and posterior.html.

    Nothing is paid: only what was released is looked at. Clamp, grid and the law of the noise come from the releases.
    """
    from discreet.cli import observed

    title, seen = observed.read(file)
    picked = observed.chosen(seen, ask or [])
    columns = [*(column or []), *([target] if target else [])]
    priors = {"alpha": alpha, "mean": prior_mean, "deviation": prior_sd, "variance": variance, "success": success}
    releases, described = _prepare(model, picked, seen, columns, target, priors)
    folder = out or file.with_name(f"{model.value}-posterior")
    doc = _drawn(releases, described, title, folder, level, {
        "draws": draws, "warmup": warmup, "chains": chains, "seed": seed, "sampler": sampler, "n": rows,
    })  # fmt: skip
    if json:
        show.document(doc)
        return
    show.table(title, ["quantity", *doc["heads"][1:]], doc["cells"])
    for note in doc["summary"]["notes"]:
        show.say(f"Note: {note}.")
    word = " (approximate)" if doc["approximate"] else ""
    size = f"{doc['chains']} chains of {doc['draws']:,} draws by the sampler {doc['sampler']!r}{word}"
    show.say(f"{size}: {doc['seconds']:.2g} seconds, and {doc['compile_seconds']:.2g} to compile.")
    show.say(f"Wrote {', '.join(doc['written'][:-1])} and {doc['written'][-1]}.")


def _prepare(
    model: Model, picked: Sequence[Any], seen: Sequence[Any], columns: list[str], target: str | None, priors: dict[str, Any]
) -> tuple[list[Any], Any]:
    """The releases to use and the data model, in the units of the declared bounds."""
    from discreet import inference
    from discreet.cli import observed

    if model in (Model.table, Model.share):
        fits = observed.COUNTED if model is Model.table else (*observed.COUNTED, "mean", "sum")
        one = picked or [observed.only(observed.fitting(seen, model.value, fits, columns), seen, model.value)]
        releases = _releases(one)
        if model is Model.table:
            return releases, inference.DirichletMultinomial(priors["alpha"])
        return releases, inference.BetaBernoulli(priors["alpha"], priors["alpha"], success=priors["success"])
    if model in (Model.mean, Model.rate):
        found = picked or observed.fitting(seen, model.value, observed.SUMMED, columns)
        names = list(dict.fromkeys(c for s in found for c in s.columns))
        if len(names) != 1:
            raise InvalidRequest(
                f"--model {model.value} is about one column, got {', '.join(names) or 'none'}; choose with --column or --ask"
            )
        releases = _releases(found)
        low, high = _bounds(releases)[names[0]]
        if model is Model.rate:
            return releases, inference.GammaPoisson(
                1.0, 1 / max(priors["mean"] or (low + high) / 2, 1e-9), columns=(names[0],)
            )
        return releases, inference.Normal(
            mean=(low + high) / 2 if priors["mean"] is None else priors["mean"],
            deviation=(high - low) if priors["deviation"] is None else priors["deviation"],
            variance=priors["variance"] or _spread(low, high),
            columns=(names[0],),
        )
    return _line(model, picked, seen, columns, target, priors)


def _line(
    model: Model, picked: Sequence[Any], seen: Sequence[Any], columns: list[str], target: str | None, priors: dict[str, Any]
) -> tuple[list[Any], Any]:
    from discreet import inference
    from discreet.cli import observed

    if target is None or len(columns) < 2:
        raise InvalidRequest(
            f"--model {model.value} needs a target and features, got {target!r} and {columns[:-1] if target else columns}; "
            "write --target y --column x"
        )
    releases = _releases(picked or observed.fitting(seen, model.value, observed.CROSSED, columns))
    bounds = _bounds(releases)
    lacking = [c for c in columns if c not in bounds]
    if lacking:
        raise InvalidRequest(f"the releases must be about {' and '.join(columns)}, and none of them has {lacking[0]!r}")
    x = [max(map(abs, bounds[c])) for c in columns[:-1]]
    low, high = bounds[target]
    shared: dict[str, Any] = {"features": len(columns) - 1, "covariate_deviation": 2 * max(x), "columns": tuple(columns)}
    if model is Model.logistic:
        return releases, inference.LogisticRegression(deviation=priors["deviation"] or 2.5, **shared)
    steepest = max((high - low) / (bounds[c][1] - bounds[c][0]) for c in columns[:-1])
    return releases, inference.LinearRegression(
        deviation=priors["deviation"] or 2 * max(abs(low), abs(high), steepest),
        variance=priors["variance"] or _spread(low, high),
        **shared,
    )


def _spread(low: float, high: float) -> tuple[float, float]:
    """An inverse-gamma prior of a variance: its mean is the square of a quarter of the bounds, give or take 70 %."""
    return 4.0, 3 * ((high - low) / 4) ** 2


def _releases(found: Sequence[Any]) -> list[Any]:
    """Those behind some answers; refuses one whose law has no density, such as a median, before anything else."""
    import numpy as np

    from discreet.inference.evidence.laws import density

    releases = [release for one in found for release in one.releases]
    for release in releases:
        if release.mechanism.name != "randomized_response":  # read report by report
            density(release.mechanism, int(np.size(release.value)))
    return releases


def _bounds(releases: Sequence[Any]) -> dict[str, tuple[float, float]]:
    """The declared bounds of every column that is a number."""
    found: dict[str, tuple[float, float]] = {}
    for release in releases:
        for query in getattr(release.query, "parts", (release.query,)):
            factors = getattr(query, "factors", None) or [getattr(query, name, None) for name in ("x", "y", "number")]
            found |= {f.column: (f.lo, f.hi) for f in factors if f is not None and f.is_number}
    if not found:
        raise InvalidRequest("the releases must say the bounds of a column, and do not; use ds.inference.infer in Python")
    return found


def _drawn(
    releases: list[Any], model: Any, title: str, folder: Path, level: float, options: dict[str, Any]
) -> dict[str, Any]:
    """Check that the folder can be written, draw, write; the document that describes it."""
    import json

    from discreet import inference
    from discreet.cli.output import folder_for
    from discreet.inference.outputs.diagnostics import PoorSampling
    from discreet.inference.outputs.posterior import check_level
    from discreet.report.posterior import render

    check_level(level)
    with folder_for(folder, [TABLE, SUMMARY, PAGE, NETCDF, DOCUMENT]) as write:
        posterior = inference.infer(releases, model, **options)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PoorSampling)  # its notes are shown
            summary = posterior.summary(level)
        file = _save(posterior, folder, write)
        doc = {
            "kind": "posterior_summary",
            "schema": 1,
            "title": title,
            "model": posterior.model,
            "sampler": posterior.sampler,
            "approximate": posterior.approximate,
            "interrupted": posterior.interrupted,
            "chains": posterior.chains,
            "draws": posterior.count,
            "seconds": posterior.seconds,
            "compile_seconds": posterior.compile_seconds,
            "cost": None if posterior.cost is None else str(posterior.cost),
            "summary": summary.to_dict(),
        }
        write(TABLE, summary.to_csv())
        write(SUMMARY, json.dumps(doc, indent=1, default=str) + "\n")
        write(PAGE, render(posterior, title, level=level, draws_file=file.name))
    written = [str(path) for path in (file, folder / TABLE, folder / SUMMARY, folder / PAGE)]
    return doc | {"written": written, "heads": summary.heads(), "cells": summary.cells()}


def _save(posterior: Any, folder: Path, write: Any) -> Path:
    """The draws as netCDF where the libraries for it are there, else as JSON; whole or not at all."""
    made: Path
    try:
        made = posterior.to_netcdf(folder / NETCDF)
    except InvalidRequest:
        made = write(DOCUMENT, posterior.to_json())
    return made
