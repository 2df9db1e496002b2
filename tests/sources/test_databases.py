"""A table in a database: the sums that memory gives, one state for a question, and refusals that show no secret."""

from __future__ import annotations

import datetime as dt
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from decimal import Decimal
from itertools import product
from operator import add
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pyarrow as pa
import pytest
from study import engines as study

import discreet as ds
from discreet.cli import main
from discreet.errors import DiscreetError, InvalidRequest, UnknownName, UnsupportedFormat
from discreet.sources import open_source, other_database
from discreet.statistics.question import Table, build
from tests.descriptive.test_statistics import ASKED
from tests.sources.conftest import SCHEMA, TABLES, in_database
from tests.sources.folds import everything

PEOPLE = ds.Schema(
    {"x": ds.Real(-2, 4), "y": ds.Real(0, 1), "g": ds.Categories(["a", "b"]), "h": ds.Categories(["u", "v", "w"])},
    person="id",
    max_rows=2,
)


def people_table(rows: int = 500) -> pa.Table:
    rng = np.random.default_rng(4)
    x = rng.normal(1, 3, rows)
    x[::9] = np.nan
    columns = {"id": rng.integers(0, rows // 3, rows), "x": x, "y": rng.random(rows)}
    labels = {"g": rng.choice(["a", "b", "?"], rows), "h": rng.choice(["u", "v", "w"], rows)}
    return pa.table({**columns, **{name: pa.array(values.tolist(), pa.string()) for name, values in labels.items()}})


@pytest.fixture(params=["postgres", "sqlite"])
def stored(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[pa.Table, str], str]:
    """Writes a table and gives its address."""
    at = request.getfixturevalue("server") if request.param == "postgres" else f"sqlite:///{tmp_path}/t.db"
    return lambda table, name: in_database(at, table, f"{name}_{threading.get_native_id()}_{tmp_path.name.lower()}")


@pytest.mark.parametrize("people", [True, False], ids=["people", "rows"])
def test_the_same_exact_sums_in_every_statistic(
    stored: Callable[[pa.Table, str], str], people: bool, tmp_path: Path
) -> None:
    """And of a fit and a minibatch of gradients, from a database and from Parquet."""
    table = study.made(4, 500)
    pa.parquet.write_table(table, tmp_path / "same.parquet", row_group_size=64)
    for there in (stored(table, "same"), str(tmp_path / "same.parquet")):
        found = study.compared(table, there, people, together=True)
        assert (found["statistics"], found["different"]) == (len(ASKED) + 1, 0)


def test_people_are_brought_together_on_disk(stored: Callable[[pa.Table, str], str], tmp_path: Path) -> None:
    """Memory for a few rows: many runs, each divided into parts."""
    for name, rows in TABLES.items():
        kinds = {"id": pa.int64(), "x": pa.float64(), "visits": pa.int64(), "sex": pa.string(), "ward": pa.int32()}
        table = pa.table(
            {k: pa.array([r[k] for r in rows], t if name == "typed" else pa.string()) for k, t in kinds.items()}
        )
        pa.parquet.write_table(table, tmp_path / f"{name}.parquet")
        whole = open_source(table, SCHEMA).fold(*everything(["x", "sex"]))
        for where in (stored(table, name), tmp_path / f"{name}.parquet"):
            source = open_source(where, SCHEMA, version="one", memory="20KB", batch_rows=64)
            assert source.fold(*everything(["x", "sex"])) == whole


def test_all_passes_of_a_question_read_one_state(server: str) -> None:
    address = in_database(server, people_table(300), "changing")
    source = open_source(address, PEOPLE, version="one")
    count: Callable[[], int] = lambda: source.fold(lambda b: int(b.size), lambda a, b: a + b, [])  # noqa: E731
    with source.snapshot():
        before = count()
        with psycopg.connect(server, autocommit=True) as other:
            other.execute("INSERT INTO changing SELECT * FROM changing")
        assert count() == before == 300
    assert count() == 600


def test_whoever_writes_in_mid_question_changes_nothing(server: str) -> None:
    """A fit makes many passes; rows that arrive in between are in none of them."""
    table = people_table(400)
    address = in_database(server, table, "writing")
    stop = threading.Event()

    def write() -> None:
        with psycopg.connect(server, autocommit=True) as other:
            while not stop.wait(0.002):
                other.execute("INSERT INTO writing SELECT * FROM writing LIMIT 50")

    session = ds.Session(address, PEOPLE, ledger="test", seed=3, version="one")
    expected = ds.Session(table, PEOPLE, ledger="test", seed=3).fit(ds.models.LogisticRegression(epsilon=3), ["x", "y"], "g")
    with session._source.snapshot():
        writer = threading.Thread(target=write)
        writer.start()
        try:
            fitted = session.fit(ds.models.LogisticRegression(epsilon=3), ["x", "y"], "g")
        finally:
            stop.set()
            writer.join()
    assert np.allclose(fitted.coef_, expected.coef_, rtol=1e-8)


def refusal(kind: type[DiscreetError], make: Callable[[], Any]) -> str:
    with pytest.raises(kind) as caught:
        make()
    said = str(caught.value)
    assert "\n" not in said
    assert caught.value.__cause__ is None
    return said


def test_what_is_wrong_is_refused_in_a_line(server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    address = in_database(server, people_table(50), "refused")
    assert "needs version=" in refusal(InvalidRequest, lambda: open_source(address, PEOPLE))
    monkeypatch.setenv("PGPASSWORD", "s3cret")
    stranger = address.replace("postgres:@", "stranger@")
    for wrong in (stranger, "postgresql://localhost:1/db?table=t", f"sqlite:///{tmp_path}/none.db?table=t"):
        said = refusal(InvalidRequest, lambda wrong=wrong: open_source(wrong, PEOPLE, version="one"))  # type: ignore[misc]
        assert "cannot be reached, or does not let this user in" in said
        assert "s3cret" not in said
        assert "stranger" not in said
    assert not (tmp_path / "none.db").exists()
    inside = "postgresql://me:s3cret@host/db?table=t"
    assert "s3cret" not in refusal(InvalidRequest, lambda: open_source(inside, PEOPLE, version="one"))
    for odd in ("postgresql://ho st:x/db?table=t", "nonsense://s3cret@x/db?table=t", f"{server}&table="):
        assert "s3cret" not in refusal(InvalidRequest, lambda odd=odd: open_source(odd, PEOPLE, version="one"))  # type: ignore[misc]
    unknown = refusal(InvalidRequest, lambda: open_source("postgre://me@host/db?table=t", PEOPLE, version="one"))
    assert "there is no driver here for 'postgre'; correct the word before ://" in unknown
    missing = address.replace("refused", "nothing")
    assert "there is no table 'nothing'" in refusal(InvalidRequest, lambda: open_source(missing, PEOPLE, version="one"))
    other = ds.Schema({"zzz": ds.Real(0, 1)})
    assert "no column 'zzz'" in refusal(UnknownName, lambda: open_source(address, other, version="one"))


def test_a_table_that_changed_is_refused_before_anything_is_paid(server: str) -> None:
    address = in_database(server, people_table(50), "altered")
    session = ds.Session(address, PEOPLE, ds.Budget(epsilon=1), version="one")
    with psycopg.connect(server, autocommit=True) as other:
        other.execute("ALTER TABLE altered ALTER COLUMN y TYPE text")
        said = refusal(UnsupportedFormat, lambda: session.mean("x", epsilon=0.5))
        assert "column 'y'" in said
        assert "was double precision and is text now" in said
        other.execute("ALTER TABLE altered DROP COLUMN y")
        assert "no column 'y'" in refusal(UnknownName, lambda: session.mean("x", epsilon=0.5))
        other.execute("DROP TABLE altered")
        assert "there is no table" in refusal(InvalidRequest, lambda: session.mean("x", epsilon=0.5))
    assert session.spent().epsilon == 0


def test_cells_of_postgres_mean_what_they_mean_elsewhere(server: str) -> None:
    """Numerics without zeros at the end, dates that are none, lists that are no cells, blanks of fixed width."""
    with psycopg.connect(server, autocommit=True) as other:
        other.execute("CREATE TABLE kinds (n numeric, d date, l int[], c char(5), u uuid, t timestamptz, b boolean)")
        other.execute("INSERT INTO kinds VALUES (1.50, 'infinity', '{1}', 'ab', "
                      "'00000000-0000-0000-0000-000000000001', '2020-07-01 12:00+02', true), "
                      "('NaN', '2020-01-02', NULL, 'ab   ', NULL, NULL, NULL)")  # fmt: skip
    labels = {"n": "1.5", "d": "2020-01-02", "l": "{1}", "c": "ab", "u": "00000000-0000-0000-0000-000000000001",
              "t": "2020-07-01 10:00:00+00:00", "b": "true"}  # fmt: skip
    schema = ds.Schema({name: ds.Categories([label]) for name, label in labels.items()})
    source = open_source(f"{server}{'&' if '?' in server else '?'}table=kinds", schema, version="one")
    found = source.fold(lambda b: {n: b.codes(n).tolist() for n in labels}, dict, list(labels))
    assert found == {"n": [0, -1], "d": [-1, 0], "l": [-1, -1], "c": [0, 0], "u": [0, -1], "t": [0, -1], "b": [0, -1]}


def test_a_release_file_may_name_a_database(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    address = in_database(f"sqlite:///{tmp_path}/t.db", people_table(60), "visits")
    file = tmp_path / "r.toml"
    file.write_text(
        f'table = "{address}"\nversion = "one"\nledger = "sqlite:///own.db"\n[budget]\nepsilon = 5\n[schema]\n'
        'columns.x = { type = "real", bounds = [0, 5] }\n[[ask]]\nstatistic = "mean"\ncolumns = "x"\nepsilon = 0.1\n'
    )
    assert main(["release", str(file)]) == 0
    assert "Mean of x" in capsys.readouterr().out
    file.write_text(file.read_text().replace('version = "one"\n', ""))
    assert main(["release", str(file)]) != 0
    assert "needs version=" in capsys.readouterr().err


def test_files_behind_an_address_are_refused_in_a_line(tmp_path: Path) -> None:
    schema = ds.Schema({"x": ds.Real(0, 1)})
    for address, kind in (
        (f"file://{tmp_path}/none", InvalidRequest),
        (f"file://{tmp_path}", InvalidRequest),
        ("ftp://me:s3cret@host/x.parquet", InvalidRequest),
    ):
        assert "s3cret" not in refusal(kind, lambda address=address: open_source(address, schema))  # type: ignore[misc]
    (tmp_path / "x.parquet").write_bytes(b"PAR1")
    assert "not a whole" in refusal(UnsupportedFormat, lambda: open_source(f"file://{tmp_path}/x.parquet", schema))
    pa.parquet.write_table(pa.table({"x": [0.25, 0.5]}), tmp_path / "x.parquet")
    before = open_source(f"file://{tmp_path}", schema).version
    pa.parquet.write_table(pa.table({"x": [0.25]}), tmp_path / "y.parquet")
    assert open_source(f"file://{tmp_path}", schema).version != before


ODD = ("cast(x'ff' as text)", "cast(x'eda080' as text)", "x'ff'", "'x'", "7.5", "9e999", "'9999999-01-01'", "''", "NULL")


def test_no_cell_of_sqlite_stops_a_question_or_changes_another(tmp_path: Path) -> None:
    """SQLite keeps anything in any column, text that is no UTF-8 among it."""
    kinds = {
        "r": "real",
        "n": "integer",
        "s": "text",
        "d": "date",
        "t": "datetime",
        "b": "boolean",
        "z": "blob",
        "q": "numeric",
    }
    schema = ds.Schema({name: ds.Categories(["1", "f"]) for name in kinds}, person="id", max_rows=2)
    numbers = ds.Schema({name: ds.Real(0, 9) for name in kinds})
    with closing(sqlite3.connect(tmp_path / "odd.db")) as other:
        for place, cell in enumerate(ODD):
            other.execute(f"CREATE TABLE t{place} (id text, {', '.join(f'{n} {k}' for n, k in kinds.items())})")
            other.execute(f"INSERT INTO t{place} VALUES ('1'{', 1' * 8}), ({', '.join([cell] * 9)}), ('2'{', 1' * 8})")
        other.commit()
    for place in range(len(ODD)):
        address = f"sqlite:///{tmp_path}/odd.db?table=t{place}"
        for declared, expected in ((schema, 0), (numbers, 1)):
            source = open_source(address, declared, version="one")
            for name in set(kinds) - {"z", "d", "t"}:
                found = source.fold(lambda batch, n=name, e=expected: _cells(batch, n, e), add, [name])  # type: ignore[misc]
                assert len(found) == 3, (ODD[place], name)
                assert found.count(expected) >= 2, (ODD[place], name)


def _cells(batch: Any, name: str, number: int) -> list[Any]:
    read: list[Any] = (batch.numeric(name) if number else batch.codes(name)).tolist()
    return read


def test_ids_of_sqlite_that_are_no_text_are_people_of_their_own(tmp_path: Path) -> None:
    """Bytes that are no UTF-8 are not the person whose id is written as such bytes are shown."""
    with closing(sqlite3.connect(tmp_path / "ids.db")) as other:
        other.execute("CREATE TABLE t (id text, x real)")
        other.execute("INSERT INTO t VALUES (x'ff', 1), (cast(x'ff' as text), 1), ('\\xff', 1), ('ann', 1), (x'616e6e', 1)")
        other.commit()
    source = open_source(
        f"sqlite:///{tmp_path}/ids.db?table=t", ds.Schema({"x": ds.Real(0, 1)}, person="id", max_rows=1), version="one"
    )
    assert build("count_people", Table(source.schema)).query.evaluate(source).counts == 3
    assert build("count", Table(source.schema)).query.evaluate(source).counts == 3


def test_a_password_stands_nowhere_in_an_address() -> None:
    for words in ("password=hunter2", "PASSWORD=hunter2", "sslpassword=hunter2", "passwd=hunter2"):
        address = f"postgresql://host/db?table=t&{words}"
        said = refusal(InvalidRequest, lambda a=address: open_source(a, PEOPLE, version="1"))  # type: ignore[misc]
        assert "hunter2" not in said
        assert "no part of an address" in said


def test_what_a_driver_hands_over_is_read_cell_by_cell() -> None:
    """Whatever stands beside a cell, in a column of any type, it becomes what it becomes alone; nothing raises."""
    early = dt.datetime(1, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=14)))
    given = [None, True, 7, 2**53 + 1, 2**62, 2**70, 7.0, 7.5, float("inf"), "x", "7", "", b"\xff", Decimal("7.5"),
             Decimal("NaN"), dt.date(2020, 1, 1), dt.datetime(2020, 1, 1, 5), dt.datetime(2020, 1, 1, 5, tzinfo=dt.UTC),
             early, dt.time(5), dt.time(5, tzinfo=dt.UTC), dt.timedelta(1), [1], "\ud800", "\udcff"]  # fmt: skip
    for kind in {each for _, each in other_database._KINDS}:
        alone = [other_database._column([cell], kind) for cell in given]
        for one, other in product(range(len(given)), repeat=2):
            both = other_database._column([given[one], given[other]], kind)
            assert both[:1].equals(alone[one]), (kind, given[one], given[other])
            assert both[1:].equals(alone[other]), (kind, given[other], given[one])
