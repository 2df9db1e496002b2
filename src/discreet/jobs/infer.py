"""Draws from the posterior given released numbers, with what they say: the law of the noise is in the model."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from discreet import inference
from discreet.core.release import Release
from discreet.core.releases import Answer
from discreet.errors import InvalidRequest
from discreet.inference.evidence.laws import density
from discreet.inference.models.base import positive
from discreet.inference.outputs.diagnostics import PoorSampling
from discreet.inference.outputs.posterior import Posterior, check_level
from discreet.jobs import observed
from discreet.jobs.observed import PopulationModel
from discreet.jobs.output import Writer, folder_for
from discreet.report import posterior as page

TABLE, SUMMARY, PAGE = "summary.csv", "summary.json", "posterior.html"
NETCDF, DOCUMENT = "draws.nc", "draws.json"
_LEAST_RATE = 1e-9  # counts have bounds of at least 0
Priors = Mapping[str, Any]  # the options of a prior by their names; None where none was given


def prepared(
    model: PopulationModel,
    picked: Sequence[Answer],
    seen: Sequence[Answer],
    columns: list[str],
    target: str | None,
    priors: Priors,
) -> tuple[list[Release], Any]:
    """The releases to use and the data model, in the units of the declared bounds."""
    if model in (PopulationModel.table, PopulationModel.share):
        fits = observed.COUNTED if model is PopulationModel.table else (*observed.COUNTED, "mean", "sum")
        one = picked or [observed.only(observed.fitting(seen, model.value, fits, columns), seen, model.value)]
        releases = _releases(one)
        if model is PopulationModel.table:
            return releases, inference.DirichletMultinomial(priors["alpha"])
        return releases, inference.BetaBernoulli(priors["alpha"], priors["alpha"], success=priors["success"])
    if model in (PopulationModel.mean, PopulationModel.rate):
        found = picked or observed.fitting(seen, model.value, observed.SUMMED, columns)
        names = list(dict.fromkeys(c for s in found for c in s.columns))
        if len(names) != 1:
            raise InvalidRequest(
                f"--model {model.value} is about one column, got {', '.join(names) or 'none'}; choose with --column or --ask"
            )
        releases = _releases(found)
        low, high = _bounds(releases)[names[0]]
        if model is PopulationModel.rate:
            return releases, inference.GammaPoisson(
                1.0,
                1 / positive(_given(priors, "mean", max((low + high) / 2, _LEAST_RATE)), "--prior-mean"),
                columns=(names[0],),
            )
        return releases, inference.Normal(
            mean=_given(priors, "mean", (low + high) / 2),
            deviation=_given(priors, "deviation", high - low),
            variance=_given(priors, "variance", _spread(low, high)),
            columns=(names[0],),
        )
    return _line(model, picked, seen, columns, target, priors)


def _line(
    model: PopulationModel,
    picked: Sequence[Answer],
    seen: Sequence[Answer],
    columns: list[str],
    target: str | None,
    priors: Priors,
) -> tuple[list[Release], Any]:
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
    if model is PopulationModel.logistic:
        return releases, inference.LogisticRegression(deviation=_given(priors, "deviation", 2.5), **shared)
    steepest = max((high - low) / (bounds[c][1] - bounds[c][0]) for c in columns[:-1])
    return releases, inference.LinearRegression(
        deviation=_given(priors, "deviation", 2 * max(abs(low), abs(high), steepest)),
        variance=_given(priors, "variance", _spread(low, high)),
        **shared,
    )


def _given(priors: Priors, name: str, usual: Any) -> Any:
    """An option as it was given, zero too: what is not allowed is then refused, and not replaced."""
    return usual if priors[name] is None else priors[name]


def _spread(low: float, high: float) -> tuple[float, float]:
    """An inverse-gamma prior of a variance: its mean is the square of a quarter of the bounds, give or take 70 %."""
    return 4.0, 3 * ((high - low) / 4) ** 2


def _releases(found: Sequence[Answer]) -> list[Release]:
    """Those behind some answers; refuses one whose law has no density, such as a median, before anything else."""
    releases = [release for one in found for release in one.releases]
    for release in releases:
        if release.mechanism.name != "randomized_response":  # read report by report
            density(release.mechanism, int(np.size(release.value)))
    return releases


def _bounds(releases: Sequence[Release]) -> dict[str, tuple[float, float]]:
    """The declared bounds of every column that is a number."""
    found: dict[str, tuple[float, float]] = {}
    for release in releases:
        for query in release.queries:
            factors = getattr(query, "factors", None) or [getattr(query, name, None) for name in ("x", "y", "number")]
            found |= {f.column: (f.lo, f.hi) for f in factors if f is not None and f.is_number}
    if not found:
        raise InvalidRequest("the releases must say the bounds of a column, and do not; use ds.inference.infer in Python")
    return found


def drawn(
    releases: list[Release], model: Any, title: str, folder: Path, level: float, options: dict[str, Any]
) -> dict[str, Any]:
    """Check that the folder can be written, draw, write; the document that describes it."""
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
        write(PAGE, page.render(posterior, title, level=level, draws_file=file.name))
    written = [str(path) for path in (file, folder / TABLE, folder / SUMMARY, folder / PAGE)]
    return doc | {"written": written, "heads": summary.heads(), "cells": summary.cells()}


def _save(posterior: Posterior, folder: Path, write: Writer) -> Path:
    """The draws as netCDF where the libraries for it are there, else as JSON; whole or not at all."""
    made: Path
    try:
        made = posterior.to_netcdf(folder / NETCDF)
    except InvalidRequest:
        made = write(DOCUMENT, posterior.to_json())
    return made
