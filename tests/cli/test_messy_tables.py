"""A table as it is handed over, from the command line: planned, released, true; and forty mistakes, one line each, free."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from bench import tables
from bench.__main__ import RESULTS
from study import messy_tables as study

import discreet as ds
from tests.cli import messy
from tests.cli.conftest import Run


def test_a_hospitals_table_end_to_end(run: Run, tmp_path: Path) -> None:
    """50,000 visits of 15,000 patients. Ten answers, each inside an interval of 1 - 1e-7: false alarm 1e-6."""
    truth = messy.make(tmp_path)
    assert run("schema", "check", tmp_path / "besuche.schema.toml").code == 0
    planned = run("plan", tmp_path / "besuche.toml")
    assert planned.code == 0
    assert "nothing was charged" in planned.out
    told = run("release", tmp_path / "besuche.toml", "--out", tmp_path / "out")
    assert told.code == 0, told.err
    assert "Caution" not in told.out
    assert "at most 10 rows of each person" in told.out
    doc = json.loads((tmp_path / "out" / "releases.json").read_text())
    for ask in doc["asks"]:
        if ask["title"] in truth:
            low, high = ds.Result.from_json(json.dumps(ask["result"])).interval(1 - 1e-7)
            true = truth[ask["title"]]
            slack = 0.01 if ask["title"] == "Mittlerer BMI" else 0.001  # rows past the tenth of one patient are left out
            slack += 12 if ask["title"] == "Besuche nach Station" else 0
            ends = (
                zip([low], [true], [high], strict=True) if not isinstance(true, list) else zip(low, true, high, strict=True)
            )
            assert all(a - slack <= value <= b + slack for a, value, b in ends), ask["title"]
    page = (tmp_path / "out" / "report.html").read_text()
    assert "Die Antworten" in page
    assert "Am häufigsten, in dieser Reihenfolge: Chirurgie, Innere." in page


def test_the_same_table_read_with_points_is_doubted(run: Run, tmp_path: Path) -> None:
    """Without decimal and thousands every weight is missing: the terminal and the page say so, and nothing stops."""
    messy.make(tmp_path, rows=900, people=300)
    schema = tmp_path / "besuche.schema.toml"
    schema.write_text(schema.read_text().replace('decimal = ","\n', "").replace('thousands = "."\n', ""))
    told = run("release", tmp_path / "besuche.toml", "--out", tmp_path / "out")
    assert told.code == 0
    assert "Caution: Mittlerer BMI: about" in told.out
    assert "see the caution" in told.out
    page = (tmp_path / "out" / "report.html").read_text()
    assert page.count("<strong>Vorsicht.</strong>") >= 1


def test_separators_are_recognised_from_the_header_line_alone(run: Run, tmp_path: Path) -> None:
    """Records say nothing: the same question is asked of a table whose records are full of commas, or of none."""
    for body in ("1,5;2,5\n" * 9, "", "a,b,c\n"):
        path = tmp_path / "t.csv"
        path.write_text("weight (kg, dry);height;age\n" + body)
        refused = run("schema", "new", path)
        assert refused.code == 2
        assert "separated by ';'" in refused.err
        made = run("schema", "new", path, "--delimiter", ";", "--out", tmp_path / f"{len(body)}.toml")
        assert made.code == 0
        assert "3 columns: weight (kg, dry), height, age" in made.out


def test_a_tab_is_named_as_it_can_be_typed(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a\tb\n1\t2\n")
    refused = run("schema", "new", path)
    assert "say --delimiter tab" in refused.err
    for place, word in enumerate(("tab", "\\t", "\t")):
        made = run("schema", "new", path, "--delimiter", word, "--out", tmp_path / f"{place}.toml")
        assert "2 columns: a, b" in made.out, made.err
    wrong = run("schema", "new", path, "--delimiter", " ", "--out", tmp_path / "wrong.toml")
    assert "seems to be separated by tab, not by ' '" in wrong.err
    assert "1 columns" in run("schema", "new", path, "--delimiter", ",", "--out", tmp_path / "one.toml").out


# The file, what is changed in it into what, and words of the one line that answers it.
MISTAKES = [
    ("schema", 'delimiter = ";"', 'delimiter = ";;"', "delimiter must be one of"),
    ("schema", 'delimiter = ";"', "delimiter = 3", "delimiter must be one of"),
    ("schema", 'delimiter = ";"', 'delimiter = "|"', "declare the delimiter if it is not '|', or mend the schema"),
    ("schema", 'decimal = ","', 'decimal = ";"', "decimal must be one of"),
    ("schema", 'thousands = "."', 'thousands = ","', "thousands and decimal must differ"),
    ("schema", 'encoding = "latin-1"', 'encoding = "utf-7"', "encoding must be one of"),
    ("schema", 'missing = ["k.A.", "-99"]', 'missing = [""]', "missing must not hold the empty text"),
    ("schema", 'missing = ["k.A.", "-99"]', "missing = 3", "missing must be a list"),
    ("schema", "max_rows = 10", "max_rows = 0", "max_rows must be a whole number"),
    ("schema", "max_rows = 10\n", "", "person and max_rows must be given together"),
    ("schema", "bounds = [30, 200]", "bounds = [200, 30]", "lo < hi"),
    ("schema", "bounds = [30, 200]", "bounds = [30]", "bounds must be two numbers"),
    ("schema", 'type = "text"', 'type = "string"', "type must be one of"),
    ("schema", "fold = true", 'fold = "yes"', "fold must be true or false"),
    ("schema", '"Chirurgi"]', '"Innere"]', "aliases must mean one label each"),
    ("schema", "Chirurgie = [", "Chirurgje = [", "aliases must be of a declared label"),
    ("schema", '"%d.%m.%Y"', '"%d.%m.%Q"', "formats may use"),
    ("schema", '"%d.%m.%Y"', '"%d.%m"', "formats must say year"),
    ("schema", '"2024-12-31"]', '"2024-31-12"]', "2024-31-12"),
    ("schema", '"2024-12-31"]', '"2014-12-31"]', "got (2015-01-01, 2014-12-31)"),
    ("schema", 'true = ["ja"]', 'true = "ja"', "true must be a list of spellings"),
    ("schema", "Gewicht / (Größe", "Gewicht / (Grosse", "names no column 'Grosse'"),
    ("schema", "Gewicht / (Größe / 100) ** 2", "bmi + 1", "must not lead back to itself"),
    ("schema", "Gewicht / (Größe / 100) ** 2", "Gewicht / (Größe", "formula"),
    ("schema", "Gewicht / (Größe / 100) ** 2", "Station", "formula must be a number"),
    ("schema", "Gewicht / (Größe / 100) ** 2", "__import__('os')", "formula"),
    ("schema", "Gewicht / (Größe / 100) ** 2", "Patient + 1", "must not read the person column"),
    ("release", 'version = "1"', 'version = "1"\ndelimiter = ","', "declared in the schema as ';'"),
    ("release", 'version = "1"', 'version = "1"\ndecimal = "."', "declared in the schema as ','"),
    ("release", 'where = "Notfall and Alter >= 60"', 'where = "Alter"', "where must be a condition"),
    ("release", 'where = "Notfall and Alter >= 60"', 'where = "Alter > Station"', "Alter"),
    ("release", 'where = "Notfall and Alter >= 60"', 'where = "Alter >= "', "expression"),
    ("release", 'where = "Notfall and Alter >= 60"', 'where = "open(1)"', "open"),
    ("release", 'where = "Notfall and Alter >= 60"', 'where = "Notfall == true"', "did you mean True?"),
    ("release", 'where = "Notfall and Alter >= 60"', "where = \"Station == 'Ost'\"", "has no label 'Ost'"),
    ("release", 'statistic = "top"', 'statistic = "topp"', "did you mean 'top'?"),
    ("release", 'by = "Station"', 'by = "Diagnose"', "holds text, which can only be matched"),
    ("release", 'by = "Station"', 'by = "Alter"', "holds numbers"),
    ("release", 'by = "Station"', 'by = "bins(Alter, [5, 1])"', "bins"),
    ("release", 'each = "count", clip = [0, 10]', 'each = "rows"', "each must be one of"),
    ("release", 'each = "count", clip = [0, 10]', 'each = "count", clip = [10, 0]', "clip must be two finite numbers"),
    ("release", 'each = "count", clip = [0, 10]', "clip = [0, 10]", "needs a column"),
    ("release", 'statistic = "top"', 'statistic = "top"\nmost = 2', "if it is an option, write options = { most = ... }"),
    ("release", "k = 2", "k = 4", "k must be a whole number from 1 to 3"),
    ("release", "k = 2", "k = 2, most = 3", "top takes no 'most'"),
    ("release", 'language = "de"', 'language = "xx"', "language must be one of"),
    ("release", 'statistic = "top"', 'statistic = "count_distinct"\nby = "Station"', "takes no"),
]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("messy")
    messy.make(folder, rows=60, people=20)
    return folder


def test_there_are_forty() -> None:
    assert len(MISTAKES) >= 40


@pytest.mark.parametrize(("file", "old", "new", "words"), MISTAKES, ids=[f"{old} to {new}" for _, old, new, _ in MISTAKES])
def test_a_mistake_is_one_line_and_free(
    run: Run, made: Path, tmp_path: Path, file: str, old: str, new: str, words: str
) -> None:
    for path in made.glob("besuche*"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    changed = tmp_path / {"schema": "besuche.schema.toml", "release": "besuche.toml"}[file]
    text = changed.read_text(encoding="utf-8")
    assert old in text
    changed.write_text(text.replace(old, new, 1), encoding="utf-8")
    told = run("release", tmp_path / "besuche.toml", "--out", tmp_path / "out")
    assert told.code == 2
    assert told.err.startswith("discreet: ")
    assert told.err.count("\n") == 1
    assert words in told.err
    assert not (tmp_path / "besuche.db").exists()
    assert not (tmp_path / "out").exists()


def test_edges_of_dates_are_told_as_dates() -> None:
    schema = ds.Schema({"seen": ds.Date("2020-01-01", "2029-12-31")})
    session = ds.Session({"seen": ["2021-05-05"]}, schema, ledger="test")
    with pytest.raises(ds.errors.InvalidRequest, match=r"increase, .* got \['2024-01-01', '2023-01-01'\]"):
        session.histogram("seen", bins=["2024-01-01", "2023-01-01"], epsilon=1)
    with pytest.raises(ds.errors.InvalidRequest, match="an edge must be a date such as '2020-12-31', got 'soon'"):
        session.histogram("seen", bins=["2024-01-01", "soon"], epsilon=1)


def test_the_study_and_the_measurement_run(tmp_path: Path) -> None:
    """A few runs of the study (each interval holds more often than not) and a small table for the measurement."""
    setting = study.SETTINGS[1] | {"visits": 120, "patients": 40}
    assert all(3 <= hits <= 6 for hits in study.run(setting, 5, 6).values())
    grown = tables.growth(200, 1)
    rows = tables.checks({"speed": tables.speed(500, 1), "growth": grown})
    assert len(rows) == 5
    assert all(math.isfinite(value) for _, value, _, _ in rows)
    tables.draw(grown, tmp_path / "growth.svg")
    assert (tmp_path / "growth.svg").read_text().count("exponent") == 3


def test_the_picture_is_of_the_numbers_on_record() -> None:
    known = json.loads(RESULTS.read_text())["tables"]["growth"]
    drawn = tables.PICTURE.read_text()
    for grown in known.values():
        for said in [f"exponent {grown['exponent']:.2f}", *(f"{ms:.0f}" for ms in grown["ms"].values())]:
            assert f">{said}</text>" in drawn
