"""Run by a test in a process of its own: the same sums in memory and by Spark Connect, printed as a document."""

from __future__ import annotations

import json
import sys
import warnings

import numpy as np
import pyarrow as pa

import discreet as ds
from discreet.sources import open_source
from discreet.statistics.question import Table, build


def main() -> None:
    from pyspark.sql import SparkSession

    warnings.simplefilter("ignore")
    builder = SparkSession.builder.remote(sys.argv[1]).config("spark.sql.shuffle.partitions", "2")
    spark = builder.getOrCreate()
    rng = np.random.default_rng(4)
    x = rng.normal(1, 3, 300)
    x[::9] = np.nan
    table = pa.table({"x": x, "g": pa.array(rng.choice(["a", "b", "?"], 300).tolist()), "id": rng.integers(0, 90, 300)})
    schema = ds.Schema({"x": ds.Real(-2, 4), "g": ds.Categories(["a", "b"])}, person="id", max_rows=2)
    frame = spark.createDataFrame(table)
    same = {}
    source = open_source(frame, schema, version="one")
    with source.snapshot():  # one state for all that follows
        for name, args, kwargs in (("mean", ("x",), {"by": "g"}), ("median", ("x",), {})):
            query = build(name, Table(schema), *args, **kwargs).query
            here, there = (query.evaluate(each) for each in (open_source(table, schema), source))
            same[name] = bool(np.array_equal(getattr(here, "counts", here), getattr(there, "counts", there)))
    sys.stdout.write(json.dumps({"same": same, "kind": type(frame).__module__}) + "\n")
    spark.stop()


if __name__ == "__main__":
    main()
