"""Reading is local to the row: what one cell holds changes nothing about another row, on any source."""

from __future__ import annotations

import datetime as dt
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
from study import declared_types, interference, reading

import discreet as ds
from discreet.core.schema import Categories, Real, Schema
from discreet.errors import InvalidRequest, UnknownName, UnsupportedFormat
from discreet.sources import cell_meaning, open_source
from discreet.sources.choosing import DEFAULT_SALT
from discreet.sources.ids import hash_whole, identities, identity

DAY = dt.datetime(2020, 3, 4)
NUMBER = Schema({"x": Real(0, 9)})
PEOPLE = Schema({"x": Real(0, 9)}, person="id", max_rows=1)
RECORDS = {"dict": 400, "numpy": 300, "pandas objects": 300, "pandas": 300, "polars": 300, "arrow": 300, "csv": 360,
           "parquet": 360, "spark": 300}  # fmt: skip


@pytest.mark.parametrize("setting", reading.SETTINGS, ids=lambda setting: setting["source"])
def test_a_record_is_read_in_company_as_alone(setting: dict[str, Any], request: pytest.FixtureRequest) -> None:
    """Three thousand records of the study ``reading``, which makes 10**5: exact, no false alarms."""
    session = request.getfixturevalue("spark") if setting["source"] == "spark" else None
    found = reading.run(setting, 1, RECORDS[setting["source"]], session)
    assert found == {"records": RECORDS[setting["source"]], "wrong": 0, "raised": 0, "warned": 0, "printed": 0}


@pytest.mark.parametrize("setting", declared_types.SETTINGS, ids=lambda setting: setting["source"])
def test_an_odd_record_moves_no_date_truth_or_formula(setting: dict[str, Any], request: pytest.FixtureRequest) -> None:
    """Some records of the study ``declared_types``, which makes 10**5; every source reads plain records alike."""
    session = request.getfixturevalue("spark") if setting["source"] == "spark" else None
    runs = 2 if session is not None else 15
    found = declared_types.run(setting, 1, runs, session)
    assert found == {"records": runs, "moved": 0, "raised": 0, "warned": 0, "printed": 0}


@pytest.mark.parametrize("setting", interference.SETTINGS, ids=lambda setting: setting["neighbors"])
def test_neighbouring_tables_cannot_be_told_apart(setting: dict[str, Any]) -> None:
    """Some pairs of the study ``interference``, which makes 2,000: nothing but released values differs."""
    runs = 4 if setting.get("asked") == "models and joins" else 8
    found = interference.run(setting, 20 if setting["neighbors"] == "both" else 1, runs)
    assert (found["pairs"], found["differ"]) == (runs, 0)


def kept(table: Any, schema: Schema = PEOPLE, **options: Any) -> int:
    total: int = open_source(table, schema, **options).fold(lambda b: int(b.kept(["x"]).sum()), lambda a, b: a + b, ["x"])
    return total


def numbers(table: Any, schema: Schema = NUMBER, **options: Any) -> list[float]:
    found: list[float] = open_source(table, schema, **options).fold(
        lambda b: b.numeric("x").tolist(), lambda a, b: a + b, ["x"]
    )
    return found


def test_one_date_makes_no_number_and_no_person_vanish() -> None:
    column = [DAY] + [5.0] * 1000
    for x in (column, cell_meaning.objects(column), pd.Series(column, dtype=object), pd.Series(column, dtype="category")):
        assert numbers({"x": x})[1:] == [5.0] * 1000
    assert numbers(pd.DataFrame({"x": pd.Series(column, dtype=object)}))[1:] == [5.0] * 1000
    who = [DAY, *map(float, range(1000))]
    for ids in (who, pd.Series(who, dtype=object)):
        assert kept({"x": [1.0] * 1001, "id": ids}) == 1001


@pytest.mark.parametrize("odd", ["x", 10**40, 2.5, None])
def test_one_id_changes_no_order_of_others(odd: Any) -> None:
    """People in memory lie by key, and lots are added up in that order: it must not turn with one person's id."""
    others = [30, 4, 5, -2, "b", "a"]
    for at in range(len(others) + 1):
        for rest in (others, others[:4]):
            keys = identities(cell_meaning.objects([*rest[:at], odd, *rest[at:]]), DEFAULT_SALT).keys
            alone = identities(cell_meaning.objects(rest), DEFAULT_SALT).keys
            found = np.argsort(np.delete(keys, min(at, len(rest))), kind="stable")
            assert found.tolist() == np.argsort(alone, kind="stable").tolist()


def test_an_id_has_one_form_on_every_source(tmp_path: Path, spark: Any) -> None:
    """Bytes, text, numbers and times: as many people in memory as in files and on Spark, whatever a batch holds."""
    same = [["7", b"7", 7, 7.0, np.int8(7)], ["ann", b"ann", np.str_("ann")], [b"\xff"], ["\\xff", b"\\xff"], ["7.0"],
            ["007"], ["Ann"], ["\ud800", b"\xed\xa0\x80"], [True, np.bool_(True), "true"],
            [dt.date(2020, 3, 4), "2020-03-04"],
            [DAY, pd.Timestamp(DAY), np.datetime64(DAY), np.datetime64(DAY, "ns"), str(DAY)]]  # fmt: skip
    forms = [{identity(cell) for cell in group} for group in same]
    assert all(len(group) == 1 for group in forms)
    assert len(set.union(*forms)) == len(same)
    assert {identity(cell) for cell in (None, "", b"", np.nan, pd.NaT, [1], {"a": 1}, np.array([1.0]), object(), 1j)} == {
        None
    }
    names = [b"\xff", b"\\xff", b"7", b"ann", b"Ann", b""] * 4
    table = {"x": [1.0] * len(names), "id": names}
    broken = pa.array(names, pa.binary()).view(pa.string())
    for kind, column in (("bytes", pa.array(names, pa.binary())), ("text", broken)):
        path = tmp_path / f"{kind}.parquet"
        pyarrow.parquet.write_table(pa.table({"x": table["x"], "id": column}), path)
        assert kept(path, batch_rows=2) == kept(table) == kept(pa.table({"x": table["x"], "id": column})) == 5
        assert kept(str(path), spark=spark, batch_rows=2) == 5
    lines = [b"x,id", *(b"1," + name for name in names)]
    (tmp_path / "t.csv").write_bytes(b"\n".join(lines))
    assert kept(tmp_path / "t.csv", batch_rows=2) == 5


def test_a_collation_cuts_nobody_in_two(spark: Any) -> None:
    """Ann and ann are two people, each with at most one row, also where the column's collation takes them for one."""
    frame = spark.createDataFrame([(1.0, name) for name in ("ann", "Ann", "ANN", "bob") * 25], "x double, id string")
    plain = kept(frame, batch_rows=2, version="one")
    folded = frame.selectExpr("x", "collate(id, 'UTF8_LCASE') AS id")
    assert kept(folded, batch_rows=2, version="one") == plain == 4
    with pytest.raises(InvalidRequest, match="a person column must hold text"):
        open_source(frame.selectExpr("x", "array(id) AS id"), PEOPLE, version="one")


def test_nested_ids_are_refused_by_their_type(tmp_path: Path) -> None:
    pyarrow.parquet.write_table(pa.table({"x": [1.0], "id": [[1]]}), tmp_path / "t.parquet")
    with pytest.raises(InvalidRequest, match="a person column must hold text"):
        open_source(tmp_path / "t.parquet", PEOPLE)


def test_text_that_is_not_unicode_raises_nothing(tmp_path: Path) -> None:
    broken = pa.array([b"3", b"\xff\xfe", b"4", None], pa.binary()).view(pa.string())
    pyarrow.parquet.write_table(pa.table({"x": broken, "id": [1, 2, 3, 4], "c": broken}), tmp_path / "t.parquet")
    schema = Schema({"x": Real(0, 9), "c": Categories(["3", "4"], other="rest")})
    views = [broken, broken.cast(pa.large_binary()).view(pa.large_string()), broken.dictionary_encode()]
    tables = [tmp_path / "t.parquet", *({"x": view, "c": view, "id": [1, 2, 3, 4]} for view in views)]
    for table in tables:
        for declared in (schema, Schema(schema.columns, person="id", max_rows=1)):
            found = open_source(table, declared).fold(
                lambda b: list(zip(np.nan_to_num(b.numeric("x"), nan=-1).tolist(), b.codes("c").tolist(), strict=True)),
                lambda a, b: a + b,
                ["x", "c"],
            )
            assert found == [(3, 0), (-1, 2), (4, 1), (-1, -1)]


def test_lines_that_are_not_unicode_are_rows_for_every_question(tmp_path: Path) -> None:
    """Under replace the number of rows is public: the same from every column, and a variance finds as many."""
    (tmp_path / "t.csv").write_bytes(b"x,c\n1,a\n2,\xff\n\xff,b\n3\n4,b,5,6\n" + b'5,"q\n' + b"6,a\n7,a\n")
    schema = Schema({"x": Real(0, 9), "c": Categories(["a", "b"])}, neighbors="replace")
    source = open_source(tmp_path / "t.csv", schema)
    assert {source.fold(lambda b: b.size, int.__add__, names) for names in ([], ["x"], ["c"], ["x", "c"])} == {8}
    session = ds.Session(tmp_path / "t.csv", schema, ds.Budget(epsilon=9))
    assert np.isfinite(session.variance("x", epsilon=1).value)


@pytest.mark.parametrize("text", ["ann,47,ill\nbob,48,well\n", "ann,ann,ill\n", '"ann\n', "\xff,ann\n", "id,ann\nx,y\n"])
def test_refusals_of_a_file_without_a_header_show_no_record(text: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(text.encode("latin-1"))
    with pytest.raises((UnknownName, UnsupportedFormat)) as refused:
        ds.Session(tmp_path / "t.csv", Schema({"age": Real(0, 9)}, person="id", max_rows=1))
    said = str(refused.value)
    assert not any(word in said for word in ("ann", "47", "ill", "bob", "well"))
    assert ("'id'" in said) == text.startswith("id")


def test_extremes_of_a_request_are_refused_before_anybody_is_looked_at() -> None:
    """What two edges or bounds are is said at declaration; no NumPy warning says who has a value."""
    for bins in ([0.0, 5e-324], [0, 1e-121, 1], [0, 1e-110], [-1e101, 0], [0, 1e308], [1e300, 1.1e300], 1 << 30):
        session = ds.Session({"x": [0.0, 1.0]}, NUMBER, ds.Budget(epsilon=9))
        with pytest.raises(InvalidRequest, match=r"edges must|bins must"):
            session.histogram("x", bins=bins, epsilon=1e-9)
        assert session.spent().epsilon == 0
    odd = np.array([0x7FF0000000000001, 0x7FF8000000000000, 0xFFF0000000000000], np.uint64).view(np.float64)
    for bounds in ((0, 1), (-1e100, 1e100), (0, 1e-100), (1e16, 1e16 + 2), (-1e-100, 1e100)):
        schema = Schema({"x": Real(*bounds)})
        for column in (odd, [1e308, -1e308, 5e-324], np.array([np.inf, -np.inf, np.nan])):
            session = ds.Session({"x": column}, schema, ds.Budget(epsilon=99))
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                for word in ("sum", "mean", "variance", "median"):
                    session.ask(word, "x", epsilon=1)
                session.histogram("x", bins=1, normalize=True, epsilon=1)
                if bounds[0] < 1:  # between 1e16 and the next but one there is no room for seven
                    session.histogram("x", bins=7, epsilon=1)


def whole_with_hash(word: int) -> int:
    """The whole number whose public hash is ``word``: SplitMix64's finaliser turned back."""
    for shift, factor in ((31, 0x94D049BB133111EB), (27, 0xBF58476D1CE4E5B9)):
        word = _unshift(word, shift) * pow(factor, -1, 2**64) % 2**64
    found = (_unshift(word, 30) - DEFAULT_SALT) % 2**64
    return found - 2**64 if found >= 2**63 else found


def _unshift(word: int, shift: int) -> int:
    made = word
    for _ in range(64 // shift + 1):
        made = word ^ (made >> shift)
    return made


def test_ids_cannot_be_chosen_to_be_drawn_together(tmp_path: Path) -> None:
    """A number is found whose public hash is a name's; in 20 lots of rate 1/2 the two are never parted: once in 2**20."""
    for place in range(1000):
        name = f"p{place}"
        number = whole_with_hash(int(identities(cell_meaning.objects([name]), DEFAULT_SALT).hashes[0]))
        if abs(number) < 10**18:
            break
    met = identities(pa.array([name, str(number)]), DEFAULT_SALT).hashes
    assert met[0] == met[1] == hash_whole(np.array([number]), DEFAULT_SALT)[0]
    table = pa.table({"x": [1.0, 2.0], "id": [name, str(number)]})
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet")
    for source in (open_source(table, PEOPLE), open_source(tmp_path / "t.parquet", PEOPLE)):
        lots = [source.sample("0.5", seed=seed).fold(lambda b: b.size, int.__add__, ["x"]) for seed in range(20)]
        assert 1 in lots
        again = [source.sample("0.5", seed=seed).fold(lambda b: b.size, int.__add__, ["x"]) for seed in range(3)]
        assert lots[:3] == again  # the seed of a test still decides


def test_engines_draw_the_same_people(tmp_path: Path) -> None:
    """With one seed: a lot is a function of the key and the id, whatever else is in a batch."""
    ids = [str(i) for i in range(40)] + [f"p{i}" for i in range(40)] + [1.5, b"\xff"]
    table = {"x": np.arange(82.0), "id": cell_meaning.objects(ids)}
    schema = Schema({"x": Real(0, 99)}, person="id", max_rows=1)
    lines = [b"x,id", *(b"%d,%s" % (n, identity(cell)) for n, cell in enumerate(ids))]
    (tmp_path / "t.csv").write_bytes(b"\n".join(lines))
    lots = []
    for opened in (open_source(t, schema, batch_rows=size) for t in (table, tmp_path / "t.csv") for size in (1, 9, 1000)):
        lot = opened.sample("0.5", seed=3)
        lots.append(sorted(lot.fold(lambda b: b.numeric("x").tolist(), lambda a, b: a + b, ["x"])))
    assert len(lots[0]) not in (0, 82)
    assert all(lot == lots[0] for lot in lots)


def test_polars_objects_and_other_odd_columns_are_read() -> None:
    column = [DAY, 5.0, "7", None, b"\xff"]
    for x in (pl.Series("x", column, dtype=pl.Object), tuple(column), np.ma.masked_array(cell_meaning.objects(column))):
        assert numbers({"x": x})[1:3] == [5.0, 7.0]


def test_a_nul_ends_no_text() -> None:
    """Also beside a text that is not Unicode, which is read another way."""
    for column in (np.array(["7", "7\x00a"]), np.array(["7", "7\x00a", "\ud800"]), np.array([b"7", b"7\x00a"])):
        assert str(numbers({"x": column})[:2]) == "[7.0, nan]"
        assert kept({"x": [1.0] * len(column), "id": column}) == len(column)
