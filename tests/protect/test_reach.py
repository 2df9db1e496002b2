"""What a request goes through: files as they are at that moment, and one that is lost stands in nobody's way."""

from __future__ import annotations

import errno
import gzip
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock, Mock

import pyarrow as pa
import pyarrow.parquet
import pytest

from discreet.errors import InvalidRequest, UnknownName, UnsupportedFormat
from discreet.protect import FileKeys, Hierarchy, Pseudonymizer, Vault, anonymize
from discreet.protect.reach import Busy, OutOfRoom
from discreet.protect.table_files import FileTable

FACTS: dict[str, Any] = {"purpose": "care", "categories": ["health"], "retention": "10 years"}


def open_vault(folder: Path, **options: Any) -> Vault:
    path = folder / "keys.json"
    people = Pseudonymizer(["name"], FileKeys(path) if path.exists() else FileKeys.create(path))
    return Vault(f"sqlite:///{folder}/vault.db", people, **options)


def write(path: Path, *names: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    if path.suffix == ".parquet":
        pyarrow.parquet.write_table(pa.table({"name": list(names), "x": range(len(names))}), path)
    else:
        path.write_text("name,x\n" + "".join(f"{name},{i}\n" for i, name in enumerate(names)))
    return path


@pytest.mark.parametrize("kind", ["csv", "tsv", "parquet"])
def test_a_pattern_is_read_again_at_every_request(kind: str, tmp_path: Path) -> None:
    def put(name: str, *names: str) -> None:
        path = write(tmp_path / "data" / f"{name}.{kind}", *names)
        if kind == "tsv":
            path.write_text(path.read_text().replace(",", "\t"))

    put("v1", "Ann", "Bob")
    with open_vault(tmp_path) as vault:
        vault.register("visits", tmp_path / "data" / f"v*.{kind}", **FACTS)
        put("v2", "Ann", "Cy", "Ann")
        assert vault.access("Ann").rows["visits"].num_rows == 3
        put("v3", "Ann")
        receipt = vault.erase("Ann")
        assert receipt.tables == {"visits": 4}
        looked = receipt.document["looked_at"]["visits"]
        assert [(Path(p["place"]).name, p["rows"]) for p in looked] == [
            (f"v1.{kind}", 1),
            (f"v2.{kind}", 2),
            (f"v3.{kind}", 1),
        ]
        assert all(receipt.document["requested"] < p["at"] <= receipt.document["erased"] for p in looked)
        assert receipt.complete
        put("v4", "Ann")
        assert vault.erase("Ann").tables == {"visits": 1}
        with pytest.raises(InvalidRequest, match="registered once, and"):
            vault.register("again", tmp_path / "data" / f"v4.{kind}", **FACTS)


def test_a_link_means_what_it_points_to_now(tmp_path: Path) -> None:
    link = tmp_path / "now.csv"
    link.symlink_to(write(tmp_path / "one.csv", "Ann"))
    with open_vault(tmp_path) as vault:
        vault.register("now", link, **FACTS)
        link.unlink()
        link.symlink_to(write(tmp_path / "two.csv", "Ann", "Bob"))
        assert vault.erase("Ann").tables == {"now": 1}
        assert (tmp_path / "two.csv").read_text() == "name,x\nBob,1\n"
        assert link.is_symlink()


def test_one_lost_place_does_not_block_the_rest(tmp_path: Path) -> None:
    """A file that is gone, one that is damaged, one without the column, one packed, a table that was dropped, a missing
    name: each is told, with why, and everything else is done."""
    names = ["gone", "cut", "renamed", "packed", "fine"]
    with open_vault(tmp_path) as vault:
        with vault._database.transaction(write=True) as connection:
            connection.exec_driver_sql("CREATE TABLE wards (name TEXT)")
        for name in names:
            vault.register(name, write(tmp_path / name / "a.csv", "Ann", "Bob") and tmp_path / name / "a*", **FACTS)
        vault.register("wards", database="wards", **FACTS)
        vault.register("rows", write(tmp_path / "rows.parquet", "Ann", "Bob"), **FACTS)
        (tmp_path / "gone" / "a.csv").unlink()
        (tmp_path / "cut" / "a.csv").write_text('name,x\nAnn,1\nBob,"2\n')
        (tmp_path / "renamed" / "a.csv").write_text("nam,x\nAnn,1\n")
        (tmp_path / "packed" / "a2.csv.gz").write_bytes(gzip.compress(b"name,x\nAnn,1\n"))
        (tmp_path / "fine" / "a2.csv").write_text("name,x\n,1\nAnn,2\n")
        with vault._database.transaction(write=True) as connection:
            connection.exec_driver_sql("DROP TABLE wards")
        found = vault.access("Ann")
        assert {n: t.num_rows for n, t in found.rows.items()} == {"packed": 2, "fine": 2, "rows": 1}
        assert set(found.missed) == {"gone", "cut", "renamed", "wards"}
        assert found.unreadable == {"fine": 1}
        receipt = vault.erase("Ann")
        assert {n: rows for n, rows in receipt.tables.items() if rows} == {"packed": 1, "fine": 2, "rows": 1}
        why = {name: places[0]["reason"] for name, places in receipt.missed.items()}
        assert set(why) == {"gone", "cut", "renamed", "packed", "wards"}
        assert "no file fits" in why["gone"]
        assert "never closed" in why["cut"]
        assert "one column 'name'" in why["renamed"]
        assert "compressed" in why["packed"]
        assert "no table 'wards'" in why["wards"]
        assert receipt.document["not_reached"] == {"packed": 1}
        assert not receipt.complete
        receipt.verify(vault.public_key)
        assert vault.erase("Bob").tables["fine"] == 1  # and so is everybody else's request
        with pytest.raises(UnknownName, match=r"not looked into: .*no file fits"):
            vault.access("Nobody")
    write(tmp_path / "gone" / "a.csv", "Ann", "Cy")  # found again
    with open_vault(tmp_path) as vault:
        last = vault.receipts()[-1]
        assert last.tables["gone"] == 1
        assert "Ann" not in (tmp_path / "gone" / "a.csv").read_text()
        count = len(vault.receipts())
        assert vault.resume() == []
        vault.verify()
    with open_vault(tmp_path) as vault:
        assert len(vault.receipts()) == count


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_a_full_disk_leaves_an_erasure_begun_and_nobody_waiting(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The erasure stays begun; other people are served meanwhile; with room it is finished at the next opening."""
    path = write(tmp_path / "a.csv", "Ann", "Bob", "Cy")
    other = write(tmp_path / "b.parquet", "Ann", "Bob", "Cy")
    before = path.read_bytes()
    with open_vault(tmp_path) as vault:
        vault.register("a", path, **FACTS)
        vault.register("b", other, **FACTS)
        from discreet.protect import replacing

        def full(name: str | Path) -> None:
            if ".a.csv" in str(name):
                raise OSError(number, "full")

        monkeypatch.setattr(replacing, "sync", full)
        with pytest.raises(OutOfRoom, match="room did not suffice"):
            vault.erase("Ann")
        assert path.read_bytes() == before
        assert pyarrow.parquet.read_table(other)["name"].to_pylist() == ["Bob", "Cy"]
        assert vault.receipts() == []
        assert len(vault.unfinished) == 1
        assert vault.access("Bob").rows["a"].num_rows == 1
    with open_vault(tmp_path) as vault:  # still full: it opens, and serves others
        assert len(vault.unfinished) == 1
        assert vault.access("Cy").rows["b"].num_rows == 1
        with pytest.raises(OutOfRoom):
            vault.resume()
    monkeypatch.undo()
    with open_vault(tmp_path) as vault:
        assert vault.unfinished == []
        [receipt] = vault.receipts()
        assert receipt.tables == {"a": 1, "b": 1}
        assert receipt.complete
    assert path.read_text() == "name,x\nBob,1\nCy,2\n"
    assert not list(tmp_path.glob(".*"))


def test_too_little_memory_is_not_called_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Groups that do not fit are counted in several passes; where that does not do either, memory is what is named."""
    names = [f"person {i}" for i in range(60_000)]
    path = write(tmp_path / "a.csv", *names)
    passes: list[int] = []
    counted = FileTable._counted
    monkeypatch.setattr(FileTable, "_counted", lambda self, n, p, i: (passes.append(p), counted(self, n, p, i))[1])
    with path.open("a") as out:
        out.write(",1\n,2\n")  # what is missing is in one of the passes as well
    few = FileTable([path], memory="7MB")
    (column,), counts = few.counted(["name"])
    assert sorted(column.drop_null().to_pylist()) == sorted(names)
    assert column.null_count == 1
    assert counts is not None
    assert int(counts.sum()) == len(names) + 2
    assert max(passes) > 1
    with pytest.raises(OutOfRoom, match="the files are not to blame") as problem:
        FileTable([path], memory="1MB").counted(["name"])
    assert "damage" not in str(problem.value)
    assert "repair" not in str(problem.value)
    with open_vault(tmp_path) as vault:
        vault.register("a", path, **FACTS)

        def none_left(*_: Any) -> Any:
            raise MemoryError

        monkeypatch.setattr("discreet.protect.records._parsed", none_left)
        with pytest.raises(UnknownName, match="memory did not suffice"):
            vault.access("person 7")
        monkeypatch.undo()
        assert vault.access("person 7").rows["a"].num_rows == 1


def test_memory_that_ends_within_a_stream_is_not_called_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After its first rows DuckDB's errors come through Arrow, as an OSError whose text begins with their class."""
    batch, table = pa.RecordBatch.from_pylist([{"x": 1}]), FileTable([write(tmp_path / "a.csv", "Ann")])
    for said, kind in (
        ("Out of Memory Error: could not allocate block of size 256.0 KiB", OutOfRoom),
        ("Invalid Input Error: no UTF-8: 'Out of Memory Error'", UnsupportedFormat),
    ):
        stream = Mock(**{"read_next_batch.side_effect": [batch, OSError(said)]})
        connection = MagicMock(**{"__enter__.return_value.sql.return_value.to_arrow_reader.return_value": stream})
        monkeypatch.setattr("discreet.sources.duck.connected", lambda *_, c=connection, **__: c)
        connection.__exit__.return_value = False
        with pytest.raises(kind):
            list(table._read("SELECT 1", ordered=True))


def test_damage_is_named_and_quotes_no_record(tmp_path: Path) -> None:
    good = write(tmp_path / "a.parquet", *["SECRET"] * 500)
    content = good.read_bytes()
    (tmp_path / "b.parquet").write_bytes(content[:4] + bytes(len(content) // 2) + content[4 + len(content) // 2 :])
    for name in ("b.parquet",):
        with pytest.raises(UnsupportedFormat, match=r"not a whole Parquet file|cannot be read") as problem:
            anonymize(tmp_path / name, ["x"], {"x": Hierarchy.intervals(0, 500, [250])}, 2).write(tmp_path / "out.csv")
        assert "SECRET" not in str(problem.value)
    assert not (tmp_path / "out.csv").exists()


def test_a_file_kept_open_for_writing_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.protect.replacing.PATIENCE", 0.05)
    path = write(tmp_path / "a.csv", "Ann", "Bob")
    with open_vault(tmp_path) as vault:
        vault.register("a", path, **FACTS)
        with path.open("a") as writer:
            with pytest.raises(Busy, match="another program keeps writing"):
                vault.erase("Ann")
            writer.write("Cy,3\n")
        [receipt] = vault.resume()
        assert receipt.tables == {"a": 1}
    assert path.read_text() == "name,x\nBob,1\nCy,3\n"


def in_the_way(path: Path, what: str) -> None:
    """Put something in a file's place that is no file to be read."""
    path.unlink(missing_ok=True)
    if what == "folder":  # as programs that write a table in parts do
        path.mkdir()
        write(path / f"part-0{path.suffix}", "Ann", "Bob")
    elif what == "dangling":
        path.symlink_to("nowhere")
    elif what == "loop":
        path.symlink_to(path.name)


@pytest.mark.parametrize("what", ["folder", "dangling", "loop", "nothing"])
@pytest.mark.parametrize("given", ["v1.csv", "v*.csv", "**/v*.csv"])
def test_whatever_stands_in_a_files_place_is_told_and_blocks_nobody(what: str, given: str, tmp_path: Path) -> None:
    """The receipt is not complete, the vault opens again, and once the file is back the rows go."""
    place = write(tmp_path / "data" / "v1.csv", "Ann", "Bob")
    with open_vault(tmp_path) as vault:
        vault.register("visits", tmp_path / "data" / given, **FACTS)
        vault.register("other", write(tmp_path / "other.csv", "Ann", "Bob", "Cy"), **FACTS)
        in_the_way(place, what)
        receipt = vault.erase("Ann")
        assert receipt.tables["other"] == 1
        assert receipt.missed["visits"]
        assert not receipt.complete
    for _ in range(2):
        with open_vault(tmp_path) as vault:
            assert len(vault.receipts()) == 1
    if what == "folder":
        (place / "part-0.csv").unlink()
        place.rmdir()
    place.unlink(missing_ok=True)
    in_the_way(place, "dangling" if what == "nothing" else "nothing")  # what fits a pattern now is still no file
    open_vault(tmp_path).close()
    place.unlink(missing_ok=True)
    write(place, "Ann", "Bob")
    with open_vault(tmp_path) as vault:
        assert vault.receipts()[-1].tables["visits"] == 1
        assert vault.receipts()[-1].complete
        assert len(vault.receipts()) == 2
    assert place.read_text() == "name,x\nBob,1\n"


SOMEBODY = """
import json, os, sys
from discreet.protect.finding import find_now
from discreet.protect.reach import Reached

folder = sys.argv[1]
if os.getuid() == 0:  # root may list everything
    for path, folders, files in os.walk(folder):
        for each in (path, *(os.path.join(path, name) for name in files)):
            os.chown(each, 65534, 65534)
    os.setuid(65534)
os.chmod(f"{folder}/shut", 0)
for given in ({"pattern": f"{folder}/*/v*.csv"}, {"pattern": f"{folder}/**/v*.csv"}, {"path": f"{folder}/shut/v.csv"}):
    seen = Reached()
    found = find_now([given], seen)
    print(json.dumps([[path.parent.name for path in found], [miss["place"] for miss in seen.missed]]))
os.chmod(f"{folder}/shut", 0o700)
"""


def test_folders_that_cannot_be_listed_are_told() -> None:
    """``glob`` passes over them in silence; so does a file below one that may not be entered.

    In a process of its own: who it is, is a process's own, and threads of other tests may be running in this one.
    """
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        for name in ("open", "shut"):
            write(folder / name / "v.csv", "Ann")
        done = subprocess.run([sys.executable, "-c", SOMEBODY, made], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        found = [json.loads(line) for line in done.stdout.splitlines()]
        assert found == [[["open"], [f"{made}/shut"]]] * 2 + [[[], [f"{made}/shut/v.csv"]]]


@pytest.mark.parametrize("kind", ["folder", "table"])
def test_a_place_that_comes_back_as_old_as_it_was_is_gone_through(kind: str, tmp_path: Path) -> None:
    """A disk that was not mounted, a table under another name: no time of change tells that they were away. What holds none
    of the person's rows is written down, and not gone through at every opening."""
    write(tmp_path / "data" / "v1.csv", "Ann", "Bob", "Dee")

    def away(*, back: bool) -> None:
        if kind == "folder":
            (tmp_path / ("away" if back else "data")).rename(tmp_path / ("data" if back else "away"))
        else:
            with vault._database.transaction(write=True) as connection:
                old, new = ("away", "wards") if back else ("wards", "away")
                connection.exec_driver_sql(f"ALTER TABLE {old} RENAME TO {new}")

    with open_vault(tmp_path) as vault:
        with vault._database.transaction(write=True) as connection:
            connection.exec_driver_sql("CREATE TABLE wards (name TEXT)")
            connection.exec_driver_sql("INSERT INTO wards VALUES ('Ann'), ('Bob'), ('Dee')")
        vault.register("other", write(tmp_path / "other.csv", "Ann", "Cy"), **FACTS)
        if kind == "folder":
            vault.register("visits", tmp_path / "data" / "v*.csv", **FACTS)
        else:
            vault.register("visits", database="wards", **FACTS)
        away(back=False)
        assert vault.erase("Ann").missed["visits"]
        assert vault.erase("Cy").missed["visits"]
        away(back=True)
    with open_vault(tmp_path) as vault:
        assert [receipt.tables for receipt in vault.receipts()[2:]] == [{"other": 0, "visits": 1}]
        assert len(vault._log.rows(("looked",))) == 1  # Cy was never there
        rows = len(vault.log())
    with open_vault(tmp_path) as vault:
        assert len(vault.log()) == rows
        vault.verify()


def test_what_cannot_be_rewritten_is_not_begun_again_at_every_opening(tmp_path: Path) -> None:
    """A packed file can be read and not rewritten: as long as it is the same, there is nothing to do again."""
    write(tmp_path / "a1.csv", "Ann", "Bob")
    with open_vault(tmp_path) as vault:
        vault.register("a", [tmp_path / "a1.csv", tmp_path / "a1*"], **FACTS)
        vault.register("b", [write(tmp_path / "b.csv", "Ann"), write(tmp_path / "c.csv", "Ann")], **FACTS)
        (tmp_path / "a1.csv.gz").write_bytes(gzip.compress(b"name,x\nAnn,1\n"))
        (tmp_path / "b.csv").unlink()
        assert set(vault.erase("Ann").missed) == {"a", "b"}
        rows = len(vault.log())
    for _ in range(2):
        with open_vault(tmp_path) as vault:
            assert len(vault.log()) == rows


def test_an_earlier_receipt_is_not_given_for_what_cannot_be_looked_at_now(tmp_path: Path) -> None:
    """Erased before, and asked for again: a file that came since and is damaged was not gone through by that receipt."""
    with open_vault(tmp_path) as vault:
        vault.register("v", write(tmp_path / "data" / "v1.csv", "Ann", "Bob") and tmp_path / "data" / "v*.csv", **FACTS)
        first = vault.erase("Ann")
        assert first.complete
        assert vault.erase("Ann") == first
        (tmp_path / "data" / "v2.csv").write_text('name,x\nAnn,1\nBob,"2\n')
        second = vault.erase("Ann")
        assert [Path(place["place"]).name for place in second.missed["v"]] == ["v2.csv"]
        assert not second.complete
        assert vault.erase("Ann") == second  # nothing new to say
        write(tmp_path / "data" / "v2.csv", "Ann", "Bob")
        third = vault.erase("Ann")
        assert third.tables == {"v": 1}
        assert third.complete
        assert len(vault.receipts()) == 3
