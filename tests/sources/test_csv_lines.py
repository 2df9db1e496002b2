"""The records of a CSV file: what was written where it is well written, and one for each line whatever that is."""

from __future__ import annotations

import csv
import gzip
import io
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.sources import csv_lines

fields = st.lists(st.text(alphabet='ab,"\n\t é', max_size=5), min_size=3, max_size=3)


def records(path: Path, columns: list[str] | None = None, names: list[str] | None = None) -> list[list[bytes]]:
    names = names or ["a", "b", "c"]
    found = list(csv_lines.batches([path], names, columns or names, ","))
    return [list(row.values()) for batch in found for row in batch.to_pylist()]


@given(st.lists(fields, max_size=8), st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]), st.sampled_from(["\n", "\r\n"]))
@settings(max_examples=150, deadline=None, derandomize=True)
def test_what_a_writer_writes_is_read_back(rows: list[list[str]], quoting: Any, end: str) -> None:
    """In blocks of any size, and with any choice of columns."""
    written = io.StringIO(newline="")
    writer = csv.writer(written, quoting=quoting, lineterminator=end)
    writer.writerows([["a", "b", "c"], *rows])
    wanted = [[cell.encode() for cell in row] for row in rows]
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        path = Path(folder) / "t.csv"
        path.write_bytes(written.getvalue().encode())
        assert csv_lines.header(path, ",") == ["a", "b", "c"]
        for block in (csv_lines._BLOCK, 7, 1):
            patch.setattr(csv_lines, "_BLOCK", block)
            assert records(path) == wanted
            assert records(path, ["c"]) == [row[2:] for row in wanted]


CASES = [
    (b"1\n", [b"1", b"", b""]),
    (b"1,2,3,4,5\n", [b"1", b"2", b"3"]),
    (b'1,a"b,"c"d\n', [b"1", b'a"b', b"cd"]),
    (b"1,a\rb,3\r\n", [b"1", b"a\rb", b"3"]),
    (b'1,"a\nb",3\n', [b"1", b"a\nb", b"3"]),
    (b"1,\x00,\xff\n", [b"1", b"\x00", b"\xff"]),
    (b"   \n", [b"   ", b"", b""]),
    (b'"",,""""\n', [b"", b"", b'"']),
    (b",,\n", [b"", b"", b""]),
]


@pytest.mark.parametrize(("line", "wanted"), CASES)
@pytest.mark.parametrize("block", [1, 5, 1 << 22])
def test_any_line_is_one_record_and_moves_no_other(
    line: bytes, wanted: list[bytes], block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csv_lines, "_BLOCK", block)
    others = [[b"x", b"y", b"z"], [b"u", b"v", b"w"]]
    lines = [b"x,y,z\n", b"u,v,w\n"]
    for place in range(3):
        path = tmp_path / "t.csv.gz"
        with gzip.open(path, "wb") as out:
            out.write(b"\xef\xbb\xbfa,b,c\r\n\n" + b"".join([*lines[:place], line, b"\r\n", *lines[place:]]).rstrip(b"\n"))
        assert records(path) == [*others[:place], wanted, *others[place:]]


@pytest.mark.parametrize("block", [1, 7, 1 << 22])
def test_what_is_too_long_or_never_closed_stays_on_its_line(
    block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether a line is too long does not depend on where a block ends."""
    monkeypatch.setattr(csv_lines, "_BLOCK", block)
    monkeypatch.setattr(csv_lines, "LONGEST", 20)
    path = tmp_path / "t.csv"
    path.write_bytes(
        b'a,b,c\n1,"2,3\n4,5,6\n7,8,9\n1,2,3\n' + b"x" * 19 + b"\n" + b"x" * 20 + b"\n" + b"y" * 90 + b"\nk,l,m"
    )
    nothing = [b"", b"", b""]
    assert records(path) == [
        [b"1", b'"2', b"3"], [b"4", b"5", b"6"], [b"7", b"8", b"9"], [b"1", b"2", b"3"], [b"x" * 19, b"", b""],
        nothing, nothing, [b"k", b"l", b"m"],
    ]  # fmt: skip
    path.write_bytes(b"a,b,c\n" + b"x" * 100)
    assert records(path) == [nothing]


@given(
    st.lists(st.lists(st.text(alphabet='ab,"\n é', max_size=40), min_size=3, max_size=3), min_size=1, max_size=6),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from([1, 7, 16, 1 << 22]),
    st.booleans(),
)
@settings(max_examples=200, deadline=None, derandomize=True)
def test_a_record_that_a_writer_makes_too_long_is_one_record(
    rows: list[list[str]], end: str, block: int, packed: bool
) -> None:
    """With all cells missing: what its own text holds, lines and quotes, makes no other records and swallows none."""
    lines = []
    for row in [["a", "b", "c"], *rows]:
        written = io.StringIO(newline="")
        csv.writer(written, lineterminator=end).writerow(row)
        lines.append(written.getvalue().encode())
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_lines, "_BLOCK", block)
        patch.setattr(csv_lines, "LONGEST", 30)
        path = Path(folder) / ("t.csv.gz" if packed else "t.csv")
        with gzip.open(path, "wb") if packed else path.open("wb") as out:
            out.write(b"".join(lines))
        short = [[cell.encode() for cell in row] for row in rows]
        wanted = [row if len(line) <= 30 else [b"", b"", b""] for row, line in zip(short, lines[1:], strict=True)]
        assert records(path) == wanted
        assert records(path, ["b"]) == [row[1:2] for row in wanted]


@pytest.mark.parametrize("packed", [False, True])
def test_a_quote_that_is_never_closed_is_a_character_in_a_long_file_too(
    packed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csv_lines, "_BLOCK", 16)
    monkeypatch.setattr(csv_lines, "LONGEST", 30)
    path = tmp_path / ("t.csv.gz" if packed else "t.csv")
    with gzip.open(path, "wb") if packed else path.open("wb") as out:
        out.write(b'a,b,c\n1,"2,3\n' + b'4,"",6\n' * 50 + b'"' + b"x" * 70 + b"\n" + b"7,8,9\n" * 50)
    empty, last = [[b"4", b"", b"6"]] * 50, [[b"7", b"8", b"9"]] * 50
    # The first quote is closed by the second, 350 bytes later: one record. A file with a single one has none that closes it.
    assert records(path) == [[b"", b"", b""], *last]
    with gzip.open(path, "wb") if packed else path.open("wb") as out:
        out.write(b'a,b,c\n1,"2,3\n' + b'4,"",6\n' * 50 + b"7,8,9\n" * 50 + b'"' + b"x" * 70)
    assert records(path) == [[b"", b"", b""]]
    with gzip.open(path, "wb") if packed else path.open("wb") as out:
        out.write(b'a,b,c\n1,"2,3\n' + b'4,"",6\n' * 50 + b"7,8,9\n" * 50)
    assert records(path) == [[b"1", b'"2', b"3"], *empty, *last]


def test_tabs_and_single_columns(tmp_path: Path) -> None:
    path = tmp_path / "t.tsv"
    path.write_bytes(b'a\tb\n1,\t"2\t"\n')
    assert csv_lines.header(path, "\t") == ["a", "b"]
    (batch,) = csv_lines.batches([path], ["a", "b"], ["b", "a"], "\t")
    assert batch.to_pydict() == {"b": [b"2\t"], "a": [b"1,"]}
    assert batch.schema.field("a").type == pa.binary()
    path.write_bytes(b'a\n1\n\n""\n"x"\n')
    assert records(path, names=["a"]) == [[b"1"], [b""], [b"x"]]
    path.write_bytes(b"a\n")
    assert records(path, names=["a"]) == []
