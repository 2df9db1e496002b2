"""What a published model says of the rows of a file: for whoever holds them, nothing is paid."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from discreet.errors import InvalidRequest, UnsupportedFormat
from discreet.jobs.output import folder_for
from discreet.models import load


def predicted(model: Path, table: Path, out: Path) -> dict[str, Any]:
    """Read the rows, predict, write them with what was predicted beside them; a document that says so.

    A row that lacks a value which the model reads gets no prediction: its cell is empty.
    """
    found = load(model)
    names, columns = read_rows(table)
    for needed in found.inputs:
        if needed.column not in columns:
            raise InvalidRequest(f"{table}: the model reads the column {needed.column!r}, and the file has {names}")
    if "prediction" in names:
        raise InvalidRequest(f"{table}: a column is called 'prediction' already; rename it first")
    lacking = {
        place
        for needed in found.inputs
        for place, value in enumerate(columns[needed.column])
        if value is None or (value == "" and "" not in (needed.labels or ()))
    }
    whole = [place for place in range(len(columns[names[0]])) if place not in lacking]
    read = {each.column: _chosen(columns[each.column], each, whole, table) for each in found.inputs}
    made: dict[str, list[Any]] = {"prediction": np.asarray(found.predict(read)).tolist() if whole else []}
    if whole and hasattr(found, "decision_function"):
        score = np.asarray(found.decision_function(read))
        made |= {"score": score.tolist()} if score.ndim == 1 else {}
    said = dict(zip(whole, zip(*made.values(), strict=True), strict=True))
    with folder_for(out.parent, [out.name], [model, table]) as write:
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow([*names, *made])
        for place, row in enumerate(zip(*(columns[name] for name in names), strict=True)):
            writer.writerow([*row, *said.get(place, ("",) * len(made))])
        write(out.name, text.getvalue())
    return {"kind": "predictions", "model": str(model), "rows": len(columns[names[0]]), "without": len(lacking),
            "written": str(out), "guarantee": found.guarantee}  # fmt: skip


def read_rows(table: Path) -> tuple[list[str], dict[str, Any]]:
    """The columns of a CSV file as text, or of a Parquet file as they are."""
    if not table.is_file():
        raise UnsupportedFormat(f"the table must be a file that exists, got {str(table)!r}; check the path")
    if table.suffix == ".parquet":
        import pyarrow.parquet as pq

        try:
            found = pq.read_table(table)
        except (OSError, ValueError) as problem:
            raise UnsupportedFormat(f"{table}: not a Parquet file ({' '.join(str(problem).split())[:80]})") from None
        _check_names(found.column_names, table)
        return list(found.column_names), {name: found[name].to_pylist() for name in found.column_names}
    try:
        with table.open(encoding="utf-8", newline="") as file:
            lines = list(csv.reader(file))
    except (UnicodeDecodeError, csv.Error) as problem:
        raise UnsupportedFormat(f"{table}: not a CSV file in UTF-8 ({problem})") from None
    if not lines:
        raise UnsupportedFormat(f"{table}: the file is empty; its first line names the columns")
    _check_names(lines[0], table)
    for number, line in enumerate(lines[1:], start=2):
        if len(line) != len(lines[0]):
            raise UnsupportedFormat(f"{table}:{number}: {len(line)} cells, and the first line names {len(lines[0])} columns")
    return lines[0], {name: [line[place] for line in lines[1:]] for place, name in enumerate(lines[0])}


def _check_names(names: Sequence[str], table: Path) -> None:
    twice = [name for place, name in enumerate(names) if name in names[:place]]
    if twice:
        raise UnsupportedFormat(f"{table}: columns must have different names, got {twice[0]!r} twice; rename one of them")


def _chosen(values: list[Any], needed: Any, whole: list[int], table: Path) -> list[Any]:
    """What a model reads of a column, in the rows that lack nothing."""
    return [values[i] if needed.labels else _number(values[i], needed.column, f"{table}:{i + 2}") for i in whole]


def _number(value: Any, column: str, place: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise InvalidRequest(f"{place}: {column} must be a number to predict from, got {value!r}") from None
