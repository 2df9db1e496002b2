"""Statistics through a Spark session give the whole numbers that memory gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from study import engines as study

import discreet as ds
from discreet.errors import InvalidRequest, UnsupportedFormat
from discreet.sources import open_source
from discreet.sources.spark_workers import Workers
from tests.descriptive.test_statistics import ASKED


def test_the_same_exact_sums_on_spark(spark: Any) -> None:
    """Every statistic, a fit and a minibatch of gradients."""
    table = study.made(4, 500)
    frame = spark.createDataFrame(table).repartition(2)
    found = study.compared(table, frame, people=True, together=True)
    assert (found["statistics"], found["different"]) == (len(ASKED) + 1, 0)
    schema = ds.Schema({"x": ds.Real(-2, 4)}, person="id", max_rows=2)
    session = ds.Session(frame, schema, ds.Budget(epsilon=1), version="one")
    assert np.isfinite(session.mean("x", epsilon=1).value)


def test_the_same_exact_sums_by_spark_connect(connect: str) -> None:
    found = study.run({"kind": "sums", "place": f"connect:{connect}"}, 0, 1, together=True)
    assert (found["statistics"], found["different"], found["connect"]) == (len(ASKED) + 1, 0, 1)


def test_a_part_of_the_copy_that_is_lost_is_not_read_again(spark: Any) -> None:
    """As when an executor dies between two passes of a question: refused in a line, and never answered from half."""
    source = open_source(spark.createDataFrame(study.made(4, 200)), ds.Schema({"x": ds.Real(-2, 4)}), version="one")
    count = lambda: source.fold(lambda batch: int(batch.size), int.__add__, [])  # noqa: E731
    with source.snapshot():
        assert count() == 200
        for kept in spark.sparkContext._jsc.getPersistentRDDs().values():
            kept.unpersist(True)
        with pytest.raises(UnsupportedFormat, match="the cluster did not finish") as caught:
            count()
    assert "\n" not in str(caught.value)
    assert count() == 200


class _Cluster:
    """A session by Connect whose workers tell what they are made to tell."""

    __module__ = "pyspark.sql.connect.session"

    def __init__(self, told: Any) -> None:
        self.told = told

    def range(self, *_: object, **__: object) -> _Cluster:
        return self

    def mapInArrow(self, *_: object) -> _Cluster:  # noqa: N802
        return self

    def collect(self) -> Any:
        if isinstance(self.told, Exception):
            raise self.told
        return self.told


@pytest.mark.parametrize(
    ("told", "rule"),
    [
        (RuntimeError("ModuleNotFoundError: No module named 'discreet'"), "workers' Python has no discreet"),
        (RuntimeError("[PYTHON_VERSION_MISMATCH] 3.9 and 3.11"), "of another version than"),
        (RuntimeError("a record: 17"), "do not run Python"),
    ],
)
def test_workers_that_cannot_work_are_refused_with_what_to_set(told: Exception, rule: str) -> None:
    with pytest.raises(InvalidRequest, match=rule) as caught:
        Workers(_Cluster(told)).check()
    assert "PYSPARK_PYTHON" in str(caught.value)
    assert "17" not in str(caught.value)


def test_workers_of_another_release_are_refused() -> None:
    with pytest.raises(InvalidRequest, match=r"the workers have discreet 0\.0\.1"):
        Workers(_Cluster([("0.0.1", "python")])).check()
