"""A file that someone is taken out of is otherwise as it was: bytes, owner, mode, attributes, and rows that arrive then."""

from __future__ import annotations

import csv
import io
import os
import random
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.errors import DiscreetError, UnsupportedFormat
from discreet.protect import FileKeys, Pseudonymizer, Vault
from discreet.protect import records as records_module
from discreet.protect.holding_files import Files, _Removal
from discreet.protect.holdings import Finder
from discreet.protect.records import Records, read_records
from tests.patches import only_here

FACTS: dict[str, Any] = {"purpose": "care", "categories": ["health"], "retention": "10 years"}
CELLS = st.text(st.sampled_from('ab ,\t"\n\rå;'), max_size=5)


@pytest.fixture
def people(keys: FileKeys) -> Pseudonymizer:
    return Pseudonymizer(["name"], keys)


@pytest.fixture
def vault(people: Pseudonymizer, tmp_path: Path) -> Any:
    with Vault(f"sqlite:///{tmp_path}/vault.db", people) as opened:
        yield opened


def record(cells: list[str], end: str, *, quote_all: bool) -> str:
    out = io.StringIO()
    quoted = quote_all or any(letter in cell for cell in cells for letter in "\r\n")  # whatever ends a line elsewhere
    csv.writer(out, quoting=csv.QUOTE_ALL if quoted else csv.QUOTE_MINIMAL, lineterminator=end).writerow(cells)
    return out.getvalue()


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(st.tuples(st.sampled_from(["Ann", "Bob", "cy å"]), CELLS, st.booleans(), st.booleans()), max_size=12),
    end=st.sampled_from(["\n", "\r\n", "\r"]),
    mark=st.booleans(),
    closed=st.booleans(),
    chunk=st.integers(1, 40),
)
def test_bytes_that_stay_are_the_bytes_that_were(
    rows: list[tuple[str, str, bool, bool]],
    end: str,
    mark: bool,
    closed: bool,
    chunk: int,
    people: Pseudonymizer,
    tmp_path: Path,
) -> None:
    """Line ends, mark, quoting and blank lines of what stays, however the file is cut into pieces while it is read."""
    parts = [(who, record([who, cell], end, quote_all=quoted) + (end if blank else "")) for who, cell, quoted, blank in rows]
    if parts and not closed:
        parts[-1] = (parts[-1][0], parts[-1][1].rstrip("\r\n") if not parts[-1][1].endswith('"') else parts[-1][1])
    start = ("\ufeff" if mark else "") + f"name,note{end}"
    path = tmp_path / "t.csv"
    path.write_bytes((start + "".join(text for _, text in parts)).encode())
    blank = {id(part): part[1].endswith(end * 2) for part in parts}
    expected = start + "".join(
        text if who != "Ann" else (end if blank[id(part)] else "") for part in parts for who, text in [part]
    )
    old, records_module._CHUNK = records_module._CHUNK, chunk
    try:
        there = sum(who == "Ann" for who, _ in parts)
        files = Files("t", ({"path": str(path)},), Finder(people, ("name",)))
        assert files._found(path, people.digest("ann"))[0].num_rows == there
        with path.open("rb") as source:
            gone = _Removal(path, files.finder, people.digest("ann"))(source, str(tmp_path / "out.csv"))
        assert gone == (there or None)
        assert (tmp_path / "out.csv").read_bytes() == expected.encode()
    finally:
        records_module._CHUNK = old


@pytest.mark.parametrize(
    "text",
    [
        'a,b\n1,"2\n',
        "a,b\n1\n",
        "a,b\n1,2,3\n",
        'a,b\n1"x,2"y\n3,4\n',
        'a,b\n"1"x,2\n',
        'a,b\n1""x,2\n',
        "",
        "a,b\n\xff,1\n",
    ],
)
def test_what_is_no_record_is_refused(text: str) -> None:
    def read() -> list[Any]:
        pieces = read_records(io.BytesIO(text.encode("latin-1")), ",")
        return [piece.cells(["a", "b"]) for piece in pieces if isinstance(piece, Records)]

    with pytest.raises(UnsupportedFormat):
        read()


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_owner_mode_and_attributes_are_kept(kind: str, vault: Vault, tmp_path: Path) -> None:
    path = tmp_path / f"t.{kind}"
    if kind == "csv":
        path.write_text("name\nAnn\nBob\n")
    else:
        pyarrow.parquet.write_table(pa.table({"name": ["Ann", "Bob"]}), path)
    path.chmod(0o640)
    if os.getuid() == 0:
        os.chown(path, 12345, 23456)
    path.chmod(0o2750)
    with suppress(OSError):  # a file system without attributes
        os.setxattr(path, "user.note", b"kept")
    before = path.stat()
    notes = {name: os.getxattr(path, name) for name in os.listxattr(path)}
    vault.register("t", path, **FACTS)
    vault.erase("Ann")
    after = path.stat()
    assert (after.st_uid, after.st_gid, after.st_mode) == (before.st_uid, before.st_gid, before.st_mode)
    assert {name: os.getxattr(path, name) for name in os.listxattr(path)} == notes
    assert after.st_ino != before.st_ino


def test_an_owner_that_cannot_be_kept_is_told(vault: Vault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from discreet.protect import replacing

    def forbidden(*_: Any) -> None:
        raise PermissionError(1, "Operation not permitted")

    def of_another(part: str, path: Path, state: os.stat_result) -> None:
        facts = list(state)
        facts[4] = os.getuid() + 1
        like(part, path, os.stat_result(facts))

    path = tmp_path / "t.csv"
    path.write_text("name\nAnn\nBob\n")
    vault.register("t", path, **FACTS)
    like = replacing.like
    monkeypatch.setattr(replacing, "like", of_another)
    only_here(monkeypatch, os, "chown", forbidden)
    receipt = vault.erase("Ann")
    assert "must keep its owner" in receipt.missed["t"][0]["reason"]
    assert receipt.tables == {"t": 0}
    assert receipt.document["not_reached"] == {"t": 1}
    assert path.read_text() == "name\nAnn\nBob\n"


APPENDER = """
import sys, time
path, rows = sys.argv[1], int(sys.argv[2])
for i in range(rows):
    with open(path, "a") as out:  # opened anew for each row, as a script does
        out.write(f"late {i},{i}\\n")
    time.sleep(0.0003)
"""


def test_no_row_appended_meanwhile_is_lost(vault: Vault, tmp_path: Path) -> None:
    """Another process appends rows all the while people are taken out, one after another."""
    path = tmp_path / "t.csv"
    rng = random.Random(3)
    path.write_text("name,x\n" + "".join(f"p{rng.randrange(30)},{i}\n" for i in range(3000)))
    vault.register("t", path, **FACTS)
    rows = 400
    appender = subprocess.Popen([sys.executable, "-c", APPENDER, str(path), str(rows)])
    gone = 0
    while appender.poll() is None and gone < 12:
        vault.erase(f"p{gone}")
        gone += 1
    appender.wait()
    assert gone > 0
    lines = path.read_text().splitlines()
    assert [line for line in lines if line.startswith("late")] == [f"late {i},{i}" for i in range(rows)]
    assert not any(line.split(",")[0] in {f"p{i}" for i in range(gone)} for line in lines)
    assert sum(line.startswith("p") for line in lines) > 0
    assert [p.name for p in tmp_path.iterdir() if p.name.endswith(".part")] == []


@pytest.mark.parametrize("step", ["read", "linked", "replaced"])
def test_a_row_appended_at_each_step_is_kept(
    step: str, vault: Vault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Appended after the file was read, between the two names, and through a handle opened before the old name went; the
    last two with the lease taken away, as on a file system that has none."""
    from discreet.protect import replacing

    path = tmp_path / "t.csv"
    path.write_text("name,x\nAnn,1\nBob,2\n")
    vault.register("t", path, **FACTS)
    done = []

    def append(handle: Any = None) -> None:
        if not done:
            done.append(True)
            with open(path, "a") if handle is None else handle as out:
                out.write("Late,3\n")

    if step == "read":
        like = replacing.like
        monkeypatch.setattr(replacing, "like", lambda *args: (append(), like(*args))[1])
    else:

        @contextmanager
        def none(handle: int) -> Any:
            yield lambda: True

        monkeypatch.setattr(replacing, "_lease", none)
        link, replace = os.link, os.replace
        if step == "linked":
            only_here(monkeypatch, os, "link", lambda *args: (link(*args), append())[0])
        else:

            def moved(source: str, target: Any) -> None:
                handle = open(path, "a") if not done else None  # noqa: SIM115
                replace(source, target)
                if handle is not None:
                    append(handle)

            only_here(monkeypatch, os, "replace", moved)
    assert vault.erase("Ann").tables == {"t": 1}
    assert path.read_text() == "name,x\nBob,2\nLate,3\n"
    assert done
    assert not list(tmp_path.glob(".t.csv*"))


@pytest.mark.parametrize("step", ["read", "looked at"])
def test_a_file_put_in_its_place_meanwhile_is_kept(
    step: str, vault: Vault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Programs that write a file anew and rename it: what they put there after it was read is read again."""
    from discreet.protect import replacing

    path = tmp_path / "t.csv"
    path.write_text("name,x\nAnn,1\nBob,2\n")
    vault.register("t", path, **FACTS)
    done = []

    def anew() -> None:
        if not done:
            done.append(True)
            (tmp_path / "new").write_text("name,x\nAnn,1\nBob,2\nLate,3\n")
            (tmp_path / "new").rename(path)

    like, link = replacing.like, os.link
    if step == "read":
        monkeypatch.setattr(replacing, "like", lambda *args: (anew(), like(*args))[1])
    else:
        only_here(monkeypatch, os, "link", lambda *args: (anew(), link(*args))[1])
    assert vault.erase("Ann").tables == {"t": 1}
    assert path.read_text() == "name,x\nBob,2\nLate,3\n"
    assert done
    assert not list(tmp_path.glob(".t.csv*"))


def test_an_opener_that_waits_gets_the_new_file_or_its_row_is_kept(vault: Vault, tmp_path: Path) -> None:
    """A lease holds back whoever opens the file for writing while the names change; nobody waits for long."""
    from discreet.protect.replacing import _lease

    path = tmp_path / "t.csv"
    path.write_text("name\nAnn\n")
    with path.open("rb") as source, _lease(source.fileno()) as held:
        assert held()
        code = f"open({str(path)!r}, 'a').write('Late\\n')"
        waiting = subprocess.Popen([sys.executable, "-c", code])
        deadline = time.monotonic() + 20
        while held() and time.monotonic() < deadline:
            time.sleep(0.01)
        assert not held()
        assert waiting.poll() is None
        assert path.read_text() == "name\nAnn\n"
    assert waiting.wait(20) == 0
    assert path.read_text() == "name\nAnn\nLate\n"


def test_the_error_of_a_missing_folder_is_ours(tmp_path: Path) -> None:
    people = Pseudonymizer(["name"], FileKeys.create(tmp_path / "keys.json"))
    with pytest.raises(DiscreetError):
        Vault(f"sqlite:///{tmp_path}/no/such/vault.db", people)
