"""A session: pays first, answers again for nothing, previews without looking, and is the same on every source."""

from __future__ import annotations

import math
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import discreet as ds
from discreet.errors import BudgetExceeded, DiscreetError, InvalidRequest, NotPrivate, UnknownName, UnsupportedFormat
from discreet.sources.base import BaseSource

SCHEMA = """
person = "patient"
max_rows = 2
neighbors = "add_remove"
expected_rows = 400

[columns.age]
type = "real"
bounds = [0, 100]

[columns.sex]
type = "category"
values = ["f", "m"]
"""


EMPTY = ds.Schema({"x": ds.Real(0, 1)}, neighbors="replace")


def table() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    age = rng.uniform(-10, 120, 400)
    age[::17] = np.nan
    return {"age": age, "sex": rng.choice(["f", "m", "x"], 400), "patient": rng.integers(0, 250, 400)}


def exact(source: Any, schema: Any, **options: Any) -> list[Any]:
    session = ds.Session(source, schema, ledger="test", seed=1)
    asked = [session.mean("age", epsilon=math.inf, **options), session.count(epsilon=math.inf, **options),
             session.variance("age", by="sex", epsilon=math.inf), session.crosstab("sex", epsilon=math.inf),
             session.sum("age", epsilon=math.inf), session.median("age", epsilon=math.inf)]  # fmt: skip
    return [np.asarray(r.releases[0].value).tolist() for r in asked]


def test_the_same_exact_sums_everywhere(tmp_path: Path) -> None:
    """NumPy, pandas, Polars, Arrow, CSV and Parquet, in shuffled order: the same whole numbers to the last digit."""
    rows = table()
    schema = ds.Schema.from_toml(SCHEMA)
    frame = pd.DataFrame(rows)
    shuffled = frame.sample(frac=1, random_state=3)
    shuffled.to_csv(tmp_path / "t.csv", index=False)
    shuffled.to_parquet(tmp_path / "t.parquet", index=False)
    expected = exact(rows, schema)
    polars = pl.DataFrame(rows)
    for source in (frame, shuffled, polars, polars.to_arrow(), tmp_path / "t.csv", tmp_path / "t.parquet"):
        assert exact(source, schema) == expected, type(source)
    assert exact(frame, schema, where={"sex": "f"}) == exact(tmp_path / "t.csv", schema, where={"sex": "f"})


def test_budget_is_paid_once_for_the_same_question(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    with ds.Ledger(url, ds.Budget(epsilon=1)) as ledger:
        session = ds.Session(table(), ds.Schema.from_toml(SCHEMA), ledger=ledger, version="november")
        first = session.mean("age", epsilon=0.4)
        assert session.mean("age", epsilon=0.4).value == first.value
        assert ledger.spent().epsilon == first.cost.epsilon
        assert session.mean("age", epsilon=0.2).value != first.value
    # Another process later: the ledger remembers, for the same data only.
    again = ds.Session(table(), ds.Schema.from_toml(SCHEMA), ledger=url, version="november")
    assert again.mean("age", epsilon=0.4).value == first.value
    assert float(again.remaining().epsilon) == pytest.approx(0.4)  # type: ignore[union-attr, arg-type]
    # Without a word from the custodian a table in memory is new data, whether or not a record changed.
    other = ds.Session(table(), ds.Schema.from_toml(SCHEMA), ledger=url)
    with pytest.raises(BudgetExceeded, match=r"0\.4"):
        other.mean("age", epsilon=0.5)
    assert other.mean("age", epsilon=0.4).releases[0].entry.number == 5  # type: ignore[union-attr]
    assert other.ledger.verify() == 6  # three payments, three answers stored


def test_preview_touches_no_data(monkeypatch: pytest.MonkeyPatch) -> None:
    session = ds.Session(table(), ds.Schema.from_toml(SCHEMA), ds.Budget(epsilon=1))
    replace = ds.Session(table(), ds.Schema({"age": ds.Real(0, 100)}, neighbors="replace"), ds.Budget(epsilon=1))

    def never(*_: Any) -> None:
        pytest.fail("the data was looked at")

    monkeypatch.setattr(BaseSource, "fold", never)
    preview = session.preview("mean", "age", epsilon=0.5)
    assert preview.cost.epsilon == ds.Cost.pure(0.5).epsilon
    assert 0 < preview.expected_error < 10
    assert preview.fits
    assert "would be left" in str(preview)
    assert not session.preview("mean", "age", epsilon=2).fits
    assert replace.preview("variance", "age", epsilon=0.5).expected_error > 0
    assert "rows of the rank" in str(session.preview("median", "age", epsilon=0.5))
    assert session.spent().epsilon == 0


def test_preview_is_close_to_what_comes() -> None:
    rng = np.random.default_rng(0)
    data = {"age": rng.uniform(0, 100, 2000)}
    schema = ds.Schema({"age": ds.Real(0, 100)}, expected_rows=2000)
    session = ds.Session(data, schema, ds.Budget(epsilon=10))
    for name in ("mean", "sum", "variance"):
        expected = session.preview(name, "age", epsilon=1).expected_error
        assert session.ask(name, "age", epsilon=1).expected_error == pytest.approx(expected, rel=0.5)


def test_seeds_and_infinite_epsilon_need_a_test_ledger() -> None:
    schema = ds.Schema.from_toml(SCHEMA)
    with pytest.raises(NotPrivate):
        ds.Session(table(), schema, ds.Budget(epsilon=1), seed=3)
    with pytest.raises(NotPrivate):
        ds.Session(table(), schema, ds.Budget(epsilon=1)).mean("age", epsilon=math.inf)
    assert not ds.Session(table(), schema, ledger="test").mean("age", epsilon=math.inf).private
    assert ds.Session(table(), schema, ds.Budget(epsilon=1)).mean("age", epsilon=1).private


def test_a_person_moves_an_answer_no_further_than_declared() -> None:
    """One patient with a thousand visits at the bound: the sums move by max_rows, whatever the table."""
    rows = table()
    crowd = {
        k: np.concatenate([v, np.repeat(np.array([{"age": 100.0, "sex": "f", "patient": 9999}[k]]), 1000)])
        for k, v in rows.items()
    }
    schema = ds.Schema.from_toml(SCHEMA)
    before = ds.Session(rows, schema, ledger="test").count(epsilon=math.inf)
    after = ds.Session(crowd, schema, ledger="test").count(epsilon=math.inf)
    assert after.value - before.value == 2
    assert before.releases[0].distance.l1 == 2  # type: ignore[union-attr]


def test_threads_share_a_session() -> None:
    """Eight threads on one session: every question is answered and paid for, with noise of its own."""
    session = ds.Session(table(), ds.Schema.from_toml(SCHEMA), ds.Budget(epsilon=100))
    answers: list[float] = []

    def work(number: int) -> None:
        answers.extend(float(session.sum("age", epsilon=f"0.{number}{i + 1}")) for i in range(5))

    threads = [threading.Thread(target=work, args=(i + 1,)) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(set(answers)) == 40


def test_an_analyst_cannot_declare_labels_public() -> None:
    """What is public about a table is said by whoever opens it, never by a question."""
    schema = ds.Schema({"age": ds.Real(0, 100), "sex": ds.Categories(["f"], other="o")}, neighbors="replace")
    session = ds.Session({"age": [1.0] * 9, "sex": ["f"] * 9}, schema, ds.Budget(epsilon=1))
    for option in ({"labels": "public"}, {"largest_group": 1}, {"public_labels": True}):
        with pytest.raises(InvalidRequest, match="takes other arguments"):
            session.pooled_variance("age", by="sex", epsilon="0.1", **option)
    assert session.spent().epsilon == 0


def test_rows_without_an_id_count_for_nothing() -> None:
    rows = {"age": [50.0, 60.0, 70.0], "sex": ["f", "f", "f"], "patient": [None, 1, ""]}
    session = ds.Session(rows, ds.Schema.from_toml(SCHEMA), ledger="test")
    assert session.count(epsilon=math.inf).value == 1


def test_errors_before_anything_is_charged(tmp_path: Path) -> None:
    schema = ds.Schema.from_toml(SCHEMA)
    (tmp_path / "cut.parquet").write_bytes(b"PAR1 but then nothing")
    (tmp_path / "schema.toml").write_text(SCHEMA.replace("bounds", "bonds"))
    for bad, error, words in (
        (lambda: ds.Session({"age": [1.0]}, schema, ds.Budget(1)), UnknownName, "sex|patient"),
        (lambda: ds.Session(tmp_path / "none.csv", schema, ds.Budget(1)), DiscreetError, "none.csv"),
        (lambda: ds.Session(tmp_path / "cut.parquet", schema, ds.Budget(1)), DiscreetError, "cut.parquet"),
        (lambda: ds.Session(table(), tmp_path / "schema.toml", ds.Budget(1)), UnsupportedFormat, "schema.toml.*line 9"),
        (lambda: ds.Session(table(), schema), InvalidRequest, "budget"),
        (lambda: ds.Session(table(), {"age": 1}, ds.Budget(1)), InvalidRequest, "schema must be"),  # type: ignore[arg-type]
        (lambda: ds.Session({"x": []}, EMPTY, ds.Budget(1)).mean("x", epsilon=1), InvalidRequest, "there are none"),
        (lambda: ds.Session(table(), schema, ds.Budget(2), ds.Ledger("sqlite://", ds.Budget(1))), InvalidRequest, "budget"),
    ):
        with pytest.raises(error, match=words):
            bad()
    session = ds.Session(table(), schema, ds.Budget(epsilon=1))
    with pytest.raises(BudgetExceeded) as caught:
        session.mean("age", epsilon=3)
    assert "ε=3" in str(caught.value)
    assert "ε=1" in str(caught.value)
    assert session.spent().epsilon == 0


@pytest.mark.parametrize("cells", [["", "x", "NaN", "inf", "1e400"], [None, "9" * 400, "-", "0x10", "1,5"]])
def test_records_never_raise(tmp_path: Path, cells: list[Any]) -> None:
    """Whatever a cell holds: an answer."""
    path = tmp_path / "t.csv"
    pd.DataFrame({"age": cells, "sex": cells, "patient": cells}).to_csv(path, index=False)
    for source in (path, {"age": cells, "sex": cells, "patient": cells}):
        session = ds.Session(source, ds.Schema.from_toml(SCHEMA), ds.Budget(epsilon=5))
        assert math.isfinite(session.mean("age", epsilon=1).value)
        assert np.isfinite(session.crosstab("sex", epsilon=1).value).all()
        assert math.isfinite(session.median("age", epsilon=1).value)
