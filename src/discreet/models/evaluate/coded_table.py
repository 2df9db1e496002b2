"""Rows that a fitted classifier is judged on, as a table with the declarations of its fit.

Labels become their numbers: those of arrays may be of kinds that no schema declares.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from discreet.core.query import check_relation
from discreet.core.schema import Categories, Column, Real, Schema
from discreet.errors import InvalidRequest
from discreet.models.design import Design, Floats, Weight


def coded_table(
    design: Design, rows: Floats, codes: Any, neighbors: Any, weights: tuple[Any, float] | None = None
) -> tuple[dict[str, Any], Schema, Design]:
    """Arrays as a table, its schema, and the design that reads it: ``weights`` come with their bound."""
    if len(codes) != len(rows):
        raise InvalidRequest(f"X and y must have as many rows, got {len(rows)} and {len(codes)}")
    classes = tuple(range(len(design.target.classes)))
    columns: dict[str, Column] = {design.target.column: Categories(classes)}
    table: dict[str, Any] = {design.target.column: codes}
    place = 0
    for feature in design.features:
        size = len(feature.labels) or 1
        part = rows[:, place : place + size]
        table[feature.column] = part.argmax(1) if feature.labels else part[:, 0]
        bounds = Real(-1e100, 1e100) if feature.raw else Real(feature.lo, feature.hi)
        columns[feature.column] = Categories(tuple(range(size))) if feature.labels else bounds
        place += size
    weight = None
    if weights is not None:
        weight = Weight("weight" if "weight" not in columns else "weight of a row", weights[1])
        columns[weight.column], table[weight.column] = Real(0, weight.most), weights[0]
    schema = Schema(columns, neighbors=check_relation(neighbors))
    return table, schema, replace(design, weight=weight, rows=1, target=replace(design.target, classes=classes))


def check_declared(design: Design, schema: Schema) -> None:
    """A table is judged under the declarations of the fit: others would give the same codes another meaning."""
    known = [(f.column, f.labels or (f.lo, f.hi), f.raw, "bounds or labels") for f in design.features]
    for column, expected, raw, kind in [*known, (design.target.column, design.target.classes, False, "classes")]:
        declared = schema[column]
        given = declared.labels if isinstance(declared, Categories) else (float(declared.lo), float(declared.hi))
        if raw or given != expected:
            words = "without bounds, which no table is" if raw else f"with the {kind} {list(expected)}"
            raise InvalidRequest(f"{column!r} must be declared as it was for the fit, {words}, got {declared}")
