"""Tables and hierarchies with semicolons, in and out."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from discreet.cli import main
from discreet.errors import InvalidRequest, UnsupportedFormat
from discreet.protect import Delimited, Hierarchy, anonymize, check, mondrian

JOBS = {"nurse": ["health", "*"], "cook": ["kitchen; canteen", "*"], "doctor": ["health", "*"]}


def people(folder: Path) -> Path:
    with (folder / "people.csv").open("w", newline="") as out:
        rows = csv.writer(out, delimiter=";")
        rows.writerow(["age", "job", "note"])
        rows.writerows([20 + i % 30, list(JOBS)[i % 3], f"a, b; {i}"] for i in range(120))
    return folder / "people.csv"


def test_a_copy_of_a_table_with_semicolons_has_semicolons(tmp_path: Path) -> None:
    levels = {"age": Hierarchy.intervals(0, 100, [10, 50]), "job": Hierarchy.tree(JOBS)}
    table = Delimited(people(tmp_path))
    for make in (anonymize, mondrian):
        copy = make(table, ["age", "job"], levels, 5)
        written = copy.write(tmp_path / f"{make.__name__}.csv")
        with written.open(newline="") as lines:
            header, *rows = csv.reader(lines, delimiter=";")
        assert (header, len(rows)) == (["age", "job", "note"], 120)
        assert {row[2] for row in rows} == {f"a, b; {i}" for i in range(120)}
        assert check(Delimited([written]), ["age", "job"]).k >= 5
    tabs = copy.write(tmp_path / "copy.tsv")
    assert tabs.read_text().startswith("age\tjob\tnote\n")
    with pytest.raises(InvalidRequest, match="delimiter must be one of"):
        Delimited("people.csv", "ab")
    copy.write(tmp_path / "copy.parquet")
    with pytest.raises(InvalidRequest, match="for CSV files"):
        check(Delimited(tmp_path / "copy.parquet"), ["age"])


@pytest.mark.parametrize("mark", [";", "\t", "|", ","])
def test_a_table_whose_cells_run_together_is_refused(mark: str, tmp_path: Path) -> None:
    ending = "tsv" if mark == "," else "csv"
    (tmp_path / f"t.{ending}").write_text(f"age{mark}ill\n34{mark}flu\n")
    with pytest.raises(UnsupportedFormat, match="separated by that; say so"):
        check(tmp_path / f"t.{ending}", ["age"])
    assert check(Delimited(tmp_path / f"t.{ending}", mark), ["age"]).rows == 1
    (tmp_path / "one.csv").write_text("age in years: now\n34\n")
    assert check(tmp_path / "one.csv", ["age in years: now"]).rows == 1


def test_hierarchies_are_written_as_arx_reads_them(tmp_path: Path) -> None:
    """One row for each value: the value, then its way to the top, no header, semicolons."""
    tree = Hierarchy.tree(JOBS)
    file = tree.to_csv(tmp_path / "job.csv")
    assert file.read_text() == 'nurse;health;*\ncook;"kitchen; canteen";*\ndoctor;health;*\n'
    assert Hierarchy.from_csv(file).path("cook") == tree.path("cook")
    ages = Hierarchy.intervals(0, 100, [10])
    file = ages.to_csv(tmp_path / "age.csv", [34, 7, 34])
    assert file.read_text() == "34;[30, 40);*\n7;[0, 10);*\n"
    with pytest.raises(InvalidRequest, match="no list of values"):
        ages.to_csv(tmp_path / "none.csv")


def test_jobs_say_the_delimiter(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    people(tmp_path)
    Hierarchy.tree(JOBS).to_csv(tmp_path / "jobs.csv")
    text = (
        'table = "people.csv"\ndelimiter = ";"\noutput = "copy.csv"\nquasi_identifiers = ["job"]\n'
        'drop = ["age", "note"]\nk = 5\n'
        '[hierarchies.job]\nkind = "csv"\npath = "jobs.csv"\n'
    )
    (tmp_path / "job.toml").write_text(text)
    assert main(["protect", "anonymize", str(tmp_path / "job.toml")]) == 0
    assert (tmp_path / "copy.csv").read_text().startswith("job\n")
    assert main(["protect", "scan", str(tmp_path / "people.csv"), "--delimiter", ";", "--json"]) == 0
    assert '"note"' in capsys.readouterr().out
