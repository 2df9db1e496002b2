"""``discreet tune``, ``judge``, ``predict`` and ``local``: each works from end to end; what is wrong is said in a line."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from discreet.jobs.tune import grid
from tests.cli.conftest import Run


@pytest.fixture
def paid(folder: Path) -> list[str]:
    """The options that every command about the table needs."""
    return [str(folder / "people.csv"), "--schema", str(folder / "people.schema.toml"), "--ledger", str(folder / "l.db"),
            "--budget", "100"]  # fmt: skip


@pytest.fixture
def model(run: Run, folder: Path, paid: list[str]) -> Path:
    out = folder / "model.json"
    options = ["-m", "logistic", "-t", "sex", "-f", "age,weight", "--epsilon", "20", "--out", out]
    assert run("fit", *paid, *options).code == 0
    return out


def refused(run: Run, *arguments: str | Path) -> str:
    ran = run(*arguments)
    assert ran.code == 2, ran
    assert len(ran.err.strip().splitlines()) == 1, ran.err
    assert "Traceback" not in ran.err
    return ran.err


def test_judge(run: Run, folder: Path, paid: list[str], model: Path) -> None:
    doc = run("judge", model, *paid, "--epsilon", "5", "--json").doc
    assert {r["rate"] for r in doc["rates"]} >= {"tpr", "fpr", "precision", "f1"}
    assert all(0 <= r["low"] <= r["value"] <= r["high"] <= 1 for r in doc["rates"])
    better = folder / "better.json"
    said = run("judge", model, *paid, "--epsilon", "5", "--best", better, "--false-no", "3")
    assert said.code == 0
    assert "Area under the ROC curve" in said.out
    again = json.loads(better.read_text())
    assert again["predictor"]["threshold"] != 0
    assert "the threshold included" in again["guarantee"]["words"]
    assert "no price" in refused(run, "judge", model, *paid)
    assert "file that exists" in refused(run, "judge", folder / "none.json", *paid, "--epsilon", "1")
    assert "strictly between 0 and 1" in refused(run, "judge", model, *paid, "--epsilon", "1", "--level", "2")
    assert "not a published model" in refused(run, "judge", folder / "people.csv", *paid, "--epsilon", "1")
    assert "epsilon" in refused(run, "judge", model, *paid, "--epsilon", "-1")
    assert "left" in refused(run, "judge", model, *paid, "--epsilon", "1000")


def test_what_errors_cost_is_refused_before_it_is_paid(run: Run, folder: Path, paid: list[str], model: Path) -> None:
    def events() -> int:
        return len(run("ledger", "show", folder / "l.db", "--json").doc["events"])

    before = events()
    for wrong in ("0", "-1", "nan", "inf"):
        for more in (["--best", folder / "b.json"], ["--roc"], []):
            told = refused(run, "judge", model, *paid, "--epsilon", "1", "--false-yes", wrong, *more)
            assert "must be positive and finite" in told
    assert events() == before
    assert not (folder / "b.json").exists()


def test_no_command_writes_over_the_table_it_reads(run: Run, folder: Path, paid: list[str], model: Path) -> None:
    table = folder / "people.csv"
    before, fitted = table.read_bytes(), model.read_bytes()
    asked = [*paid, "-m", "logistic", "-t", "sex", "-f", "age", "--epsilon", "1", "--out", table]
    for command in (
        ["predict", model, table, "--out", table],
        ["local", "report", table, "-c", "sex", "--categories", "f,m", "--epsilon", "1", "--out", table],
        ["fit", *asked],
        ["tune", *asked, "--try", "ridge=1,2"],
        ["judge", model, *paid, "--epsilon", "1", "--best", table],
    ):
        assert "would be lost" in refused(run, *command)
    assert "would be lost" in refused(run, "predict", model, table, "--out", model)
    assert (table.read_bytes(), model.read_bytes()) == (before, fitted)


def test_predict(run: Run, folder: Path, model: Path) -> None:
    out = folder / "p.csv"
    assert run("predict", model, folder / "people.csv", "--out", out).code == 0
    rows = list(csv.DictReader(out.read_text().splitlines()))
    assert len(rows) == 300
    assert {row["prediction"] for row in rows} <= {"f", "m"}
    assert rows[0]["id"] == "0"
    assert all((float(row["score"]) > 0) == (row["prediction"] == "m") for row in rows)
    some = folder / "some.csv"
    some.write_text("id,age,weight\na,40,\nb,40,80\n")
    assert "1 rows lack a value" in run("predict", model, some, "--out", out).out
    lacking, whole = csv.DictReader(out.read_text().splitlines())
    assert (lacking["id"], lacking["prediction"], lacking["score"]) == ("a", "", "")
    assert (whole["age"], whole["prediction"] in ("f", "m")) == ("40", True)
    bad = folder / "bad.csv"
    for text, words in (
        ("age\n3\n", "reads the column 'weight'"),
        ("age,weight\n3,x\n", "bad.csv:2: weight must be a number"),
        ("age,weight\n3\n", "bad.csv:2: 1 cells"),
        ("", "the file is empty"),
        ("age,weight,prediction\n3,4,1\n", "'prediction' already"),
        ("age,age,weight\n3,4,1\n", "'age' twice"),
    ):
        bad.write_text(text)
        assert words in refused(run, "predict", model, bad, "--out", out)
    assert "file that exists" in refused(run, "predict", model, folder / "none.csv")


def test_tune_and_fit_by_grpua(run: Run, folder: Path, paid: list[str]) -> None:
    options = [*paid, "-m", "logistic", "-t", "sex", "-f", "age,weight", "--epsilon", "10", "--out", folder / "t.json"]
    doc = run("tune", *options, "--try", "ridge=1,30", "--json").doc
    assert doc["chosen"] in (0, 1)
    assert doc["cost"] == "ε=10"
    assert (folder / "t.json").exists()
    assert "name=value,value" in refused(run, "tune", *options, "--try", "ridge")
    assert "from 2 to 64 candidates" in refused(run, "tune", *options, "--try", "ridge=1")
    assert "takes no 'rigde'" in refused(run, "tune", *options, "--try", "rigde=1,2")
    assert "no model is called" in refused(run, "tune", *[o if o != "logistic" else "logistics" for o in options],
                                           "--try", "ridge=1,2")  # fmt: skip
    assert grid(["hidden_layer_sizes=[4],[8,8]", "loss=logistic,huber_hinge"]) == [
        {"hidden_layer_sizes": sizes, "loss": loss} for sizes in ([4], [8, 8]) for loss in ("logistic", "huber_hinge")
    ]
    network = [o if o != "logistic" else "network" for o in options]
    wrong = refused(
        run, "tune", *network, "--delta", "1e-5", "--set", "expected_rows=300", "--try", "hidden_layer_sizes=4,x"
    )
    assert "hidden_layer_sizes must be whole numbers" in wrong
    assert "no column" in refused(run, "tune", *[o if o != "sex" else "sx" for o in options], "--try", "ridge=1,2").lower()
    ran = run("fit", *paid[:-1], "100", "-m", "grpua", "-t", "sex", "-f", "age", "--epsilon", "1", "--delta", "1e-5",
              "--set", "steps=20", "--plan")  # fmt: skip
    assert ran.code in (0, 2)  # a budget of epsilon alone does not pay for delta; it is said in a line
    assert "grpua" in ran.out + ran.err or "delta" in ran.out + ran.err


def test_clusters_are_fitted_and_tuned_and_shown_before(run: Run, folder: Path, paid: list[str]) -> None:
    options = [*paid, "-m", "kmeans", "-f", "age,weight", "--epsilon", "10", "--out", folder / "k.json"]
    shown = run("tune", *options, "--try", "n_clusters=1,2", "--plan")
    assert "would cost ε=10 in all" in shown.out
    assert "nothing was charged" in shown.out
    for wrong, words in ((["--epsilon", "101"], "more than the budget"), (["-f", "agg"], "agg")):
        assert words in refused(run, "tune", *options, "--try", "n_clusters=1,2", *wrong)
    assert not (folder / "l.db").exists(), "its budget would be fixed for good"
    doc = run("tune", *options, "--try", "n_clusters=1,2", "--json").doc
    assert doc["cost"] == "ε=10"
    again = run("tune", *options, "--try", "n_clusters=1,2", "--plan", "--epsilon", "95", "--json").doc
    assert (again["fits"], again["left_now"]) == (False, "ε=90")
    assert run("fit", *options).code == 0
    assert "fit needs --model, --features, --target" in refused(run, "fit", *paid)


def test_local(run: Run, folder: Path) -> None:
    out = folder / "r.json"
    table = folder / "people.csv"
    assert run("local", "report", table, "-c", "sex", "--categories", "f,m", "--epsilon", "5", "--out", out).code == 0
    doc = run("local", "estimate", out, "--json").doc
    assert doc["reports"] == 300
    assert abs(doc["rows"][0]["value"] - 0.5) < 0.15  # a standard error of 0.01
    assert run("local", "report", table, "-c", "age", "--bounds", "0,100", "--epsilon", "2", "--out", out).code == 0
    assert "counts once" in refused(run, "local", "estimate", out, folder / "." / "r.json")
    assert 20 < run("local", "estimate", out, "--json").doc["rows"][0]["value"] < 80
    report = ["local", "report", table, "--epsilon", "1", "--out", out]
    assert "give one of them" in refused(run, *report, "-c", "sex")
    assert "no column is called 'sx'" in refused(run, *report, "-c", "sx", "--categories", "f,m")
    assert "declared categories" in refused(run, *report, "-c", "sex", "--categories", "f,x")
    assert "two numbers" in refused(run, *report, "-c", "age", "--bounds", "0")
    assert "file that exists" in refused(run, "local", "estimate", folder / "none.json")
    assert "people.csv: reports must be JSON" in refused(run, "local", "estimate", table)
