"""How cells are written is declared: separators, spellings of numbers, encodings, words for nothing; on every source."""

from __future__ import annotations

import csv
import datetime as dt
import io
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet.cli import main
from discreet.core.dialect import ENCODINGS, Dialect
from discreet.errors import DiscreetError, InvalidRequest
from discreet.sources import cell_meaning, open_source

GERMAN = Dialect(delimiter=";", decimal=",", thousands=".", encoding="latin-1", missing=["NA", "-99"])
COLUMNS = {"x": ds.Real(-1e6, 1e6), "c": ds.Categories(["süd", "nord"], aliases={"nord": ["N", "North "]}, fold=True)}


def spelt(number: float, dialect: Dialect) -> str:
    text = f"{number:,.3f}".translate({44: "T", 46: "D"})
    return text.replace("T", dialect.thousands or "").replace("D", dialect.decimal)


@given(st.floats(-1e9, 1e9), st.sampled_from([".", ","]), st.sampled_from([None, " ", "'", ".", ",", "\u202f"]))
@settings(max_examples=150, deadline=None, derandomize=True)
def test_a_number_is_read_as_it_is_spelt(number: float, decimal: str, thousands: str | None) -> None:
    """In any dialect, and the spelling of another dialect is never taken for another number."""
    if decimal == thousands:
        return
    dialect = Dialect(decimal=decimal, thousands=thousands)
    column = cell_meaning.objects([spelt(number, dialect)])
    assert cell_meaning.numbers(column, dialect)[0] == float(f"{number:.3f}")
    other = Dialect(decimal="," if decimal == "." else ".", thousands=None)
    read = cell_meaning.numbers(column, other)[0]
    assert np.isnan(read) or read == float(f"{number:.3f}")


def test_an_ill_grouped_number_is_missing_and_never_another() -> None:
    texts = [
        "1.234",
        "1234",
        "1.5",
        "12.34,5",
        "1.234,5",
        ",5",
        "5,",
        "1,2,3",
        "-99",
        "-99,0",
        "NA",
        " na ",
        " NA",
        "1e3",
        "inf",
    ]
    wanted = [1234, 1234, None, None, 1234.5, 0.5, 5, None, None, None, None, None, None, 1000, np.inf]
    forms: list[Any] = [cell_meaning.objects(texts), pa.array(texts), pa.array(texts).dictionary_encode(), np.array(texts)]
    for form in forms:
        found = cell_meaning.numbers(form, GERMAN).tolist()
        assert [None if np.isnan(v) else v for v in found] == wanted
    assert np.isnan(cell_meaning.numbers(np.array([-99.0, 4.0]), GERMAN)).tolist() == [True, False]
    assert np.isnan(cell_meaning.numbers(np.array([-99, 4]), GERMAN)).tolist() == [True, False]


def test_marks_that_nobody_can_tell_apart_are_one() -> None:
    """Excel in French writes a space that does not break; whoever declares a space means that too."""
    for marks in (" \u00a0\u202f", "'\u2019"):
        texts = [f"1{mark}234{mark}567,5" for mark in marks] + ["1_234", "12" + marks[0] + "34"]
        for thousands in marks:
            dialect = Dialect(decimal=",", thousands=thousands)
            for form in (cell_meaning.objects(texts), pa.array(texts)):
                found = cell_meaning.numbers(form, dialect)
                assert found[: len(marks)].tolist() == [1234567.5] * len(marks)
                assert np.isnan(found[len(marks) :]).all()
            assert dialect.plain(texts[1]) == "1234567.5"


def tables(folder: Path, rows: list[tuple[Any, Any, Any]], dialect: Dialect) -> dict[str, Any]:
    """The same rows in a file of the dialect, and in memory."""
    out = io.StringIO(newline="")
    mark: dict[str, Any] = {"quotechar": dialect.quote} if dialect.quote else {"quoting": csv.QUOTE_NONE, "escapechar": "\\"}
    writer = csv.writer(out, delimiter=dialect.delimiter or ",", **mark)
    writer.writerows([("x", "c", "id"), *rows])
    (folder / "t.csv").write_bytes(out.getvalue().encode(dialect.encoding))
    columns = {name: [row[place] for row in rows] for place, name in enumerate(("x", "c", "id"))}
    text = {name: pa.array(cells_, pa.string()) for name, cells_ in columns.items()}
    return {
        "csv": folder / "t.csv",
        "dict": columns,
        "arrow": pa.table(text),
        "pandas": pd.DataFrame(columns),
        "polars": pl.DataFrame(columns),
    }


@pytest.mark.parametrize("quote", ['"', "'", ""])
@pytest.mark.parametrize("delimiter", [";", "\t", "|", ","])
@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "cp1252", "cp850"])
def test_every_source_reads_the_same_cells(quote: str, delimiter: str, encoding: str, tmp_path: Path) -> None:
    dialect = Dialect(delimiter=delimiter, decimal="," if delimiter != "," or quote else ".", encoding=encoding, quote=quote,
                      missing=["NA", "-99"])  # fmt: skip
    half = f"0{dialect.decimal}5"
    rows = [("1", "SÜD ", "7"), (half, "n", "a"), ("NA", "North ", "NA"), ("-99", "NA", "-99"), ("x", "süd", "7"),
            ("2", "östlich", "b")]  # fmt: skip
    if quote:
        rows.append((f"3{delimiter}", f"nord{delimiter}", f"q{quote}"))
    schema = ds.Schema(COLUMNS, person="id", max_rows=1, dialect=dialect)
    seen = {}
    for kind, table in tables(tmp_path, rows, dialect).items():
        seen[kind] = open_source(table, schema, batch_rows=2).fold(
            lambda b: sorted(zip(np.nan_to_num(b.numeric("x"), nan=-1), b.codes("c"), b.identities().hashes, b.kept(["x"]),
                                 strict=True)),
            lambda a, b: sorted(a + b),
            ["x", "c"],
        )  # fmt: skip
    first = seen.pop("csv")
    assert all(other == first for other in seen.values())
    assert [(x, c) for x, c, *_ in first][: 2 * 3 : 2]
    assert sum(kept for *_, kept in first) == len({r[2] for r in rows} - {"NA", "-99"})


def test_words_for_nothing_and_aliases_reach_every_kind_of_column() -> None:
    schema = ds.Schema(COLUMNS, dialect=Dialect(missing=["NA"]))
    codes = open_source({"x": [1.0] * 6, "c": ["N", " NORTH", "Nord", "NA", "Süd", "west"]}, schema).fold(
        lambda b: b.codes("c").tolist(), lambda a, b: a + b, ["c"]
    )
    assert codes == [1, 1, 1, -1, 0, -1]


def with_missing(word: Any, column: Any) -> ds.Schema:
    return ds.Schema({"c": column}, dialect=Dialect(missing=(word,)))


def test_a_stored_length_of_time_is_no_word_for_nothing() -> None:
    """The same lengths from pandas, NumPy and Arrow, and as objects beside other cells: -2 hours are not the word "-2"."""
    schema = ds.Schema({"t": ds.Duration(-9, 9, unit="hours")}, dialect=Dialect(missing=("-2",)))
    lengths = [dt.timedelta(hours=-2), dt.timedelta(hours=3), None]
    for column in (
        pa.array(lengths, pa.duration("us")),
        np.array([-7200, 10800, "NaT"], "m8[s]"),
        np.array(lengths, object),
        np.array([*lengths, "-2", -2.0], object),
    ):
        (values,) = open_source({"t": column}, schema).fold(lambda b: [b.numeric("t")], lambda a, b: a + b, ["t"])
        assert values[:2].tolist() == [-2.0, 3.0]
        assert np.isnan(values[2:]).all()


WRONG: list[tuple[Any, str]] = [
    (lambda: Dialect(delimiter=";;"), "delimiter must be one of"),
    (lambda: Dialect(delimiter="\n"), "delimiter must be one of"),
    (lambda: Dialect(decimal=";"), "decimal must be one of"),
    (lambda: Dialect(decimal=",", thousands=","), "thousands and decimal must differ"),
    (lambda: Dialect(encoding="utf-16"), "encoding must be one of"),
    (lambda: Dialect(encoding="os.system"), "encoding must be one of"),
    (lambda: Dialect(quote="`"), "quote must be one of"),
    (lambda: Dialect(missing=3), "missing must be a list of words"),  # type: ignore[arg-type]
    (lambda: Dialect(missing=[""]), "missing must not hold the empty text"),  # type: ignore[arg-type]
    (lambda: ds.Categories(["a"], aliases={"b": ["c"]}), "aliases must be of a declared label"),
    (lambda: ds.Categories(["a", "b"], aliases={"a": ["x"], "b": ["x"]}), "aliases must mean one label each"),
    (lambda: ds.Categories(["a", "A"], fold=True), "aliases must mean one label each"),
    (lambda: ds.Categories(["a"], aliases={"a": 1.5}), "aliases of 'a' must be a list"),  # type: ignore[dict-item]
    (lambda: ds.Categories(["a"], fold="yes"), "fold must be true or false"),  # type: ignore[arg-type]
    (lambda: with_missing("NA", ds.Categories(["NA", "DE"])), "'NA' must not be a label and a word for a missing value"),
    (lambda: with_missing("na", ds.Categories(["NA", "DE"], fold=True)), "'na' must not be a label and a word"),
    (lambda: with_missing(9, ds.Categories([1, 9])), "'9' must not be a label and a word for a missing value"),
    (lambda: with_missing("k", ds.Categories(["a"], aliases={"a": ["k "]})), "'k' must not be a label and a word"),
    (lambda: with_missing("0", ds.Boolean()), "'0' must not be a label and a word for a missing value"),
]


@pytest.mark.parametrize(("make", "words"), WRONG)
def test_a_wrong_declaration_is_refused(make: Any, words: str) -> None:
    with pytest.raises(InvalidRequest, match=words):
        make()


def test_a_schema_keeps_its_dialect_and_nothing_contradicts_it(tmp_path: Path) -> None:
    schema = ds.Schema(COLUMNS, dialect=GERMAN)
    assert ds.Schema.from_toml(schema.to_toml()) == schema == ds.Schema.from_dict(schema.to_dict())
    assert "dialect" not in ds.Schema(COLUMNS).to_dict()
    (tmp_path / "t.csv").write_bytes("x;c\n1,5;süd\n".encode("latin-1"))
    session = ds.Session(tmp_path / "t.csv", schema, ds.Budget(epsilon=1), dialect={"delimiter": ";", "encoding": "latin1"})
    assert session.remaining() is not None
    for contrary in ({"delimiter": ","}, {"decimal": "."}, {"missing": ["x"]}, {"separator": ";"}):
        with pytest.raises(InvalidRequest, match=r"is declared in the schema|has no 'separator'"):
            ds.Session(tmp_path / "t.csv", schema, ds.Budget(epsilon=1), dialect=contrary)
    (tmp_path / "s.toml").write_text(schema.to_toml(), encoding="utf-8")
    text = 'table = "t.csv"\nschema = "s.toml"\nledger = "sqlite:///l.db"\n{}\n[budget]\nepsilon = 1\n'
    text += '[[ask]]\nstatistic = "mean"\ncolumns = "x"\nepsilon = 1\n'
    (tmp_path / "r.toml").write_text(text.format('delimiter = ","'))
    assert main(["plan", str(tmp_path / "r.toml")]) != 0
    (tmp_path / "r.toml").write_text(text.format('delimiter = ";"'))
    assert main(["plan", str(tmp_path / "r.toml"), "--json"]) == 0
    assert not (tmp_path / "l.db").exists()


def test_a_header_of_semicolons_is_asked_about(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Nobody is there to be asked: one line that says what to write; no record changes what is said."""
    for rows in ("", "1,2;3\n", "4\n"):
        (tmp_path / "t.csv").write_text("weight;height\n" + rows)
        assert main(["schema", "new", str(tmp_path / "t.csv")]) != 0
        said = capfd.readouterr().err
        assert "--delimiter ';'" in said
        assert "weight" not in said
    assert main(["schema", "new", str(tmp_path / "t.csv"), "--delimiter", ";"]) == 0
    made = (tmp_path / "t.schema.toml").read_text()
    assert '\ndelimiter = ";"\n' in made
    assert "[columns.height]" in made


def test_every_encoding_is_local_to_the_byte() -> None:
    for name in ENCODINGS[1:]:
        every = [bytes([b]).decode(name, "backslashreplace") for b in range(256)]
        assert bytes(range(256)).decode(name, "backslashreplace") == "".join(every)
        assert "".join(every[:128]).encode() == bytes(range(128))


def test_a_file_in_another_encoding_is_refused_without_its_words(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes("größe,x\n1,2\n".encode("latin-1"))
    with pytest.raises(DiscreetError, match="declare its encoding") as refused:
        open_source(tmp_path / "t.csv", ds.Schema({"x": ds.Real(0, 1)}))
    assert "gr" not in str(refused.value).replace("CSV", "")
