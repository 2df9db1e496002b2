"""Lots are added up by Spark's workers, and give what memory gives."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import discreet as ds
from discreet.core.random import Random
from discreet.core.runner import Desk, NoLedger
from discreet.models.design import Design
from discreet.models.gradient.engine import Run, descend
from discreet.models.gradient.network import classifier
from discreet.models.gradient.steps import Constant
from discreet.sources import open_source


def test_the_same_run_on_spark(spark: Any) -> None:
    rng = np.random.default_rng(4)
    rows = {"a": rng.uniform(-1, 1, 300), "b": rng.uniform(-1, 1, 300), "id": rng.integers(0, 120, 300)}
    rows["y"] = (rows["a"] > 0).astype(int)
    rows["a"][::17] = np.nan
    schema = ds.Schema({"a": ds.Real(-1, 1), "b": ds.Real(-1, 1), "y": ds.Categories((0, 1))}, person="id", max_rows=2)
    frame = spark.createDataFrame([tuple(r) for r in zip(*(v.tolist() for v in rows.values()), strict=True)], list(rows))
    design = Design.of(schema, ["a", "b"], "y", intercept=False)
    facts: dict[str, Any] = {"clip": 1, "sizes": Constant(1.0), "expected_rows": 300, "relation": "add_remove"}
    whole = Run.within(design, classifier(2, (4,), 2), epsilon=math.inf, delta=None, lot=300, steps=2, **facts)
    lots = Run.within(design, classifier(2, (4,), 2), epsilon=8.0, delta=1e-4, lot=60, steps=1, **facts)

    def flat(table: Any, run: Run) -> Any:
        return Desk(open_source(table, schema, version="one"), NoLedger(), Random(1), "add_remove").run(descend(run)).flat

    assert np.abs(flat(rows, whole) - flat(frame, whole)).max() < 1e-13
    assert np.isfinite(flat(frame, lots)).all()
