"""Rows that a fitted classifier is judged on, as a table with the declarations of its fit.

Labels become their numbers: those of arrays may be of kinds that no schema declares.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from discreet.core.query import check_relation
from discreet.core.schema import Categories, Column, Real, Schema
from discreet.errors import InvalidRequest
from discreet.models.design import Design, Floats
from discreet.models.publish.predictor import Input
from discreet.models.target import Weight


def coded_table(
    design: Design, rows: Floats, codes: Any, neighbors: Any, weights: tuple[Any, float] | None = None
) -> tuple[dict[str, Any], Schema, Design]:
    """Arrays as a table, its schema, and the design that reads it: ``weights`` come with their bound."""
    if len(codes) != len(rows):
        raise InvalidRequest(f"X and y must have as many rows, got {len(rows)} and {len(codes)}")
    classes = tuple(range(len(design.target.classes)))
    table, columns = coded_columns(design.inputs, rows)
    columns[design.target.column], table[design.target.column] = Categories(classes), codes
    weight = None
    if weights is not None:
        weight = Weight("weight" if "weight" not in columns else "weight of a row", weights[1])
        columns[weight.column], table[weight.column] = Real(0, weight.most), weights[0]
    schema = Schema(columns, neighbors=check_relation(neighbors))
    return table, schema, replace(design, weight=weight, rows=1, target=replace(design.target, classes=classes))


def coded_columns(inputs: Sequence[Input], rows: Floats) -> tuple[dict[str, Any], dict[str, Column]]:
    """Rows as a predictor makes them, as columns with their declarations; labels by their numbers, bins by their least."""
    table: dict[str, Any] = {}
    columns: dict[str, Column] = {}
    place = 0
    for each in inputs:
        part = rows[:, place : place + each.size]
        code = part.argmax(1)
        table[each.column] = code if each.labels else each.floors[code] if each.cuts else part[:, 0]
        columns[each.column] = (
            Categories(tuple(range(each.size))) if each.labels else Real(*(each.bounds or (-1e100, 1e100)))
        )
        place += each.size
    return table, columns


def check_declared(design: Design, schema: Schema) -> None:
    """A table is judged under the declarations of the fit."""
    check_inputs(design.inputs, design.target.column, design.target.classes, schema)


def check_inputs(inputs: Sequence[Input], target: str, classes: tuple[Any, ...], schema: Schema) -> None:
    """A table is judged under the declarations of the fit: others would give the same codes another meaning."""
    known = [(i.column, i.labels or i.bounds, "bounds or labels") for i in inputs]
    for column, expected, kind in [*known, (target, classes, "classes")]:
        declared = schema[column]
        given = declared.labels if isinstance(declared, Categories) else (float(declared.lo), float(declared.hi))
        if given != expected:
            words = "without bounds, which no table is" if expected is None else f"with the {kind} {list(expected)}"
            raise InvalidRequest(f"{column!r} must be declared as it was for the fit, {words}, got {declared}")
