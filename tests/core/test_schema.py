"""Declarations: what is accepted, and that every refusal says rule, value and place."""

from __future__ import annotations

import json
import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core.schema import Categories, Integer, Real, Schema
from discreet.errors import InvalidRequest, UnknownName, UnsupportedFormat

COLUMNS = {"age": Real(0, 110), "visits": Integer(0, 50, missing=3), "sex": Categories(["f", "m"], other="x", missing="f")}
SCHEMA = Schema(COLUMNS, person="patient_id", max_rows=5, expected_rows=1000)


def test_a_schema_survives_every_way_of_writing_it(tmp_path: Path) -> None:
    odd = Schema({'a "b".c': Categories([1, True, "é\n"])})
    for schema in (SCHEMA, odd, Schema(COLUMNS, neighbors="replace"), Schema({})):
        assert Schema.from_toml(schema.to_toml()) == schema
        assert Schema.from_dict(json.loads(json.dumps(schema.to_dict()))) == schema
        assert pickle.loads(pickle.dumps(schema)) == schema
    (tmp_path / "s.toml").write_text(SCHEMA.to_toml())
    assert Schema.from_toml(tmp_path / "s.toml") == Schema.from_toml(str(tmp_path / "s.toml")) == SCHEMA
    assert SCHEMA["age"] == Real(0, 110)


@given(st.text(min_size=1), st.lists(st.text(min_size=1) | st.integers(), min_size=1, unique_by=str))
@settings(derandomize=True)
def test_any_text_survives_toml(name: str, labels: list[Any]) -> None:
    schema = Schema({name: Categories(labels)})
    assert Schema.from_toml(schema.to_toml() + "\n") == schema


def test_what_a_missing_value_becomes() -> None:
    assert Real(0, 10).fill("add_remove") is Real(0, 10, missing="drop").fill("both") is None
    assert Real(0, 10).fill("replace") == 5
    assert Real(0, 10, missing=2).fill("replace") == Real(0, 10, missing=2).fill("add_remove") == 2
    sex = Categories(["f", "m"])
    assert sex.fill("add_remove") == sex.stray("add_remove") == sex.fill("replace") == -1
    other = Categories(["f", "m"], other="x")
    assert (other.labels, other.stray("both"), other.fill("both"), other.fill("replace")) == (("f", "m", "x"), 2, -1, 2)
    assert Categories(["f", "m"], other="m").labels == ("f", "m")
    assert Categories(["f", "m"], missing="m").stray("add_remove") == 1
    assert SCHEMA.to_dict()["max_rows"] == Schema({}, person="i", max_rows=np.int64(5)).to_dict()["max_rows"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Real(5, 5), r"lo < hi, got \(5, 5\)"),
        (lambda: Real(5, 1), "lo < hi"),
        (lambda: Real(0, math.inf), "hi must be a finite number, got inf"),
        (lambda: Real(-1e308, 1e308), "use another unit"),
        (lambda: Real(0, 10**400), "hi must be a finite"),
        (lambda: Real(True, 2), "lo must be a finite number, got True"),
        (lambda: Real("0", 2), "lo must be a finite number, got '0'"),  # type: ignore[arg-type]
        (lambda: Real(0, 1, missing=2), "missing must lie within"),
        (lambda: Real(0, 1, missing="dorp"), "missing must be a finite number, got 'dorp'"),
        (lambda: Integer(0, 1.5), "hi must be a whole number"),
        (lambda: Integer(0, 2**60), "at most 2\\*\\*53"),
        (lambda: Categories([]), "at least one label"),
        (lambda: Categories("fm"), "list of labels, got 'fm'"),  # type: ignore[arg-type]
        (lambda: Categories([1, "1"]), "differ as text, got '1' twice"),
        (lambda: Categories([True, "true"]), "'true' twice"),
        (lambda: Categories([1.5]), "got 1.5"),  # type: ignore[list-item]
        (lambda: Categories([""]), "empty text"),
        (lambda: Categories(["f"], missing="ff"), "declared category, got 'ff'"),
        (lambda: Categories(["drop"], missing="drop"), "not clear"),
        (lambda: Schema({"a": Real(0, 1, missing="drop")}, neighbors="replace"), "column 'a'.*row"),
        (lambda: Schema({"a": 3}), "column 'a' must be"),  # type: ignore[dict-item]
        (lambda: Schema([1]), "columns must map"),  # type: ignore[arg-type]
        (lambda: Schema({"": Real(0, 1)}), "column name must be text"),
        (lambda: Schema({}, person="id"), "given together"),
        (lambda: Schema({}, max_rows=3), "given together"),
        (lambda: Schema({}, person="", max_rows=3), "person must be the name"),
        (lambda: Schema({}, person="id", max_rows=0), "max_rows must be a whole number of at least 1 and at most"),
        (lambda: Schema({}, person="id", max_rows=True), "max_rows must be"),
        (lambda: Schema({}, expected_rows=2.5), "expected_rows must be"),  # type: ignore[arg-type]
        (lambda: Schema({}, neighbors="swap"), "neighbors must be one of"),  # type: ignore[arg-type]
    ],
)
def test_a_bad_declaration_is_refused(make: Any, message: str) -> None:
    with pytest.raises(InvalidRequest, match=message):
        make()


def test_an_unknown_column_is_named_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match="'aeg'; did you mean 'age'"):
        SCHEMA["aeg"]
    with pytest.raises(UnknownName, match="known: age, visits, sex"):
        SCHEMA["zzzz"]


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        (
            'person = "i"\nmax_rows = 2\nneigbors = "both"\n',
            UnsupportedFormat,
            "line 3: unknown key 'neigbors'; did you mean 'neighbors'",
        ),
        (
            '[columns.age]\ntype = "real"\nbouds = [0, 1]\n',
            UnsupportedFormat,
            "line 3: column 'age': unknown key 'bouds'; did you mean 'bounds'",
        ),
        ('# note\n\n[columns.age]\ntype = "reel"\n', UnsupportedFormat, "line 4: .*did you mean 'real'"),
        ("[columns.age]\nbounds = [0, 1]\n", UnsupportedFormat, "line 1: column 'age': type must be one of"),
        ('[columns.age]\ntype = "real"\n', UnsupportedFormat, "line 1: column 'age': bounds must be two numbers"),
        ('[columns.age]\ntype = "real"\nbounds = [0]\n', UnsupportedFormat, "line 3: .*two numbers"),
        ('[columns.age]\ntype = "real"\nbounds = [9, 1]\n', InvalidRequest, r"line 3: .*lo < hi, got \(9, 1\)"),
        ('[columns.age]\ntype = "real"\nbounds = [0, 1]\nmissing = 7\n', InvalidRequest, "line 4: .*within the bounds"),
        (
            '[columns."my age"]\ntype = "integer"\nbounds = [0, "a"]\n',
            InvalidRequest,
            "line 3: .*hi must be a finite number",
        ),
        ('[columns.s]\ntype = "category"\nvalues = "ab"\n', UnsupportedFormat, "line 3: .*list of labels"),
        ('[columns.s]\ntype = "category"\nbounds = [1]\n', UnsupportedFormat, "line 3: .*unknown key 'bounds'"),
        (
            'neighbors = "replace"\n[columns.a]\ntype = "real"\nbounds = [0, 1]\nmissing = "drop"\n',
            InvalidRequest,
            "line 5: .*row",
        ),
        ('[columns]\nage = { type = "real", bounds = [1, 0] }\n', InvalidRequest, "line 2: "),
        (
            'neighbors = "replace"\n[columns."an \'age\', no formula"]\ntype = "real"\nbounds = [0, 1]\nmissing = "drop"\n',
            InvalidRequest,
            "line 5: .*under neighbors='replace'",
        ),
        ('[columns.b]\ntype = "real"\nformula = "c"\nbounds = [0, 1]\n', UnknownName, "line 3: column 'b': formula"),
        ("columns.age = 3\n", UnsupportedFormat, "line 1: column 'age': a column is a table"),
        ("columns = 3\n", UnsupportedFormat, "line 1: columns must be a table"),
        ('person = "i"\n\nmax_rows = 0\n[columns]\n', InvalidRequest, "line 3: max_rows must be"),
        ('person = "i"\n[columns]\n', InvalidRequest, "line 1: person and max_rows"),
        ('neighbors = "no"\n[columns]\n', InvalidRequest, "line 1: neighbors must be one of"),
        ("a = 1\nb = = 2\n", UnsupportedFormat, "not valid TOML: .*line 2"),
        ("\n", UnsupportedFormat, "columns must be a table"),
    ],
)
def test_a_refusal_says_the_file_and_the_line(text: str, kind: type[Exception], message: str, tmp_path: Path) -> None:
    path = tmp_path / "patients.toml"
    path.write_text(text)
    with pytest.raises(kind, match=message) as refusal:
        Schema.from_toml(path)
    assert str(path) in str(refusal.value)
    with pytest.raises(kind, match=message):
        Schema.from_toml(text)


def test_a_schema_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedFormat, match="check the path"):
        Schema.from_toml(tmp_path / "no.toml")
    with pytest.raises(UnsupportedFormat, match="a table of keys"):
        Schema.from_dict([])
    with pytest.raises(UnsupportedFormat, match="unknown key 'colums'; did you mean 'columns'"):
        Schema.from_dict({"colums": {}})


@pytest.mark.parametrize("rule", ["max_rows", "expected_rows"])
@pytest.mark.parametrize("rows", [0, -1, True, 2.0, (1 << 50) + 1, 10**400])
def test_numbers_of_rows_are_those_that_a_table_can_have(rule: str, rows: Any) -> None:
    """A number that no double holds once ended a fit file in a traceback."""
    person = {"person": "id"} if rule == "max_rows" else {}
    with pytest.raises(InvalidRequest, match=f"{rule} must be a whole number of at least 1 and at most"):
        Schema({"x": Real(0, 1)}, **person, **{rule: rows})
    assert getattr(Schema({"x": Real(0, 1)}, **person, **{rule: 1 << 50}), rule) == 1 << 50
