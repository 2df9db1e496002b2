"""The worked trial, the quick form of the study, and ranks on every kind of table."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from study import rank_and_survival_levels as study

import discreet as ds
from discreet.cli import main as command
from discreet.sources import open_source
from discreet.statistics.question import Table, builder

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def _backend() -> Any:
    before = mpl.get_backend()
    yield
    mpl.use(before)


@pytest.mark.usefixtures("_backend")
def test_the_trial_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = runpy.run_path(str(EXAMPLES / "survival_trial.py"))["main"](tmp_path, quick=True)
    assert [path.name for path in made] == ["trial_survival.png", "trial_pressure.png", "trial_power.png"]
    assert all(path.read_bytes()[:4] == b"\x89PNG" for path in made)
    words = capsys.readouterr().out
    assert "Spent ε=1.5, left ε=0.5" in words
    assert "(n without privacy" in words


@pytest.mark.usefixtures("_backend")
def test_the_survey_and_the_real_trial_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The trial's file is not here: one of its form stands in."""
    (picture,) = runpy.run_path(str(EXAMPLES / "survey.py"))["main"](tmp_path, quick=True)
    assert picture.read_bytes()[:4] == b"\x89PNG"
    rng = np.random.default_rng(1)
    lines = ["days,cens,treat,strat,cd420"]
    lines += [f"{rng.integers(30, 1230)},{i % 3 == 0:d},{i % 2},{1 + i % 3},{rng.integers(20, 900)}" for i in range(300)]
    (tmp_path / "trial.csv").write_text("\n".join(lines) + "\n")
    made = runpy.run_path(str(EXAMPLES / "hiv_trial.py"))["main"](tmp_path, tmp_path / "trial.csv", quick=True)
    assert [path.name for path in made] == ["hiv_survival.png", "hiv_cells.png"]
    words = capsys.readouterr().out
    assert "life tables of 3 strata" in words
    assert words.count("(Holm)") == 2


def test_a_few_runs_of_the_study() -> None:
    """150 runs of a few settings: a level of .06 passes .19 and a coverage of .945 falls below .82 once in 10**6 at most."""
    places = {s["test"]: s for s in reversed(study.SETTINGS) if s.get("effect", 0.0) == 0.0 or s["test"] == "survival"}
    results = [(s, 150, study.run(s, 5, 150)) for s in places.values()]
    for setting, runs, found in results:
        if setting["test"] == "survival":
            assert min(found.values()) / runs > 0.82
        else:
            assert found["rejected"] / runs < 0.19
            assert set(found) == {"rejected", "naive", "exact"}
    power = next(s for s in study.SETTINGS if s["test"] == "mannwhitneyu" and s["effect"])
    everything = [*results, (power, 50, study.run(power, 1, 50))]
    assert {row.what.split(":")[0] for row in study.rows(everything)} == set(places)


@pytest.mark.parametrize("name", ["mannwhitneyu", "kruskal", "wilcoxon", "survival"])
def test_every_source_gives_the_same_sums(name: str, tmp_path: Path) -> None:
    """Arrays, batches of any size, and a file: one exact value, whatever the order."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    from discreet.sources.memory import MemorySource

    rng = np.random.default_rng(2)
    values = np.where(rng.random(500) < 0.3, np.rint(rng.normal(0, 2, 500)), rng.normal(0, 2, 500))
    table = {"x": values, "e": rng.integers(0, 2, 500), "g": rng.choice(["a", "b", "c", "?"], 500)}
    labels = ["a", "b"] if name == "mannwhitneyu" else ["a", "b", "c"]
    schema = ds.Schema({"x": ds.Real(-3, 3), "e": ds.Integer(0, 1), "g": ds.Categories(labels)})
    args = ("x", "e") if name == "survival" else ("x",)
    query: Any = builder(name)(Table(schema), *args, **({} if name == "wilcoxon" else {"by": "g"})).query
    arrow = pa.table(table)
    pyarrow.parquet.write_table(arrow, tmp_path / "t.parquet")
    pyarrow.csv.write_csv(arrow, tmp_path / "t.csv")
    order = rng.permutation(500)
    sources = [
        open_source(table, schema),
        *(MemorySource(table, schema, batch_rows=rows) for rows in (1, 7, 100)),
        open_source({k: np.asarray(v)[order] for k, v in table.items()}, schema),
        open_source(str(tmp_path / "t.parquet"), schema),
        open_source(str(tmp_path / "t.csv"), schema),
    ]
    found = [query.evaluate(source).counts.tolist() for source in sources]
    assert all(each == found[0] for each in found)


def test_a_plan_says_which_effect_would_be_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "people.csv").write_text("bp,arm,t,e\n120,a,1,1\n130,b,2,0\n")
    (tmp_path / "ask.toml").write_text(
        'table = "people.csv"\nledger = "sqlite:///ledger.db"\n[budget]\nepsilon = 3\n'
        "[schema]\nexpected_rows = 500\n[schema.columns.bp]\ntype = 'real'\nbounds = [60, 220]\n"
        "[schema.columns.arm]\ntype = 'category'\nvalues = ['a', 'b']\n"
        "[schema.columns.t]\ntype = 'real'\nbounds = [0, 5]\n[schema.columns.e]\ntype = 'integer'\nbounds = [0, 1]\n"
        "[[ask]]\nstatistic = 'mannwhitneyu'\ncolumns = 'bp'\nby = 'arm'\nepsilon = 1\n"
        "[[ask]]\nstatistic = 'logrank'\ncolumns = ['t', 'e']\nby = 'arm'\nepsilon = 1\noptions = {bins = 5}\n"
        "[[ask]]\nstatistic = 'survival'\ncolumns = ['t', 'e']\nby = 'arm'\nepsilon = 1\noptions = {bins = 5}\n"
    )
    assert command(["plan", str(tmp_path / "ask.toml")]) == 0
    words = capsys.readouterr().out
    assert words.count("finds an effect of") == 2
    assert command(["release", str(tmp_path / "ask.toml")]) == 0
    assert (tmp_path / "ask-release" / "report.html").exists()
