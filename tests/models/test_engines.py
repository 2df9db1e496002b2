"""The same coefficients before noise from arrays, data frames, files and a cluster."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import discreet as ds
from discreet.models.design import Design
from discreet.models.losses import HuberHinge, Logistic
from discreet.models.queries.empirical_risk import Minimiser, Problem
from discreet.models.queries.opera import Descent
from discreet.models.solve.objective import Objective
from discreet.sources import open_source


def table(count: int = 1500) -> dict[str, Any]:
    """Numbers with gaps and outliers, categories with strangers, several rows of a person."""
    rng = np.random.default_rng(12)
    rows: dict[str, Any] = {
        "a": rng.normal(0, 2, count),
        "b": rng.uniform(-1, 1, count),
        "c": rng.choice(["u", "v", "?"], count),
        "g": rng.choice(["x", "y"], count),
        "w": rng.uniform(0, 3, count),
        "id": rng.integers(0, count // 3, count),
    }
    rows["y"] = np.where(rows["a"] + rng.logistic(size=count) > 0, "p", "n")
    rows["a"][::11] = np.nan
    rows["b"][::17] = 50.0
    return rows


SCHEMA = {
    "a": ds.Real(-3, 3),
    "b": ds.Real(-1, 1),
    "c": ds.Categories(["u", "v"]),
    "g": ds.Categories(["x", "y"]),
    "w": ds.Real(0, 2),
    "y": ds.Categories(["n", "p"]),
}


def frame(spark: Any, rows: dict[str, Any]) -> Any:
    cells = zip(*(v.tolist() for v in rows.values()), strict=True)
    plain = [tuple(None if isinstance(v, float) and math.isnan(v) else v for v in row) for row in cells]
    return spark.createDataFrame(plain, list(rows)).coalesce(1)


def asked(source: Any, design: Design) -> list[Any]:
    """Minimisers of several problems, inside and outside of noise, with a filter and without; and a descent."""
    linear = np.linspace(-1, 1, design.width)
    answers = []
    for part in (source, source.where(g="x")):
        answers.append(Minimiser(design, Logistic(), Fraction(1, 10), Fraction(1, 10**10)).evaluate(part))
        answers.append(Problem(design, HuberHinge()).evaluate(part).minimise(linear, 0.5, 1e-9))
    answers.append(Descent(design, Logistic(), Fraction(1), 1500, 6, Fraction(1)).evaluate(source))
    return answers


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_engines_agree_before_noise(relation: Any, tmp_path: Path) -> None:
    """To 1e-8, from arrays, a data frame and a Parquet file that DuckDB reads."""
    rows = table()
    schema = ds.Schema(SCHEMA, person="id", max_rows=2, neighbors=relation)
    file = tmp_path / "table.parquet"
    pl.DataFrame(rows, nan_to_null=True).write_parquet(file, row_group_size=200)
    design = Design.of(schema, ["a", "b", "c"], "y", weight="w", radius=Fraction(1))
    here = asked(open_source(rows, schema), design)
    for other in (pl.DataFrame(rows), file):
        there = asked(open_source(other, schema), design)
        assert max(np.abs(a - b).max() for a, b in zip(here, there, strict=True)) <= 1e-8
    assert np.abs(here[0] - here[2]).max() > 1e-3  # the filter filters


def test_spark_agrees_before_noise(spark: Any) -> None:
    """To 1e-8, on a filtered table with people, gaps and strangers.

    Every pass is a job of the cluster, so there is one: the gradient of the cluster at the minimiser of memory is g, and its
    own minimiser is within |g| / ridge of that. The Hessian agrees too, so that steps do.
    """
    rows = table(400)
    schema = ds.Schema(SCHEMA, person="id", max_rows=2)
    design = Design.of(schema, ["a", "b", "c"], "y", weight="w")
    here, there = (open_source(t, schema, version="one").where(g="x") for t in (rows, frame(spark, rows)))
    theta = Minimiser(design, Logistic(), Fraction(20), Fraction(1, 10**9)).evaluate(here)
    assert np.abs(theta).max() > 0.01
    ours, theirs = (Problem(design, Logistic()).evaluate(s).at(theta, "second") for s in (here, there))
    assert np.linalg.norm(theirs.gradient + 20 * theta) / 20 <= 1e-8
    assert np.abs(ours.hessian - theirs.hessian).max() <= 1e-12
    assert ours.weights == pytest.approx(theirs.weights, rel=1e-12)


def test_passes_over_a_source_and_rows_in_memory_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows too many to be kept are passed over again and again, in small batches: the same minimiser."""
    rows = table(700)
    schema = ds.Schema(SCHEMA, person="id", max_rows=2)
    design = Design.of(schema, ["a", "b", "c"], "y")
    kept = Objective(design, Logistic(), open_source(rows, schema))
    assert kept.kept is not None
    monkeypatch.setattr("discreet.models.solve.objective._KEPT_BYTES", 10)
    passed = Objective(design, Logistic(), open_source(rows, schema, version="1"))
    zeros = np.zeros(design.width)
    one, other = (o.minimise(zeros, 0.3, 1e-10) for o in (kept, passed))
    assert passed._rows is None
    assert one is not None
    assert np.abs(one - other).max() <= 1e-9
    assert np.abs(kept.at(one, "first", fine=True).gradient - passed.at(one, "first").gradient).max() < 1e-12


def test_a_person_counts_with_the_rows_declared() -> None:
    """A person with many rows keeps two: a third identical one changes nothing."""
    schema = ds.Schema(SCHEMA, person="id", max_rows=2)
    design = Design.of(schema, ["a"], "y")
    cells = {"a": [1.0] * 2, "b": [0.0] * 2, "c": ["u"] * 2, "g": ["x"] * 2, "w": [1.0] * 2, "y": ["p"] * 2, "id": [1] * 2}
    more = {k: [*v, *v] for k, v in cells.items()}
    few, many = (Problem(design, Logistic()).evaluate(open_source(t, schema)) for t in (cells, more))
    assert few.at(np.zeros(2), "first").slopes == many.at(np.zeros(2), "first").slopes == 1.0
