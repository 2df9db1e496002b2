"""What a Spark frame may be made of: tables of files, and what is total, which no record makes fail.

A frame is a plan and not a table: Spark computes it when a question is asked, which is after it was paid. A division by
zero, a cast that raises, a function of Python's would fail for a record, and whether a question fails would be an answer
about that record without any noise. So a plan is looked at when it is opened, and is refused for any part that is not known
to be total. Names of classes are compared, and a class that is not listed is refused: no list of what can fail is complete.

Proof: by induction over the plan. What is listed as a leaf hands out stored values. An expression listed in ``_TOTAL`` has a
value for all values of its parts; a cast has one where ``_total_cast`` says so, and an expression without a column is a
constant, which is computed here once. An operator that is listed fails only where an expression of it does.
"""

from __future__ import annotations

import pickletools
from collections.abc import Iterator
from operator import methodcaller
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from discreet.errors import InvalidRequest

REMEDY = (
    "compute it by a formula in the schema, or store it first (frame.write.parquet(path)) and open spark.read.parquet(path)"
)
_CATALYST = "org.apache.spark.sql.catalyst."
_SOURCES = "org.apache.spark.sql.execution.datasources."
_OPERATORS = {
    _CATALYST + "plans.logical." + word
    for word in (
        "CTERelationDef", "CTERelationRef", "Deduplicate", "Distinct", "Filter", "Join", "LocalRelation", "OneRowRelation",
        "Project", "Range", "RebalancePartitions", "Repartition", "RepartitionByExpression", "ResolvedHint", "Sort",
        "SubqueryAlias", "Union", "View", "WithCTE",
    )
}  # fmt: skip
_TOTAL = {
    _CATALYST + "expressions." + word
    for word in (
        "Alias", "And", "AtLeastNNonNulls", "AttributeReference", "CaseWhen", "Coalesce", "Collate", "Contains",
        "CreateArray", "EndsWith", "EqualNullSafe", "EqualTo", "GetStructField", "GreaterThan", "GreaterThanOrEqual", "If",
        "In", "InSet", "IsNaN", "IsNotNull", "IsNull", "LessThan", "LessThanOrEqual", "Literal", "NaNvl", "Not", "Or",
        "ResolvedCollation", "SortOrder", "StartsWith",
    )
}  # fmt: skip
_FILES = {
    _SOURCES + "parquet.ParquetFileFormat",
    _SOURCES + "orc.OrcFileFormat",
    "org.apache.spark.sql.delta.DeltaParquetFileFormat",
}
PROVIDERS = ("parquet", "orc", "delta", "iceberg")  # the same, as a catalog names them
_TABLES = {  # of the second interface of sources
    _SOURCES + "v2.parquet.ParquetTable",
    _SOURCES + "v2.orc.OrcTable",
    "org.apache.iceberg.spark.source.SparkTable",
}
_REBASED = ("spark.sql.parquet.datetimeRebaseModeInRead", "spark.sql.parquet.int96RebaseModeInRead")
REBASED = ("datetimeRebaseMode", "int96RebaseMode")  # the same, as options of one reading
_INTEGERS = ("BININT", "BININT1", "BININT2")
_VALUE = methodcaller("eval", None)  # what Spark makes of a constant
_WHOLE = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 19}  # each type of whole numbers with its digits
_NUMBERS = {*_WHOLE, "float", "double"}
_PLAIN = {*_NUMBERS, "boolean", "string"}
_LOCAL = {*_PLAIN, "binary", "date", "timestamp", "timestamp_ntz"}  # what Spark makes of a cell of Python without failing


def check(frame: Any) -> None:
    """Refuse a frame that a record could make fail. Looks at no record."""
    if _by_connect(frame):
        check_names(frame)
        return
    if not hasattr(frame, "_jdf"):
        raise InvalidRequest(f"a table on Spark must be a DataFrame, got {type(frame).__name__}; pass its DataFrame")
    _check_settings(frame.sparkSession)
    plan = frame._jdf.queryExecution().analyzed()
    if plan.isStreaming():
        raise unfit("a stream")
    for node in _walk(plan):
        _check_operator(node, frame)
        for expression in _listed(node.expressions()):
            _check_expression(expression)


def check_names(frame: Any) -> None:
    """Refuse what names have come to mean since: by Connect a plan is resolved when it is computed, else once for all."""
    if _by_connect(frame):
        from discreet.sources.connect_plans import check_relation

        _check_settings(frame.sparkSession)
        check_relation(frame)


def check_option(word: str, mode: str) -> None:
    """Refuse a mode of reading in which a date before 1582, or a time before 1900, raises."""
    if mode.upper() == "EXCEPTION":
        raise unfit(f"{word} = EXCEPTION, which old dates make fail; set it to CORRECTED")


def check_times(frame: Any) -> None:
    """Refuse files of Parquet with times in milliseconds, as far as they lie on this machine.

    Spark multiplies each by a thousand, and fails for one beyond the year 294247. Looks at footers only.
    """
    from pyarrow import parquet, types

    for uri in frame.inputFiles():
        given = urlsplit(uri)
        path = Path(url2pathname(given.path))
        if given.scheme not in ("", "file") or path.suffix not in (".parquet", ".pq") or not path.is_file():
            continue
        for field in parquet.read_schema(path):
            if types.is_timestamp(field.type) and field.type.unit in ("s", "ms"):
                raise unfit(f"times in milliseconds in the column {field.name!r}; write them in microseconds")


def unfit(part: str) -> InvalidRequest:
    """The refusal of a frame for a part of its plan."""
    return InvalidRequest(
        f"a Spark frame must be read without computing what could fail because of a record, got {part}",
        key="table",
        remedy=REMEDY,
    )


def _by_connect(frame: Any) -> bool:
    return type(frame).__module__.startswith("pyspark.sql.connect.")


def _check_settings(session: Any) -> None:
    for word in _REBASED:
        check_option(word, str(session.conf.get(word, "CORRECTED")))


def total_cast(mode: str, start: str, end: str) -> bool:
    """Whether a cast between two types, in Spark's words, has a value (or is missing) for every cell.

    In the mode LEGACY what cannot be cast wraps around or is missing, and in TRY it is missing; in ANSI it raises, except
    towards a wider type.
    """
    if start in (end, "void") or (end == "string" and start in {*_PLAIN, "date"}):
        return True
    if mode in ("LEGACY", "TRY") and start in _PLAIN and end in _PLAIN:
        return True
    if start in _WHOLE and end in _WHOLE:
        return _WHOLE[start] <= _WHOLE[end]
    return start in _NUMBERS and (end == "double" or (end == "float" and start != "double"))


def _walk(plan: Any) -> Iterator[Any]:
    yield plan
    for child in _listed(plan.children()):
        yield from _walk(child)


def _listed(found: Any) -> list[Any]:
    return [found.apply(place) for place in range(found.size())]


def _class(of: Any) -> str:
    return str(of.getClass().getName())


def _check_operator(node: Any, frame: Any) -> None:
    kind = _class(node)
    if kind in _OPERATORS:
        return
    short = kind.rpartition(".")[2]
    if kind == _SOURCES + "LogicalRelation":
        relation = node.relation()
        if _class(relation) != _SOURCES + "HadoopFsRelation":
            raise unfit(f"a table of {_class(relation).rpartition('.')[2]}")
        if _class(relation.fileFormat()) not in _FILES:
            raise unfit(f"files of {_class(relation.fileFormat()).rpartition('.')[2]}")
        options = relation.options()
        for word in REBASED:
            found = options.get(word)
            check_option(word, "" if found.isEmpty() else str(found.get()))
    elif kind == _SOURCES + "v2.DataSourceV2Relation":
        if _class(node.table()) not in _TABLES:
            raise unfit(f"a table of {_class(node.table()).rpartition('.')[2]}")
    elif kind == "org.apache.spark.sql.execution.LogicalRDD":
        if not (node.rdd().isCheckpointed() or _is_local(node, frame)):
            raise unfit("an RDD that nobody has stored (createDataFrame of an RDD, or a checkpoint that is not eager)")
    else:
        raise unfit(short)


def _check_expression(node: Any) -> None:
    kind = _class(node)
    if node.foldable() and node.deterministic() and kind != _CATALYST + "expressions.Literal":
        try:
            _VALUE(node)  # without a column it is a constant, which has a value or has none for any record
        except Exception:
            raise unfit(f"{kind.rpartition('.')[2]} of constants that has no value") from None
        return
    children = _listed(node.children())
    if kind == _CATALYST + "expressions.Cast":
        start, end = children[0].dataType().simpleString(), node.dataType().simpleString()
        if not total_cast(node.evalMode().toString(), start, end):
            raise unfit(f"a cast of {start[:60]} to {end[:60]}")
    elif kind not in _TOTAL:
        raise unfit(kind.rpartition(".")[2])
    for child in children:
        _check_expression(child)


def _is_local(node: Any, frame: Any) -> bool:
    """Whether it is what ``createDataFrame`` makes of values that this process holds: converted there, and total here."""
    lineage = [node.rdd()]
    while (depends := _listed(lineage[-1].dependencies())) and len(lineage) < 6:
        if len(depends) != 1:
            return False
        lineage.append(depends[0].rdd())
    kinds = [_class(each).rpartition(".")[2] for each in lineage]
    if kinds == ["MapPartitionsRDD", "ParallelCollectionRDD"]:
        return bool(lineage[0].name() == "arrow")  # batches of Arrow that were handed over
    if kinds != ["MapPartitionsRDD"] * 3 + ["PythonRDD", "ParallelCollectionRDD"]:
        return False
    if any(each.dataType().simpleString() not in _LOCAL for each in _listed(node.output())):
        return False  # of a decimal too long for its type Spark says so only when it reads it
    plain = frame.sparkSession.sparkContext.parallelize([0])._pickled()._jrdd.rdd()
    try:
        return _function(lineage[3]) == _function(plain)
    except Exception:  # another release keeps it elsewhere: then nobody knows what it does
        return False


def _function(step: Any) -> list[Any]:
    """What a step of Python's does, as it is written down, without how many records are packed together."""
    known = step.getClass().getDeclaredField("func")
    known.setAccessible(True)
    steps: list[Any] = []
    for op, value, _ in pickletools.genops(bytes(known.get(step).command().unsafeArray())):
        packed = op.name in _INTEGERS and len(steps) > 1 and steps[-2][1] == "batchSize"
        if op.name != "FRAME":  # how long all of it is
            steps.append(("", None) if packed else (op.name, value))
    return steps
