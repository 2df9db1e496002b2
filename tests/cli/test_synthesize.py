"""``discreet synthesize``: files in, tables, a document and a page out; what is wrong is refused and charges nothing."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import discreet as ds
from discreet.cli import main

FILE = """
title = "A clinic"
table = "t.csv"
schema = "s.toml"
ledger = "sqlite:///ledger.db"
budget = {rho = 1}

[synthetic]
rho = 0.5
tables = 2
write_tables = true
impossible = ["sex == 'm' and day > date('2024-06-30')"]
bins = {day = ["2024-01-01", "2024-07-01", "2024-12-31"]}
"""
SCHEMA = """
[columns.sex]
type = "category"
values = ["f", "m"]
[columns.day]
type = "date"
bounds = ["2024-01-01", "2024-12-31"]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    sexes, months = rng.choice(["f", "m"], 500), rng.integers(1, 7, 500)
    lines = [f"{sex},2024-{month:02}-03" for sex, month in zip(sexes, months, strict=True)]
    (tmp_path / "t.csv").write_text("sex,day\n" + "\n".join(lines) + "\n")
    (tmp_path / "s.toml").write_text(SCHEMA)
    (tmp_path / "make.toml").write_text(FILE)
    return tmp_path


def test_tables_a_document_and_a_page(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["synthesize", str(folder / "make.toml"), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    made = folder / "make-synthetic"
    assert sorted(p.name for p in made.iterdir()) == [
        "synthetic-0.csv", "synthetic-1.csv", "synthetic.csv", "synthetic.html", "synthetic.json",
    ]  # fmt: skip
    page = (made / "synthetic.html").read_text()
    assert "must not be used for" in page
    assert "from 2024-07-01" not in page  # pictures are images; their text is not in the page
    assert "sex × day" in page
    again = ds.synthetic.Synthetic.from_json((made / "synthetic.json").read_text())
    again.to_csv(folder / "again.csv")
    assert (folder / "again.csv").read_text() == (made / "synthetic.csv").read_text()
    rows = [line.split(",") for line in (made / "synthetic.csv").read_text().splitlines()[1:]]
    assert not any(sex == '"m"' and day > "2024-06-30" for sex, day in rows)
    assert said["rows"] == len(rows)
    assert main(["synthesize", str(folder / "make.toml")]) == 0  # paid for already
    assert "Left: ρ=0.5" in capsys.readouterr().out


def test_for_nothing_from_a_release(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ask = '[[ask]]\nstatistic = "crosstab"\ncolumns = ["sex"]\nepsilon = 1\n'
    head = FILE.split("[synthetic]", maxsplit=1)[0].replace("rho = 1", "epsilon = 1")
    (folder / "ask.toml").write_text(head + ask)
    assert main(["release", str(folder / "ask.toml")]) == 0
    capsys.readouterr()
    assert main(["synthesize", str(folder / "ask-release" / "releases.json"), "-o", str(folder / "free")]) == 0
    assert "Nothing was paid" in capsys.readouterr().out
    assert (folder / "free" / "synthetic.csv").read_text().startswith('"sex"\n')


def test_for_nothing_a_schema_says_which_numbers_are_days(folder: Path) -> None:
    ask = '[[ask]]\nstatistic = "histogram"\ncolumns = ["day"]\noptions = {bins = 3}\nepsilon = 1\n'
    head = FILE.split("[synthetic]", maxsplit=1)[0].replace("rho = 1", "epsilon = 1")
    (folder / "ask.toml").write_text(head + ask)
    assert main(["release", str(folder / "ask.toml")]) == 0
    released = str(folder / "ask-release" / "releases.json")
    assert main(["synthesize", released, "-o", str(folder / "free"), "--schema", str(folder / "s.toml")]) == 0
    days = (folder / "free" / "synthetic.csv").read_text().splitlines()[1:]
    assert all("2024-01-01" <= day <= "2024-12-31" for day in days)
    assert main(["synthesize", str(folder / "make.toml"), "--schema", str(folder / "s.toml")]) != 0


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("rho = 0.5\n", "", "need epsilon"),
        ("tables = 2", "tables = 1", "tables must be a whole number"),
        ("bins = {", "bin = {", "unknown key 'bin'"),
        ('bins = {day = ["2024-01-01", "2024-07-01", "2024-12-31"]}', "", "needs public bins"),
        ("[synthetic]", "[other]", "unknown key"),
        ("rho = 0.5\n", "rho = 0.5\nepsilon = 1\n", "either epsilon or rho"),
        ("rho = 0.5\n", "rho = 2\n", "asks for"),
        ("tables = 2", 'tables = 2\nformat = "xls"', "format must be"),
        ("tables = 2", 'tables = 2\ncolumns = ["nothing"]', "nothing"),
    ],
)
def test_refused_with_its_place_and_nothing_charged(
    folder: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, words: str
) -> None:
    (folder / "make.toml").write_text(FILE.replace(old, new))
    assert main(["synthesize", str(folder / "make.toml")]) != 0
    said = capsys.readouterr().err
    assert words in said.replace("\n", " ")
    assert not (folder / "make-synthetic").exists()
    assert (folder / "ledger.db").exists() == (words == "asks for")  # only a budget that is too small is found out there
    if words == "asks for":
        assert not [e for e in ds.Ledger(f"sqlite:///{folder}/ledger.db").events() if e.kind in ("charge", "open")]
