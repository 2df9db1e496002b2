"""ARX's specifications: what Java wrote is read, what is written Java reads, and what is bent is refused in one line.

The files of ``arx/`` were written by Java from stand-ins of ARX's classes (``Builders.java``), which have the names,
versions and fields of the originals; where a compiler of Java is at hand, they are written again and ours are read by it.
"""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from discreet.cli import main
from discreet.errors import DiscreetError, InvalidRequest, UnsupportedFormat
from discreet.protect import Hierarchy, anonymize, java_stream

HERE = Path(__file__).parent / "arx"
ILL = {"flu": ["lungs", "*"], "asthma": ["lungs", "*"], "ulcer": ["stomach", "*"], "reflux": ["stomach", "*"]}


def read(name: str, *values: str, **said: Any) -> Hierarchy:
    return Hierarchy.from_ahs(HERE / f"{name}.ahs", values or None, **said)


def test_intervals_with_labels_groups_repeating_and_outer_bounds() -> None:
    age = read("age")
    assert age == Hierarchy.cuts(0, 110, [[18, 65], [18]], [["child", "grown", "old"], ["young", "not young"]])
    weight = read("weight")
    ways = {
        "0": ("<5", "<5"),
        "4.99": ("<5", "<5"),
        "5": ("[5, 12.5)", "[5, 20)"),
        "12.5": ("[12.5, 15)", "[5, 20)"),
        "89.9": ("[87.5, 90)", "[80, 90)"),
        "119": ("[97.5, 120)", "[90, 120)"),
        "120": (">=120", ">=120"),
    }
    assert {value: weight.path(value)[1:-1] for value in ways} == ways


def test_orders_priorities_redaction_and_dates() -> None:
    ill = read("ill")
    assert ill.path("asthma") == ("asthma", "lungs", "*")
    assert ill.path("ulcer") == ("ulcer", "stomach é\0\N{GRINNING FACE}", "*")
    assert read("ill", "flu", "ulcer", "asthma").path("ulcer")[1].startswith("stomach")
    assert read("typed", "b", "c", "a").path("b") == ("b", "{a, b}", "*")
    assert read("ordinal").path("reflux") == ("reflux", "[ulcer, reflux]", "*")
    assert read("given", "abc", "abd", "xyz", "xyw").generalize(["abc", "xyz"], 1) == ["ab*", "xy-xy"]
    assert read("first").to_dict()["paths"]["ulcer"] == ["ulcer", "*"]
    assert read("first").to_dict()["paths"]["flu"] == ["*", "*"]
    assert read("zip", length=4) == Hierarchy.prefixes(4)
    assert read("zip5") == Hierarchy.prefixes(5)
    assert read("ends", "7", "123").path("7") == ("7", "* 7", "**7", "***")
    assert read("day", first="2000-01-01", last="2019-12-31").path("2001-02-03") == (
        "2001-02-03", "2001-02", "2001", "*",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("typed", "list them in values="),
        ("means", "GenericArithmeticMean, which is not known"),
        ("program", "not known here"),
        ("zip", "length="),
        ("ends", "values="),
        ("day", "first= and last="),
        ("coded", "before or after a day"),
        ("weeks", "WEEK_YEAR do not nest"),
        ("other", "no builder of hierarchies"),
        ("none", "cannot be read"),
    ],
)
def test_refusals_are_one_line_with_the_file(name: str, says: str) -> None:
    values = ("a", "b") if name in ("means", "program") else ()
    with pytest.raises(UnsupportedFormat, match=says) as refused:
        read(name, *values)
    assert str(refused.value).startswith(str(HERE / f"{name}.ahs"))
    assert "\n" not in str(refused.value)


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    numbers = Hierarchy.intervals(-10, 110, [5, 10, 30])
    share = Hierarchy.intervals("0.1", 1, ["0.3"])
    named = Hierarchy.cuts(0, "99.5", [[18, 40, 65], [18]], [["a", "b", "ö\0", "d"], ["a", "e"]])
    for place, (made, values) in enumerate(
        (
            (numbers, ["-10", "-5", "0", "79.5", "109.9", "110"]),
            (share, ["0.1", "0.4", "0.39", "0.7", "1"]),
            (named, ["0", "18", "64.999", "65", "99.5"]),
            (Hierarchy.prefixes(5), ["13053"]),
            (Hierarchy.tree(ILL), list(ILL)),
        )
    ):
        back = Hierarchy.from_ahs(made.to_ahs(tmp_path / f"{place}.ahs"))
        assert [back.path(value) for value in values] == [made.path(value) for value in values]
    days = Hierarchy.dates("2020-01-01", "2022-12-31", ["month", "half", "year"])
    some = ["2021-02-03", "2020-05-01", "2020-08-30", "2021-02-01"]
    back = Hierarchy.from_ahs(days.to_ahs(tmp_path / "days.ahs", some))
    assert [back.path(day) for day in some] == [days.path(day) for day in some]
    with pytest.raises(InvalidRequest, match=r"pass values=\[...\]"):
        days.to_ahs(tmp_path / "no.ahs")
    with pytest.raises(InvalidRequest, match="new file"):
        numbers.to_ahs(tmp_path / "0.ahs")
    with pytest.raises(InvalidRequest, match="at most 100,000 cells"):
        Hierarchy.intervals(0, 1_000_000, [1]).to_ahs(tmp_path / "no.ahs")


def test_streams_are_written_as_they_were_read() -> None:
    for file in HERE.glob("*.ahs"):
        if file.stem != "program":
            made = java_stream.write(java_stream.read(file.read_bytes()))
            assert java_stream.write(java_stream.read(made)) == made


def test_no_bent_file_does_more_than_be_refused(tmp_path: Path) -> None:
    """1,500 cut and changed files: read, or refused in our own words."""
    rng = random.Random(28)
    files = [file.read_bytes() for file in sorted(HERE.glob("*.ahs")) if file.stat().st_size < 4000]
    bent = tmp_path / "bent.ahs"
    refused = []
    for _ in range(1500):
        data = bytearray(rng.choice(files))
        for _ in range(rng.randint(1, 4)):
            data[rng.randrange(len(data))] = rng.choice([0, 1, 0x70, 0x71, 0x73, 0x75, 0x78, 0x7E, 0xFF, rng.randrange(256)])
        bent.write_bytes(data[: rng.randrange(len(data) + 1)] if rng.random() < 0.2 else data)
        try:
            Hierarchy.from_ahs(bent, ["1", "2", "3"] if rng.random() < 0.3 else None, length=5)
        except DiscreetError as problem:
            refused.append(str(problem))
    assert len(refused) > 100
    assert all(text.startswith(str(bent)) and "\n" not in text for text in refused)


def test_depth_and_size_are_bounded(tmp_path: Path) -> None:
    kind = java_stream.JavaClass("[Ljava.lang.Object;", 0)
    value: Any = None
    for _ in range(120):
        value = java_stream.JavaArray(kind, [value])
    with pytest.raises(UnsupportedFormat, match="deeper than 100"):
        java_stream.read(java_stream.write(value))
    (tmp_path / "large.ahs").write_bytes(bytes(1 << 23))
    with pytest.raises(UnsupportedFormat, match="at most 4,194,304 bytes"):
        Hierarchy.from_ahs(tmp_path / "large.ahs")


def test_a_job_takes_a_specification(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copy(HERE / "age.ahs", tmp_path)
    (tmp_path / "people.csv").write_text("age;ill\n" + "".join(f"{n % 100};{'ab'[n % 2]}\n" for n in range(300)))
    job = 'table = "people.csv"\ndelimiter = ";"\noutput = "out.csv"\nquasi_identifiers = ["age"]\nk = 20\n'
    (tmp_path / "job.toml").write_text(job + '[hierarchies.age]\nkind = "ahs"\npath = "age.ahs"\n')
    assert main(["protect", "anonymize", str(tmp_path / "job.toml")]) == 0
    assert {line.split(";")[0] for line in (tmp_path / "out.csv").read_text().splitlines()[1:]} == {"child", "grown", "old"}
    (tmp_path / "age.ahs").write_bytes(b"no stream")
    (tmp_path / "out.csv").unlink()
    assert main(["protect", "anonymize", str(tmp_path / "job.toml")]) != 0
    assert "not a stream of Java objects" in capsys.readouterr().err


def test_cuts_nest_and_refuse() -> None:
    ages = Hierarchy.cuts(0, 110, [[18, 40, 65], [18]], [["child", "young", "old", "oldest"], ["child", "grown"]])
    assert ages.path("18") == ("18", "young", "grown", "*")
    assert Hierarchy.from_dict(ages.to_dict()) == ages
    assert Hierarchy.cuts(0, 100, [[50, 100]]).generalize([49.5, 50, 100], 1) == ["[0, 50)", "[50, 100)", "[100, 100]"]
    assert ages.loss("20", 1) == 22 / 110
    copy = anonymize({"age": [1, 2, 30, 35, 70, 80]}, ["age"], {"age": ages}, 2)
    assert copy.levels == {"age": 1}
    for made, says in (
        (lambda: Hierarchy.cuts(0, 10, [[2], [3]]), "one of the level before it, got 3"),
        (lambda: Hierarchy.cuts(0, 10, [[2, 4], [2, 4]]), "fewer edges"),
        (lambda: Hierarchy.cuts(0, 10, [[4, 2]]), "must rise"),
        (lambda: Hierarchy.cuts(0, 10, [[0, 2]]), "must rise"),
        (lambda: Hierarchy.cuts(0, 10, [[11]]), "at most 10"),
        (lambda: Hierarchy.cuts(0, 10, [[]]), "must rise"),
        (lambda: Hierarchy.cuts(0, 10, 5), "a list for each level"),  # type: ignore[arg-type]
        (lambda: Hierarchy.cuts(0, 10, [5]), "a list for each level"),  # type: ignore[list-item]
        (lambda: Hierarchy.cuts(0, 10, [[5]], [["a", "a"]]), "2 different words"),
        (lambda: Hierarchy.cuts(0, 10, [[5]], []), "each of 1 levels, got 0"),
        (lambda: Hierarchy.cuts(0, 10, [["x"]]), "an edge"),  # type: ignore[list-item]
    ):
        with pytest.raises(InvalidRequest, match=says):
            made()


@pytest.mark.skipif(shutil.which("javac") is None, reason="no compiler of Java on this machine")
def test_java_reads_what_is_written_here_and_writes_what_is_read(tmp_path: Path) -> None:
    subprocess.run(["javac", "-nowarn", "-d", tmp_path, HERE / "DataType.java", HERE / "Builders.java"], check=True)
    java = ["java", "-cp", str(tmp_path), "org.deidentifier.arx.aggregates.Builders"]
    subprocess.run([*java, "write", str(tmp_path)], check=True)
    for name in ("age", "weight", "ill", "ordinal", "zip5", "first"):
        assert Hierarchy.from_ahs(tmp_path / f"{name}.ahs") == read(name)
    made = [
        Hierarchy.intervals(0, 100, [25, 50]).to_ahs(tmp_path / "a.ahs"),
        Hierarchy.cuts("0.1", "1", [["0.4"]]).to_ahs(tmp_path / "b.ahs"),
        Hierarchy.prefixes(5).to_ahs(tmp_path / "c.ahs"),
        Hierarchy.tree({value: ILL[value] for value in ("flu", "asthma", "ulcer")}).to_ahs(tmp_path / "d.ahs"),
    ]
    told = subprocess.run([*java, *map(str, made)], check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    assert told == [
        "HierarchyBuilderIntervalBased INTERVAL_BASED",
        "0 25 [0, 25) true", "25 50 [25, 50) true", "50 75 [50, 75) true", "75 101 [75, 100] true",
        "ARXInteger", "0 2 [0, 50)", "0 2 [50, 100]",
        "HierarchyBuilderIntervalBased INTERVAL_BASED",
        "0.1 0.4 [0.1, 0.4) true", "0.4 1.0000000000000009 [0.4, 1] true",
        "ARXDecimal",
        "HierarchyBuilderRedactionBased REDACTION_BASED",
        "LEFT_TO_RIGHT RIGHT_TO_LEFT *", "5.0 10.0 100000.0",
        "HierarchyBuilderOrderBased ORDER_BASED", "[asthma, flu, ulcer]",
        "ARXString", "0 2 lungs", "0 1 stomach", "1 2 *",
    ]  # fmt: skip
