"""Expressions: one canonical form, the value of three-valued logic, the same on every source, and nothing of other rows."""

from __future__ import annotations

import math
import random
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
from study import expressions as study

import discreet as ds
from discreet.errors import DiscreetError, InvalidRequest, UnknownName
from discreet.expressions import read
from discreet.sources import open_source

KNOWN = study.SCHEMA.derivation.known
SAME = [
    ["x >= 3", "3 <= x", "not x < 3", "(x)>=3.0", "x>= 3 and x >=3"],
    ["x > 0 and b", "b and 0 < x", "not (not b or x <= 0)", "b == True and x > 0", "not (b != True) and not (0 >= x)"],
    ["0 <= x <= 5", "between(x, 0, 5)", "x >= 0 and 5 >= x"],
    ["g == 'a'", "g in ['a']", 'not (g != "a")', "g in ('a', 'a')"],
    ["g in ['a', 'true']", "g in {True, 'a'}", "not g not in [True, 'a']"],
    ["x + y == 2", "2 == y + x", "y+x in [2]"],
    ["d >= '2020-01-01'", "date('2020-01-01') <= d", "not '2020-01-01' > d"],
    ["x / (2 * 50) ** 2 > 1", "x / 10000 > 1", "1 < x/1e4"],
    ["column('x') > -1", "x > -1", "x > 2 - 3"],
]


@pytest.mark.parametrize("spellings", SAME, ids=lambda spellings: spellings[0])
def test_two_spellings_of_one_expression_are_one(spellings: list[str]) -> None:
    nodes = {read(text, KNOWN) for text in spellings}
    assert len(nodes) == 1
    assert {read(str(node), KNOWN) for node in nodes} == nodes


def test_what_differs_has_another_form() -> None:
    texts = [
        "x > 3",
        "x >= 3",
        "y > 3",
        "x - y > 3",
        "y - x > 3",
        "x > y",
        "y > x",
        "x % y > 3",
        "bins(x, [0, 1])",
        "b or x > 3",
        "bins(x, [0, 1], ['a'])",
        "bins(x, [0, 2])",
        "g == 'a'",
        "g == '7'",
        "g != 'a'",
        "b and x > 3",
        "x ** 2 > 3",
    ]
    assert len({str(read(text, KNOWN)) for text in texts}) == len(texts)


@pytest.mark.parametrize("setting", study.SETTINGS, ids=lambda setting: setting["text"])
def test_whatever_is_written_is_read_or_refused(setting: dict[str, Any]) -> None:
    """Some hundred texts of the study ``expressions``, which makes 10**5: exact, no false alarms."""
    found = study.run(setting, 10**6, 150)
    assert {word: found[word] for word in ("traceback", "other form", "raised", "moved")} == dict.fromkeys(
        ("traceback", "other form", "raised", "moved"), 0
    )


REFUSED = [
    ("", "must be some text"),
    ("x >", "cannot be read"),
    ("xx > 1", "names no column 'xx'; did you mean 'x'"),
    ("x > 'a'", "needs"),
    ("g == 'A'", "has no label 'A'; known: a, 7"),
    ("g > 'a'", "by == and != only"),
    ("x = 3", "cannot be read"),
    ("f(x) > 1", "no function 'f'"),
    ("yearr(d) > 1", "did you mean 'year'"),
    ("year(x) > 1", "year needs date"),
    ("x.real > 1", "only columns"),
    ("[x for x in y]", "only columns"),
    ("(lambda: 1)()", "only columns"),
    ("x if b", "cannot be"),
    ("x and b", "and needs truth"),
    ("not x", "not needs truth"),
    ("1 < 2", "two constants"),
    ("d == '2020-13-01'", "must be written"),
    ("x > 1e999", "finite"),
    ("x > 1j", "constant must be"),
    ("bins(x, [1, 1])", "must increase"),
    ("bins(x, y)", "list of edges"),
    ("bins(x, [0, 1], ['a', 'b'])", "as many different labels"),
    ("x in y", "list of constants"),
    ("x is None", "compared by"),
    ("x > None", "constant must be"),
    ("d - x > x - d", "needs"),
    ("w > 'a'", "== and != only"),
    ("x > 1 / 0", "not defined"),
    ("contains(w, w)", "in quotes"),
    ("x > " + "1+" * 3000 + "1", "at most 4000"),
    ("(" * 80 + "x" + ")" * 80 + ">1", None),
    ("-" * 90 + "x > 1", "nested at most|cannot be read"),
    ("x if b else 'a'", "each side needs number"),
    ("min(x)", "two arguments or more"),
    ("missing(x, y)", "takes 1 argument"),
    ("sqrt(*x)", "takes 1"),
    ("x > max(y, default=1)", "only columns"),
    ("f'{x}' == w", "only"),
    ("b == 'ja'", "needs truth"),
    ("b in [True, False]", "leave the comparison out"),
]


@pytest.mark.parametrize(("text", "words"), REFUSED, ids=lambda value: str(value)[:30])
def test_what_cannot_be_told_is_refused_in_one_line_and_nothing_is_charged(text: str, words: str | None) -> None:
    table = {name: ["1"] for name in study.USUAL}
    session = ds.Session(table, study.SCHEMA, ds.Budget(epsilon=1))
    if words is None:  # brackets alone nest nothing
        assert session.count(where=text, epsilon=1).private
        return
    with pytest.raises((InvalidRequest, UnknownName), match=words) as refused:
        session.count(where=text, epsilon=1)
    assert "\n" not in str(refused.value)
    assert session.spent().epsilon == 0


def test_a_person_column_is_not_read() -> None:
    for declared in ({}, {"id": ds.Integer(0, 9)}):
        schema = ds.Schema({"x": ds.Real(0, 1), **declared}, person="id", max_rows=1)
        with pytest.raises(InvalidRequest, match="must not read the person column 'id'"):
            schema.condition("id == 7")


# ---------------------------------------------------------------------------- what a value is


def oracle(text: str, row: dict[str, Any]) -> Any:
    """The value of an expression in one row, by Python's own arithmetic on Kleene's truths; None is missing."""
    import ast

    def walk(node: ast.AST) -> Any:
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name):
                return row[name]
            case ast.UnaryOp(op=ast.Not(), operand=inner):
                found = walk(inner)
                return None if found is None else not found
            case ast.UnaryOp(operand=inner):
                found = walk(inner)
                return None if found is None else -found
            case ast.BoolOp(op=op, values=values):
                found = [walk(each) for each in values]
                decisive = isinstance(op, ast.Or)
                return decisive if decisive in found else None if None in found else not decisive
            case ast.BinOp(left=left, op=ast.Pow(), right=ast.Constant(value=power)):
                return powered(walk(left), power)
            case ast.BinOp(left=left, op=op, right=right):
                return defined(op, walk(left), walk(right))
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                return compared(op, walk(left), walk(right))
            case ast.IfExp(test=test, body=body, orelse=other):
                found = walk(test)
                return None if found is None else walk(body if found else other)
            case ast.List(elts=elts):
                return [walk(each) for each in elts]
            case ast.Call(func=ast.Name(id="missing"), args=[inner]):
                return walk(inner) is None
            case ast.Call(func=ast.Name(id="coalesce"), args=args):
                return next((found for found in map(walk, args) if found is not None), None)
        raise AssertionError(ast.dump(node))

    def defined(op: Any, a: Any, b: Any) -> Any:
        if a is None or b is None:
            return None
        try:
            made = {"Add": a.__add__, "Sub": a.__sub__, "Mult": a.__mul__, "Div": a.__truediv__}[type(op).__name__](b)
        except ZeroDivisionError:
            return None
        return made if math.isfinite(made) else None

    def powered(base: Any, power: int) -> Any:
        if base is None:
            return None
        made = {1: lambda: base, 2: lambda: base * base, 3: lambda: base * (base * base)}[power]()
        return made if math.isfinite(made) else None

    def compared(op: Any, a: Any, b: Any) -> Any:
        if a is None or b is None:
            return None
        name = type(op).__name__
        return {
            "Lt": lambda: a < b,
            "LtE": lambda: a <= b,
            "Gt": lambda: a > b,
            "GtE": lambda: a >= b,
            "Eq": lambda: a == b,
            "NotEq": lambda: a != b,
            "In": lambda: a in b,
            "NotIn": lambda: a not in b,
        }[name]()

    return walk(ast.parse(text, mode="eval").body)


def expression(rng: random.Random, depth: int, truth: bool) -> str:
    if not truth:
        if depth <= 0:
            return rng.choice(["x", "y", "2.0", "0.0", "1e308"])
        a, b = expression(rng, depth - 1, False), expression(rng, depth - 1, False)
        other = f"({a} if {expression(rng, depth - 1, True)} else {b})"
        return rng.choice(
            [
                f"({a} {rng.choice('+-*/')} ({b} + x))",
                other,
                f"coalesce({a} - y, {b})",
                f"(-({a} * y))",
                f"({a} - x) ** {rng.choice('123')}",
            ]
        )
    if depth <= 0:
        return rng.choice(
            ["x > 0.0", "y == 2.0", "b", "g == 'a'", "g in ['a', '7']", "missing(y)", "x in [1.0, 2.0]", "g != '7'"]
        )
    a, b = expression(rng, depth - 1, True), expression(rng, depth - 1, True)
    number = expression(rng, depth - 1, False)
    return rng.choice(
        [
            f"({a} and {b})",
            f"({a} or {b})",
            f"(not {a})",
            f"({number} + x < y)",
            f"missing({a})",
            f"({a} if b else {b})",
            f"({number} + y not in [0.0, 4.0])",
            f"coalesce(b, {a})",
        ]
    )


def test_values_are_those_of_three_valued_logic() -> None:
    """Three hundred random expressions on every combination of cells, against Python's own arithmetic."""
    cells: dict[str, list[Any]] = {
        "x": [None, 0.0, 1.0, -2.0, 1e308],
        "y": [None, 0.0, 2.0],
        "b": [None, True, False],
        "g": [None, "a", "7"],
    }
    schema = ds.Schema({"x": ds.Real(0, 1), "y": ds.Real(0, 1), "b": ds.Boolean(), "g": ds.Categories(["a", 7])})
    rows = [{"x": x, "y": y, "b": b, "g": g} for x in cells["x"] for y in cells["y"] for b in cells["b"] for g in cells["g"]]
    source = open_source({name: [row[name] for row in rows] for name in cells}, schema)
    rng = random.Random(5)
    for trial in range(300):
        truth = bool(trial % 3)
        text = expression(rng, rng.randint(0, 4), truth)
        node = read(text, schema.derivation.known) if text not in ("2.0", "0.0", "1e308") else None
        if node is None:
            continue
        found = source.fold(lambda batch, node=node: study.of(node, batch), lambda a, b: a + b, list(cells))
        for row, value in zip(rows, found, strict=True):
            wanted = oracle(text, row)
            if truth:
                assert value == (wanted is True, wanted is False), (text, row)
            else:
                got = float(np.array([value], np.uint64).view(np.float64)[0])
                assert (math.isnan(got) and wanted is None) or got == wanted, (text, row)


PARTS = [
    ("year(d)", 2020),
    ("quarter(d)", 1),
    ("month(d)", 2),
    ("day(d)", 29),
    ("weekday(d)", 6),
    ("hour(t)", 14),
    ("minute(t)", 30),
    ("d - '2020-01-01'", 59),
    ("t - '2020-07-01 02:30'", 0.5),
    ("date(t) - d", 123),
    ("(d + 1) - d", 1),
    ("x ** 3", 27),
    ("x ** -1", 1 / 3),
    ("x ** 0.5", math.sqrt(3)),
    ("round(x / 2)", 2),
    ("x // 2", 1),
    ("-x % 2", 1),
    ("log(x - 3)", None),
    ("sqrt(-x)", None),
    ("x ** 800", None),
    ("exp(x * 400)", None),
    ("max(x, 5)", 5),
    ("min(d, '2000-01-01') - d", -7364),
]


@pytest.mark.parametrize(("text", "wanted"), PARTS)
def test_functions_of_numbers_and_dates(text: str, wanted: float | None) -> None:
    table = {"x": [3.0], "y": [1.0], "d": ["29.02.2020"], "t": ["2020-07-01T12:30:00Z"], "g": ["a"], "b": [1], "w": ["q"]}
    node = read(text, KNOWN)
    (value,) = open_source(table, study.SCHEMA).fold(
        lambda b: study.of(node, b), lambda a, b: a + b, sorted({*table} - {"w"})
    )
    number = float(np.array([value], np.uint64).view(np.float64)[0])
    assert math.isnan(number) if wanted is None else number == wanted


# ---------------------------------------------------------------------------- on sources and in questions

COLUMNS = {
    "weight": ds.Real(0, 300),
    "height": ds.Real(0, 250),
    "seen": ds.Date("2000-01-01", "2030-01-01", formats=["%d.%m.%Y"]),
    "dx": ds.Text(),
    "ward": ds.Categories(["n", "s"], fold=True),
    "bmi": ds.Real(10, 60, formula="weight / (height / 100) ** 2"),
    "late": ds.Boolean(formula="year(seen) >= 2015"),
    "heart": ds.Categories(["yes", "no"], formula="'yes' if startswith(dx, 'I') else 'no'"),
    "curve": ds.Real(-9, 9, formula="log(weight) ** 1.5 - exp(height / 200)"),
}
SCHEMA = ds.Schema(COLUMNS, person="id", max_rows=2)
GROUP = "bins(bmi, [0, 18.5, 25, 100])"
WHERE = "weight > 50 and not (ward == 'n' and late)"


def messy(count: int = 400) -> dict[str, list[Any]]:
    rng = np.random.default_rng(4)

    def pick(*options) -> list[Any]:
        return [options[i] for i in rng.integers(len(options), size=count)]

    return {
        "weight": pick("70.5", "0", "abc", None, "1e300", "99", "-4", "55.25"),
        "height": pick("170", "0", "181.5", None, "1e-200", "inf"),
        "seen": pick("1.2.2014", "29.02.2015", "29.2.2016", None, "x"),
        "dx": pick("I20", "i20", "J1", None, ""),
        "ward": pick("N", " s", "n", "?", None),
        "id": [str(i) for i in rng.integers(0, 150, count)],
    }


def test_derived_columns_are_the_same_on_every_source(tmp_path: Path, spark: Any) -> None:
    """To the bit: the codes, who is kept by them, and what a filter leaves."""
    table = messy()
    arrow = pa.table({name: pa.array(column, pa.string()) for name, column in table.items()})
    arrow.to_pandas().to_csv(tmp_path / "t.csv", index=False)
    pyarrow.parquet.write_table(arrow, tmp_path / "t.parquet")
    sources = {
        "dict": table,
        "pandas": pd.DataFrame(table),
        "polars": pl.DataFrame(table),
        "arrow": arrow,
        "csv": tmp_path / "t.csv",
        "parquet": tmp_path / "t.parquet",
        "spark": spark.createDataFrame(arrow).repartition(3),
    }
    names = ["bmi", "late", "heart", "curve", GROUP]

    def look(batch: Any) -> Any:
        from collections import Counter

        rows = zip(*(batch.grid(name).tolist() for name in names), batch.kept(names).tolist(), strict=True)
        return Counter(rows)

    seen = {
        kind: open_source(made, SCHEMA, batch_rows=7 if kind != "spark" else None, version="one")
        .where(**SCHEMA.condition(WHERE))
        .fold(look, lambda a, b: a + b, names)
        for kind, made in sources.items()
    }
    first = seen.pop("dict")
    assert 50 < sum(first.values()) < 400
    assert all(other == first for other in seen.values())


def test_a_formula_is_part_of_the_question() -> None:
    """Two spellings are answered once; another formula, group or filter is another question."""
    table = messy()
    version = {}
    for formula in ("weight / (height / 100) ** 2", "weight/((height/1e2)**2)", "weight / (height / 99) ** 2"):
        schema = ds.Schema({**COLUMNS, "bmi": ds.Real(10, 60, formula=formula)}, person="id", max_rows=2)
        version[formula] = open_source(table, schema, version="one").version
    assert len(set(version.values())) == 2
    session = ds.Session(table, SCHEMA, ds.Budget(epsilon=9), version="one")
    for place, question in enumerate(
        [
            {"where": "weight > 50"},
            {"where": "weight >= 50"},
            {"by": GROUP},
            {"by": "bins(bmi, [0, 18.5, 25, 99])"},
            {"by": ["late", "ward == 'n'"]},
            {"where": {"ward": "n"}},
            {"where": "not late"},
        ],
        1,
    ):
        session.count(epsilon=1, **question)
        assert session.spent().epsilon == place
    for again in (
        {"where": "50 < weight"},
        {"by": "bins( bmi, (0, 18.50, 25, 100))"},
        {"by": ["late", "'n' == ward"]},
        {"where": "late == False"},
    ):
        session.count(epsilon=1, **again)
    assert session.spent().epsilon == 7


def test_letter_case_of_folded_text_does_not_matter_in_the_expression_either() -> None:
    schema = ds.Schema({"d": ds.Text(fold=True)})
    session = ds.Session({"d": [" ÄRZTIN ", "ärztin", "Arzt", None]}, schema, ledger="test")
    for text in ("d == 'Ärztin'", "startswith(d, 'Ä')", "matches(d, '*TIN')", "d in ['ÄRZTIN ', 'x']", "contains(d, 'ÄR')"):
        assert float(session.count(where=text, epsilon=math.inf)) == 2, text
    assert schema.name_of("startswith(d, 'Ä')") == schema.name_of("startswith(d, 'ä')")


def test_a_filter_by_an_expression_is_the_filter_by_labels() -> None:
    table = messy()
    session = ds.Session(table, SCHEMA, ds.Budget(epsilon=1e9), version="one", ledger="test")
    one = session.count(where="ward in ['n', 's']", epsilon=math.inf)
    other = session.count(where={"ward": ["n", "s"]}, epsilon=math.inf)
    assert one.value == other.value
    assert one.releases[0].where == (("ward in ['n', 's']", (True,)),)
    assert ds.Release.from_json(one.releases[0].to_json()).where == one.releases[0].where


def test_derived_columns_are_declared_like_others() -> None:
    assert ds.Schema.from_toml(SCHEMA.to_toml()) == SCHEMA == ds.Schema.from_dict(SCHEMA.to_dict())
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"z": ds.Real(0, 1, formula="weight >")}, "column 'z': formula: expression 'weight >' cannot be read"),
        ({"z": ds.Real(0, 1, formula="ward")}, "formula must be a number, got 'ward', a label"),
        ({"z": ds.Real(0, 1, formula="z + 1")}, "must not lead back to itself"),
        ({"z": ds.Real(0, 1, formula="v + 1"), "v": ds.Real(0, 1, formula="z + 1")}, "must not lead back to itself"),
        ({"z": ds.Real(0, 1, formula="dx")}, "a text"),
        ({"z": ds.Categories(["a"], formula="'a' if late else 'b'")}, "may be 'b', which is not declared"),
        ({"z": ds.Categories(["a"], formula="'a'")}, "formula must read a column"),
        ({"z": ds.Real(0, 1, formula="nothing + 1")}, "names no column 'nothing'"),
        ({"z": ds.Real(0, 1, formula="id + 1")}, "must not read the person column"),
    ]
    for columns, words in wrong:
        with pytest.raises(DiscreetError, match=words):
            ds.Schema({**COLUMNS, **columns}, person="id", max_rows=2)
    for value in ("", 3):
        with pytest.raises(InvalidRequest, match="formula must be an expression"):
            ds.Real(0, 1, formula=value)  # type: ignore[arg-type]
    session = ds.Session(messy(), SCHEMA, ds.Budget(epsilon=1))
    with pytest.raises(InvalidRequest, match="column 'dx' holds text, which can only be matched"):
        session.crosstab("dx", epsilon=1)
    with pytest.raises(InvalidRequest, match="is a number; declare a column with that formula and bounds"):
        session.count(by="weight + height", epsilon=1)
    with pytest.raises(UnknownName, match="no column is declared as 'bmi '"):
        session.mean("bmi ", epsilon=1)
    assert session.spent().epsilon == 0


def test_extremes_raise_and_warn_nothing() -> None:
    odd = np.array([0x7FF0000000000001, 0x7FF8000000000000, 0xFFF0000000000000], np.uint64).view(np.float64)
    values = np.concatenate([odd, [5e-324, 1e308, -1e308, 0.0, -0.0]])
    table = dict.fromkeys(("weight", "height"), values) | {n: [None] * 8 for n in ("seen", "dx", "ward")} | {"id": range(8)}
    session = ds.Session({k: list(v) for k, v in table.items()}, SCHEMA, ds.Budget(epsilon=99))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for column in ("bmi", "curve"):
            session.mean(column, epsilon=1, by=GROUP, where="weight / height > 0 or missing(weight)")
        session.median("curve", epsilon=1)
