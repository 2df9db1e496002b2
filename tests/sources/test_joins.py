"""Joined tables: the rows that a database joins, the bound that follows, and what is refused."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import discreet as ds
from discreet.errors import InvalidRequest
from discreet.sources import open_source
from tests.sources.conftest import in_database
from tests.sources.folds import everything

VISITS = ds.Schema({"cost": ds.Real(0, 100), "icd": ds.Text(), "ward": ds.Categories([1, 2])}, person="id", max_rows=4)
PATIENTS = ds.Schema(
    {"born": ds.Integer(1900, 2030), "sex": ds.Categories(["f", "m"], missing="m")}, person="pid", max_rows=1
)
CHAPTERS = {"chapter": ds.Categories(["inf", "inj"]), "weight": ds.Real(0, 5)}
COLUMNS = ["cost", "ward", "born", "sex", "chapter", "weight"]


def tables(words: bool = False) -> tuple[pa.Table, pa.Table, pa.Table]:
    """Visits of 60 people, of whom some have no patient row; ids as numbers, or as text that is partly none."""
    rng = np.random.default_rng(7)
    who = [None if rng.random() < 0.05 else int(i) for i in rng.integers(0, 60, 400)]
    name: Any = (lambda i: None if i is None else (str(i) if i % 3 else f"p{i}")) if words else (lambda i: i)
    kind = pa.string() if words else pa.int64()
    visits = pa.table(
        {
            "id": pa.array([name(i) for i in who], kind),
            "cost": rng.uniform(-10, 120, 400),
            "icd": pa.array(rng.choice(["A01", "B02", "Z", ""], 400).tolist(), pa.string()),
            "ward": rng.integers(1, 4, 400),
        }
    )
    known = [i for i in range(70) if i % 7]
    patients = pa.table(
        {
            "pid": pa.array([name(i) for i in known], kind),
            "born": rng.integers(1890, 2030, len(known)),
            "sex": pa.array(rng.choice(["f", "m", "?", None], len(known)).tolist(), pa.string()),
        }
    )
    lookup = pa.table({"icd": ["A01", "B02"], "chapter": ["inf", "inj"], "weight": [1.5, 2.5]})
    return visits, patients, lookup


@pytest.mark.parametrize("words", [False, True], ids=["numbers", "words"])
@pytest.mark.parametrize("kind", ["memory", "files", "database"])
def test_a_join_has_the_rows_that_a_database_joins(kind: str, words: bool, tmp_path: Path) -> None:
    visits, patients, lookup = tables(words)
    whole = duckdb.sql(
        "SELECT visits.*, born, CASE WHEN sex IN ('f', 'm') THEN sex WHEN sex IS NULL THEN 'm' WHEN pid IS NULL THEN 'm' "
        "ELSE sex END AS sex, chapter, weight FROM visits LEFT JOIN patients ON id = pid LEFT JOIN lookup USING (icd)"
    ).to_arrow_table()
    made: list[Any] = [visits, patients]
    if kind == "files":
        made = [tmp_path / "visits.parquet", tmp_path / "patients.parquet"]
        pyarrow.parquet.write_table(visits, made[0])
        pyarrow.parquet.write_table(patients, made[1])
    elif kind == "database":
        made = [in_database(f"sqlite:///{tmp_path}/t.db", each, name) for each, name in ((visits, "v"), (patients, "p"))]
    join = ds.join(
        made[0], VISITS, ds.People(made[1], PATIENTS, "one"), ds.Lookup(lookup, "icd", CHAPTERS),
        columns={"age": ds.Real(0, 130, formula="2030 - born")},
    )  # fmt: skip
    assert join.schema.max_rows == 4
    joined = open_source(join, join.schema, version="one", batch_rows=64)
    flat = open_source(whole, join.schema)
    for columns in (COLUMNS, ["age", "chapter"], ["sex"], ["cost"]):
        assert joined.fold(*everything(columns))[0] == flat.fold(*everything(columns))[0]
    some = joined.where(chapter="inf", sex="f"), flat.where(chapter="inf", sex="f")
    assert some[0].fold(*everything(["cost"]))[0] == some[1].fold(*everything(["cost"]))[0]
    assert sum(some[0].fold(*everything(["cost"]))[0].values()) > 5


def test_the_row_bound_is_worked_out_and_kept() -> None:
    """Someone with a thousand rows in each table makes no million of them, and counts as often as the bound says."""
    many = 1000
    visits = {
        "id": [1] * many + [2],
        "cost": np.linspace(0, 100, many + 1),
        "icd": ["A"] * (many + 1),
        "ward": [1] * (many + 1),
    }
    drugs = ds.Schema({"dose": ds.Real(0, 9)}, person="id", max_rows=3)
    join = ds.join(visits, VISITS, ds.People({"id": [1] * many + [2, 2], "dose": np.linspace(0, 9, many + 2)}, drugs))
    assert join.schema.max_rows == 4 * 3
    sizes: list[int] = []
    source = open_source(join, join.schema)
    source.fold(lambda b: sizes.append(b.size), lambda a, b: None, ["dose"])
    assert sum(sizes) == 3 * many + 2  # of the other table three rows a person are joined
    kept = source.fold(lambda b: Counter(b.people[b.kept(["cost", "dose"])].tolist()), lambda a, b: a + b, ["cost", "dose"])
    assert sorted(kept.values()) == [2, 12]


def test_neighbours_of_a_join_differ_in_one_person() -> None:
    visits, patients, lookup = tables()
    schema = ds.join(visits, VISITS, ds.People(patients, PATIENTS), ds.Lookup(lookup, "icd", CHAPTERS)).schema

    def rows(who: int | None) -> Counter[Any]:
        tables_ = [t if who is None else t.filter(pa.compute.not_equal(t[n], who).fill_null(True))
                   for t, n in ((visits, "id"), (patients, "pid"))]  # fmt: skip
        made = ds.join(tables_[0], VISITS, ds.People(tables_[1], PATIENTS), ds.Lookup(lookup, "icd", CHAPTERS))
        found: Counter[Any] = open_source(made, schema).fold(*everything(COLUMNS))[0]
        return found

    whole = rows(None)
    for who in range(0, 60, 12):
        gone = whole - rows(who)
        assert not rows(who) - whole
        assert len({row[0] for row in gone}) == 1
        assert 0 < sum(gone.values()) <= 4


def test_a_session_pays_for_a_join_as_for_any_table() -> None:
    visits, patients, lookup = tables()
    join = ds.join(visits, VISITS, ds.People(patients, PATIENTS, "p1"), ds.Lookup(lookup, "icd", CHAPTERS))
    session = ds.Session(join, join.schema, ds.Budget(epsilon=1), version="v1")
    first = session.mean("cost", by=["sex", "chapter"], epsilon=0.5)
    assert np.array_equal(session.mean("cost", by=["sex", "chapter"], epsilon=0.5).value, first.value)
    assert session.spent().epsilon == 0.5
    changed = pa.table({"icd": ["A01"], "chapter": ["inj"], "weight": [1.0]})
    other = ds.join(visits, VISITS, ds.People(patients, PATIENTS, "p1"), ds.Lookup(changed, "icd", CHAPTERS))
    again = ds.Session(other, other.schema, ledger=session.ledger, version="v1")
    again.mean("cost", by=["sex", "chapter"], epsilon=0.5)
    assert session.spent().epsilon == 1  # what a lookup says is part of the question


def test_what_cannot_be_joined_is_refused() -> None:
    visits, patients, lookup = tables()
    twice = pa.table({"icd": ["A01", "A01"], "chapter": ["inf", "inj"], "weight": [1.0, 2.0]})
    made = ds.join(visits, VISITS, ds.Lookup(twice, "icd", CHAPTERS))
    with pytest.raises(InvalidRequest, match="one row for each key, got two for 'A01'"):
        open_source(made, made.schema)
    cases: list[tuple[str, Any]] = [
        ("different names", [ds.Lookup(lookup, "icd", {"cost": ds.Real(0, 1)})]),
        ("the key of a lookup", [ds.Lookup(lookup, "cost", CHAPTERS)]),
        (
            "one relation",
            [ds.People(patients, ds.Schema({"born": ds.Real(0, 1)}, person="pid", max_rows=1, neighbors="replace"))],
        ),
        ("joined on the person", [ds.People(patients, ds.Schema({"born": ds.Real(0, 1)}))]),
        ("public bounds or labels", [ds.People(patients, ds.Schema({"born": ds.Text()}, person="pid", max_rows=1))]),
        ("joined with People", []),
        ("joined with People", [3]),
    ]
    for rule, others in cases:
        with pytest.raises(InvalidRequest, match=rule):
            ds.join(visits, VISITS, *others)
    with pytest.raises(InvalidRequest, match="worked out"):
        open_source(made, VISITS)
    with pytest.raises(InvalidRequest, match="without a formula"):
        ds.join(visits, VISITS, ds.Lookup(lookup, "icd", CHAPTERS), columns={"z": ds.Real(0, 1)})


@pytest.mark.parametrize("key", [ds.Text(fold=True), ds.Categories(["North", "south"], fold=True)], ids=["text", "labels"])
def test_where_case_does_not_matter_it_does_not_matter_in_a_lookup(key: ds.Text | ds.Categories) -> None:
    table = {"id": [1, 2, 3, 4, 5], "town": ["North", "north ", "SOUTH", None, "east"]}
    first = ds.Schema({"town": key}, person="id", max_rows=1)
    sides = {"side": ds.Categories(["up", "down"])}
    joined = ds.join(table, first, ds.Lookup({"town": ["NORTH", "South"], "side": ["up", "down"]}, "town", sides))
    counts = ds.Session(joined, joined.schema, ledger="test").count(by="side", epsilon=float("inf"))
    assert np.array_equal(counts.value, [2, 1])
    twice = ds.join(table, first, ds.Lookup({"town": ["North", "north"], "side": ["up", "down"]}, "town", sides))
    with pytest.raises(InvalidRequest, match="got two for 'north'"):
        open_source(twice, twice.schema)


def test_aliases_of_a_label_are_its_key_in_a_lookup_too() -> None:
    """Spelt either way in either table; a key that is no label is left out, and two spellings of one key are two rows."""
    sex = ds.Categories(["f", "m"], other="x", missing="m", aliases={"f": ["female", 2]})
    first = ds.Schema({"sex": sex, "old": ds.Boolean()}, person="id", max_rows=1)
    table = {"id": [*range(6)], "sex": ["f", "female", "2", "m", "?", None], "old": ["1", "true", "TRUE", "0", "0", "0"]}
    for spelt in ("f", "female", 2):
        told = ds.Lookup({"sex": [spelt, "u", "v", "x"], "side": ["up", "up", "up", "down"]}, "sex",
                         {"side": ds.Categories(["up", "down"])})  # fmt: skip
        joined = ds.join(table, first, told)
        counts = ds.Session(joined, joined.schema, ledger="test").count(by="side", epsilon=float("inf"))
        assert np.array_equal(counts.value, [3, 1])
    twice = ds.join(table, first, ds.Lookup({"sex": ["f", "female"], "w": [1.0, 2.0]}, "sex", {"w": ds.Real(0, 9)}))
    with pytest.raises(InvalidRequest, match="got two for 'f' of 'sex'"):
        open_source(twice, twice.schema)
    truth = ds.join(table, first, ds.Lookup({"old": [True], "w": [2.0]}, "old", {"w": ds.Real(0, 8)}))
    assert float(ds.Session(truth, truth.schema, ledger="test").sum("w", epsilon=float("inf"))) == pytest.approx(6)


def test_no_record_is_shown_by_a_join_or_its_refusal() -> None:
    secret = {"id": [1], "cost": [77.125], "icd": ["A01"], "ward": [1]}
    born = {"pid": [1], "born": [1913], "sex": ["f"]}
    sides = {"icd": ["B02"], "chapter": ["inf"], "weight": [4.625]}
    made = ds.join(secret, VISITS, ds.People(born, PATIENTS), ds.Lookup(sides, "icd", CHAPTERS))
    shown = repr(made)
    with pytest.raises(InvalidRequest, match=r"got dict$") as caught:
        ds.join(secret, VISITS, born)  # type: ignore[arg-type]
    for cell in ("77.125", "1913", "4.625"):
        assert cell not in shown
        assert cell not in str(caught.value)
