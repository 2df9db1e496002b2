"""Synthetic tables through a session: what they keep, what they cost, what is refused before anything is paid."""

from __future__ import annotations

import datetime
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet
import pytest

import discreet as ds
from discreet.accounting.conversions import epsilon_of_zcdp, zcdp_within
from discreet.core.price import Price
from discreet.core.runner import plan
from discreet.errors import BudgetExceeded, InvalidRequest
from discreet.report.synthetic import render
from discreet.synthetic.measurement import total
from discreet.synthetic.synthesizing import SynthesisRequest

ROWS = 1500
RNG = np.random.default_rng(0)
SEX = RNG.choice(["f", "m"], ROWS)
TABLE: dict[str, Any] = {
    "sex": SEX,
    "pregnant": np.where((SEX == "f") & (RNG.random(ROWS) < 0.3), "yes", "no"),
    "age": np.where(RNG.random(ROWS) < 0.1, None, RNG.integers(15, 60, ROWS).astype(object)),
    "weight": RNG.normal(70, 12, ROWS) + 8 * (SEX == "m"),
    "day": np.array([str(datetime.date(2020, 1, 1) + datetime.timedelta(int(d))) for d in RNG.integers(0, 300, ROWS)]),
}
COLUMNS = {
    "sex": ds.Categories(["f", "m", "x"]),
    "pregnant": ds.Categories(["yes", "no"], missing="no"),
    "age": ds.Integer(15, 60),
    "weight": ds.Real(30, 150),
    "day": ds.Date("2020-01-01", "2020-12-31"),
    "heavy": ds.Boolean(formula="weight > 90"),
    "double": ds.Real(0, 150, formula="age * 2"),
}
BINS = {"weight": 12, "day": ["2020-01-01", "2020-07-01", "2020-12-31"], "age": [15, 30, 45, 60]}
MEN = "sex == 'm' and pregnant == 'yes'"


def session(budget: Any, neighbors: Any = "add_remove", **more: Any) -> ds.Session:
    schema = ds.Schema(COLUMNS, neighbors=neighbors)
    return ds.Session(TABLE, schema, budget=budget, ledger="test", seed=1, **more)


@pytest.mark.parametrize("neighbors", ["add_remove", "replace"])
def test_what_a_table_keeps(neighbors: Any, tmp_path: Path) -> None:
    """Bounds, labels, missing values, dates, derived columns, conditions; the same again from its document."""
    asked = session(ds.Budget(rho=1), neighbors)
    made = asked.synthesize(bins=BINS, impossible=[MEN], rho=1, tables=3)
    frame = made.frame()
    assert list(frame) == list(COLUMNS)
    assert not ((frame.sex == "m") & (frame.pregnant == "yes")).any()
    assert frame.weight.dropna().between(30, 150).all()
    assert frame.age.dropna().between(15, 60).all()
    assert frame.age.isna().any() == (neighbors == "add_remove")  # under replace a missing number is the middle
    assert (frame.age.dropna() % 1 == 0).all()
    assert frame.day.dropna().between(datetime.date(2020, 1, 1), datetime.date(2020, 12, 31)).all()
    there = ~frame.weight.isna()
    assert (frame.heavy[there] == (frame.weight[there] > 90)).all()
    there = ~frame.age.isna()
    assert (frame.double[there] == np.clip(2 * frame.age[there], 0, 150)).all()
    known = ROWS if neighbors == "replace" else round(total(made.measurements))  # what is not public is told by noise
    assert len(frame) == known
    again = ds.synthetic.Synthetic.from_json(made.to_json())
    assert again.table.equals(made.table)
    assert all(a.equals(b) for a, b in zip(again.tables, made.tables, strict=True))
    made.to_parquet(tmp_path / "t.parquet", 1)
    made.to_csv(tmp_path / "t.csv")
    stored = pyarrow.parquet.read_table(tmp_path / "t.parquet")
    assert b"synthetic" in stored.schema.metadata[b"discreet"]
    assert stored.equals(made.tables[1])
    assert (tmp_path / "t.csv").read_text().startswith('"sex","pregnant"')
    assert made.plot().axes
    assert "not private" in repr(made)


def test_the_tables_agree_with_the_data_and_the_intervals_hold_it() -> None:
    """At rho 50 noise is small: shares to one in a hundred, and the mean of a bin's middle within its interval.

    The interval's chance to miss is below 1e-6 at level 1 - 1e-7, whatever the seed.
    """
    made = session(ds.Budget(rho=50)).synthesize(["sex", "weight"], bins={"weight": 24}, rho=50, tables=10)
    frame = made.frame()
    assert (frame.sex == "f").mean() == pytest.approx((SEX == "f").mean(), abs=0.01)
    heavier = made.analyse(ds.synthetic.difference("weight", by="sex", between=("m", "f")))
    low, high = heavier.interval(1 - 1e-7)
    assert low < 8 < high
    assert heavier.pvalue() < 0.01
    assert heavier.note is None
    assert made.analyse(lambda t: (t["weight"].mean(), 1.0)).note is None


def test_a_label_that_a_column_never_has_is_refused() -> None:
    made = session(ds.Budget(rho=1)).synthesize(["sex", "age"], bins={"age": BINS["age"]}, rho=1, tables=2)
    for analysis in (ds.synthetic.share("sex", "q"), ds.synthetic.difference("age", by="sex", between=("f", "q"))):
        with pytest.raises(InvalidRequest, match="no label 'q'"):
            made.analyse(analysis)


def test_a_note_says_what_was_not_measured_together() -> None:
    sets = [["sex", "age"], ["sex", "pregnant"]]
    asked = session(ds.Budget(rho=1))
    made = asked.synthesize(["sex", "age", "pregnant"], workload=sets, bins={"age": 3}, rho=1, tables=2)
    assert made.measured_together[:2] == [("sex", "age"), ("sex", "pregnant")]
    assert "not all measured" in str(made.analyse(ds.synthetic.regression("age", ["pregnant"])).note)
    assert made.analyse(ds.synthetic.regression("age", ["sex"])).note is None


def test_an_approximate_budget_pays_exactly_what_was_asked() -> None:
    """(1, 1e-9) is spent as rho .014973, the largest that implies it; a basic budget of as much is then empty."""
    rho = zcdp_within(1, "1e-9")
    assert float(rho) == pytest.approx(0.014973, abs=5e-7)
    assert epsilon_of_zcdp(rho, "1e-9") <= 1 < epsilon_of_zcdp(rho * 1.000001, "1e-9")
    for budget in (ds.Budget(epsilon=1, delta="1e-9"), ds.Budget(rho="0.015"), ds.Budget(3, "1e-8", composition="renyi")):
        asked = session(budget)
        made = asked.synthesize(["sex", "age"], epsilon=1, delta="1e-9", tables=2)
        assert (made.cost.epsilon, made.cost.rho) == (1, rho)
        assert asked.spent().rho == rho
        asked.ledger.verify()
    assert session(ds.Budget(epsilon=1)).synthesize(["sex", "pregnant"], epsilon=1).cost.epsilon == 1


def test_asked_again_it_is_free_and_the_same() -> None:
    asked = session(ds.Budget(rho=1), version="one")
    first = asked.synthesize(["sex", "pregnant"], rho="0.6", tables=2)
    again = asked.synthesize(["sex", "pregnant"], rho="0.6", tables=2)
    assert first.table.equals(again.table)
    assert asked.spent().rho == pytest.approx(0.6)
    free = asked.synthesize(["sex", "pregnant"])
    assert (free.cost.epsilon, len(free.measurements)) == (0, len(first.measurements))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"columns": ["weight"]}, "needs public bins"),
        ({"columns": ["sex", "weight", "age"], "bins": {"weight": 1 << 17}}, "at most 4,194,304 cells, and .* has"),
        ({"columns": ["sex"], "workload": [["age"]]}, "not synthesised"),
        ({"columns": ["sex"], "workload": ["sex"]}, "list of lists"),
        ({"columns": ["sex"], "rows": 0}, "rows must be"),
        ({"columns": ["sex"], "tables": 1}, "tables must be"),
        ({"columns": ["sex"], "impossible": ["sex == 'f' or sex == 'm' or sex == 'x' or missing(sex)"]}, "leave some"),
        ({"columns": ["sex"], "impossible": ["age > 3"]}, "no column"),
        ({"columns": ["sex"], "impossible": "sex == 'f'"}, "must be a list"),
        ({"columns": "sex"}, "list of columns"),
        ({"columns": 5}, "list of columns"),
        ({"columns": ["sex"], "workload": [5]}, "list of lists"),
        ({"columns": ["sex", "weight"], "bins": {"weight": math.nan}}, "whole number or a list of edges"),
        ({"columns": ["sex", "weight"], "bins": [12]}, "for each column"),
        ({"columns": ["sex", "heavy", "weight"], "bins": {"weight": [1, 2, "x"]}}, "finite number"),
    ],
)
def test_refused_before_anything_is_paid(given: dict[str, Any], words: str) -> None:
    asked = session(ds.Budget(rho=1))
    with pytest.raises((InvalidRequest, LookupError), match=words):
        asked.synthesize(**given, rho=1)
    assert asked.spent().rho == 0
    assert not list(asked.ledger.events())


def test_an_empty_table_is_answered_with_noise() -> None:
    empty = {name: np.array(values)[:0] for name, values in TABLE.items()}
    for neighbors in ("add_remove", "both"):
        schema = ds.Schema(COLUMNS, neighbors=neighbors)  # type: ignore[arg-type]
        asked = ds.Session(empty, schema, ledger="test", seed=1)
        made = asked.synthesize(["sex", "pregnant"], epsilon=1, delta="1e-6", tables=2)
        assert made.table.num_rows == made.rows >= 1
        assert all(t.num_rows == made.rows for t in made.tables)


def test_for_nothing_takes_no_filter() -> None:
    with pytest.raises(InvalidRequest, match="leave where out"):
        session(ds.Budget(rho=1)).synthesize(where={"sex": "f"})
    with pytest.raises(InvalidRequest, match="nothing was released"):
        session(ds.Budget(rho=1), version="one").synthesize()


def test_for_nothing_rows_that_a_release_leaves_out_have_an_empty_cell() -> None:
    """A crosstab that leaves out who has no label, and a histogram of everybody: the table agrees with both."""
    ward = np.where(np.arange(4000) % 4 == 0, "elsewhere", np.where(np.arange(4000) % 2 == 0, "a", "b"))
    sex = np.where(np.arange(4000) % 5 == 0, "f", "m")
    wards = ds.crosstab(sex, ward, categories=[["f", "m"], ["a", "b"]], epsilon=4, seed=1)
    ages = ds.histogram(np.arange(4000) % 50, bins=[0, 10, 50], bounds=(0, 50), epsilon=4, seed=2)
    free = ds.synthetic.from_releases([wards, ages], tables=2)
    # Laplace noise of scale 1/4 a cell: six cells are beyond 4 each with probability below 1e-6.
    assert abs(free.rows - 4000) <= 8
    counts = {m.places: m.expected(free.model.counts(free.domain.sizes, m.places)) for m in free.measurements}
    assert np.abs(counts[0, 1] - [[200, 400], [800, 1600]]).max() < 10
    assert np.abs(counts[2,] - [800, 3200]).max() < 10
    assert [len(apart.columns) for apart in free.distances() if apart.measured < 0.01] == [2, 1]


def test_for_nothing_the_number_of_rows_and_columns_beside_others_are_used() -> None:
    """A count of rows of little noise beside a crosstab of much; and of the crosstab one column alone.

    Laplace noise of scale 1/20: the count is off by more than one, with the rounding, with probability below 1e-8.
    """
    rows = ds.count(SEX, epsilon=20, seed=1)
    counts = ds.crosstab(SEX, TABLE["pregnant"], categories=[["f", "m"], ["yes", "no"]], epsilon="0.05", seed=2)
    free = ds.synthetic.from_releases([counts, rows], ["column1"], tables=2)
    assert abs(free.rows - ROWS) <= 1
    assert list(free.frame()) == ["column1"]
    assert free.measured_together == [("column0", "column1")]
    assert [apart.columns for apart in free.distances()] == [("column0", "column1")]
    again = ds.synthetic.Synthetic.from_json(free.to_json())
    assert again.table.equals(free.table)
    assert again.tables[1].equals(free.tables[1])
    with pytest.raises(InvalidRequest, match="nothing was released that a table can be made of"):
        ds.synthetic.from_releases(rows)
    with pytest.raises(InvalidRequest, match="tells of column 'sex', only of column0, column1"):
        ds.synthetic.from_releases([counts, rows], ["sex"])


def test_the_page_says_which_means_were_used() -> None:
    weights = ds.mean(TABLE["weight"], bounds=(30, 150), epsilon=1, seed=1)
    free = ds.synthetic.from_releases(weights, tables=2)
    assert "Means and the like of x had been released too" in " ".join(render(free, "A clinic").split())
    assert "Means" not in render(
        ds.synthetic.from_releases(ds.crosstab(SEX, SEX, categories=[["f", "m"]] * 2, epsilon=1)), ""
    )


@pytest.mark.parametrize(
    "given", [{"rows": -1}, {"rows": 1.5}, {"tables": 1}, {"tables": "x"}, {"columns": "a"}, {"bins": 3}]
)
def test_for_nothing_refuses_what_cannot_be_made(given: dict[str, Any]) -> None:
    counts = ds.crosstab(SEX, TABLE["pregnant"], categories=[["f", "m"], ["yes", "no"]], epsilon=1, seed=1)
    with pytest.raises(InvalidRequest, match=next(iter(given))):
        ds.synthetic.from_releases(counts, **given)


def test_a_filter_leaves_others_out() -> None:
    made = session(ds.Budget(rho=50)).synthesize(["sex", "pregnant"], where={"sex": "m"}, rho=50, tables=2)
    assert made.table.column("sex").to_pylist().count("m") > 0.98 * made.rows


def test_a_budget_too_small_for_the_whole_pays_for_no_part() -> None:
    asked = session(ds.Budget(rho="0.5"))
    with pytest.raises(BudgetExceeded, match="this request asks for"):
        asked.synthesize(["sex", "pregnant"], rho=1)
    assert not list(asked.ledger.events())


@pytest.mark.parametrize("price", [{"rho": 1}, {"epsilon": 1}, {"epsilon": 1, "delta": "1e-6"}, {"epsilon": math.inf}])
def test_many_columns_choose_a_tree_and_more(price: dict[str, Any]) -> None:
    """Eight columns have 28 pairs: 7 tie them together and 17 are chosen beyond; all that is asked adds up to the price."""
    names = [f"c{i}" for i in range(8)]
    schema = ds.Schema({name: ds.Categories(["a", "b"], missing="a") for name in names})
    request = SynthesisRequest(schema, names, tables=2)
    made, asks = plan(request.procedure(Price(**price)), "add_remove", 1000)
    assert [len(m.places) for m in made.measurements] == [1] * 8 + [2] * 24
    assert len({m.places for m in made.measurements}) == 32
    if "rho" in price:
        costs = [a.mechanism.cost(a.query.distance("add_remove")).rho for a in asks]  # type: ignore[union-attr]
        assert 0.999999 < float(sum(costs)) <= 1  # type: ignore[arg-type]


def test_a_large_table_may_be_worth_more_than_its_noise() -> None:
    """Two columns of 30 levels that are the same: 900 cells, noise of 3,000 in L1, and 1,933 from independence.

    Were all of the noise held against it, the pair would be chosen last, and no other tells how they go together. A choice
    that is 900 worse has a probability below e**-80.
    """
    rng = np.random.default_rng(4)
    labels = [f"l{i}" for i in range(30)]
    same = rng.choice(labels, 1000)
    table = {"one": same, "two": same} | {f"c{i}": rng.choice(["a", "b"], 1000) for i in range(6)}
    columns = {name: ds.Categories(labels if name in ("one", "two") else ["a", "b"]) for name in table}
    asked = ds.Session(table, ds.Schema(columns), ledger="test", seed=1)
    assert ("one", "two") in asked.synthesize(rho=1, tables=2).measured_together


def test_dependence_that_three_columns_have_is_in_the_table() -> None:
    """Exclusive or: no pair tells of it, the triple of a workload does. Without noise it is exact."""
    rng = np.random.default_rng(2)
    a, b = (rng.choice(["n", "y"], 400) for _ in range(2))
    table = {"a": a, "b": b, "c": np.where(a == b, "n", "y")}
    schema = ds.Schema({name: ds.Categories(["n", "y"], missing="n") for name in "abc"})
    asked = ds.Session(table, schema, ledger="test", seed=1)
    frame = asked.synthesize(list("abc"), workload=[list("abc")], epsilon=math.inf, tables=2).frame()
    assert ((frame.a == frame.b) == (frame.c == "n")).mean() > 0.99
