"""Builders, nesting, and everything that is refused."""

from __future__ import annotations

import datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import InvalidRequest, UnsupportedFormat
from discreet.protect import Hierarchy

ILL = {"flu": ["lungs", "*"], "asthma": ["lungs", "*"], "ulcer": ["stomach", "*"]}


def test_intervals() -> None:
    h = Hierarchy.intervals(0, 100, [5, 10, 20])
    assert h.height == 4
    assert h.levels == ("value", "width 5", "width 10", "width 20", "top")
    assert h.generalize([17, "17", 17.0, 100, None], 1) == ["[15, 20)", "[15, 20)", "[15, 20)", "[95, 100]", None]
    assert h.generalize([17, None], "top") == ["*", "*"]
    assert h.generalize([17], 0) == [17]
    assert Hierarchy.intervals(0, 25, [10]).generalize([24.5, 19.999], 1) == ["[20, 25]", "[10, 20)"]
    assert Hierarchy.intervals(0, 1, [0.1]).generalize([0.3, 0.7], 1) == ["[0.3, 0.4)", "[0.7, 0.8)"]


def test_prefixes() -> None:
    h = Hierarchy.prefixes(5)
    assert h.height == 5
    assert h.generalize(["13053"], 2) == ["130**"]
    assert Hierarchy.prefixes(5, keep=[3]).path("02139") == ("02139", "021**", "*")
    assert h.loss("13053", 2) == pytest.approx(1e-3)


def test_dates() -> None:
    h = Hierarchy.dates("1900-01-01", "2024-12-31", ["month", "quarter", "half", "year", "decade", "century"])
    assert h.path("1987-08-06") == (
        "1987-08-06", "1987-08", "1987-Q3", "1987-H2", "1987", "1980s", "1900s (100 years)", "*",
    )  # fmt: skip
    day = datetime.date(2020, 2, 29)
    assert h.generalize([day, np.datetime64("2020-02-29"), datetime.datetime(2020, 2, 29, 12)], 1) == ["2020-02"] * 3
    assert h.loss("2020-02-29", 1) == pytest.approx(28 / 45655)


def test_tree_from_csv_and_toml(tmp_path: Path) -> None:
    assert Hierarchy.tree(ILL).generalize(["flu", "ulcer"], 1) == ["lungs", "stomach"]
    assert Hierarchy.tree(ILL).loss("flu", 1) == pytest.approx(2 / 3)
    assert Hierarchy.tree(ILL).loss("ulcer", 1) == 0
    file = tmp_path / "ill.csv"
    file.write_text("illness;organ;any\n" + "\n".join(";".join([v, *a]) for v, a in ILL.items()))
    read = Hierarchy.from_csv(file, header=True)
    assert (read.levels, read.path("flu")) == (("illness", "organ", "any"), ("flu", "lungs", "*"))
    toml = tmp_path / "levels.toml"
    toml.write_text(
        '[age]\nkind = "intervals"\nlo = 0\nhi = 100\nwidths = [10]\n[zip]\nkind = "prefixes"\nlength = 5\n'
        '[born]\nkind = "dates"\nfirst = 1900-01-01\nlast = "2024-01-01"\n'
        '[ill]\nkind = "csv"\npath = "ill.csv"\nheader = true\n[sex]\nkind = "tree"\npaths = {f = ["*"], m = ["*"]}\n'
    )
    made = Hierarchy.from_toml(toml)
    assert list(made) == ["age", "zip", "born", "ill", "sex"]
    assert made["ill"] == read
    for hierarchy in made.values():
        assert Hierarchy.from_dict(hierarchy.to_dict()) == hierarchy


@settings(max_examples=100, deadline=None)
@given(
    st.fractions(-50, 50, max_denominator=8),
    st.fractions(Fraction(1, 8), 5, max_denominator=8),
    st.lists(st.integers(2, 4), max_size=3),
    st.lists(st.floats(0, 1), min_size=2, max_size=20),
)
def test_intervals_nest(lo: Fraction, width: Fraction, factors: list[int], shares: list[float]) -> None:
    widths = [width]
    for factor in factors:
        widths.append(widths[-1] * factor)
    hi = lo + widths[-1] + Fraction(17, 3)
    h = Hierarchy.intervals(lo, hi, widths)
    paths = {h.path(str(lo + (hi - lo) * Fraction(share))) for share in shares}
    for level in range(1, h.height):
        above: dict[str, str] = {}
        for path in paths:
            assert above.setdefault(path[level], path[level + 1]) == path[level + 1]
            assert 0 <= h.loss(path[0], level) <= h.loss(path[0], level + 1) <= 1


@settings(max_examples=50, deadline=None)
@given(st.lists(st.dates(datetime.date(1000, 1, 1), datetime.date(9999, 12, 31)), min_size=2, max_size=20))
def test_dates_nest(days: list[datetime.date]) -> None:
    h = Hierarchy.dates("1000-01-01", "9999-12-31", ["day", "month", "quarter", "half", "year", "decade", "century"])
    paths = [h.path(day.isoformat()) for day in days]
    for level in range(1, h.height):
        above: dict[str, str] = {}
        for path in paths:
            assert above.setdefault(path[level], path[level + 1]) == path[level + 1]
            assert 0 <= h.loss(path[0], level) <= h.loss(path[0], level + 1) <= 1


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Hierarchy.intervals(0, 10, [2, 3]), "multiple of the one before it, got 2 then 3"),
        (lambda: Hierarchy.intervals(0, 10, [2, 2]), "multiple"),
        (lambda: Hierarchy.intervals(0, 10, [0]), "positive, got 0"),
        (lambda: Hierarchy.intervals(0, 10, [10]), "less than hi - lo = 10"),
        (lambda: Hierarchy.intervals(5, 5, [1]), "lo < hi"),
        (lambda: Hierarchy.intervals(0, float("nan"), [1]), "finite"),
        (lambda: Hierarchy.intervals(0, 10, [2]).path("11"), r"bounds \[0, 10\], got '11'"),
        (lambda: Hierarchy.intervals(0, 10, [2]).path("old"), "needs numbers, got 'old'"),
        (lambda: Hierarchy.intervals(0, 10, [2]).generalize([1], 3), "level must be 0 to 2"),
        (lambda: Hierarchy.prefixes(5).path("1305"), "5 characters, got '1305'"),
        (lambda: Hierarchy.prefixes(0), "length must be"),
        (lambda: Hierarchy.prefixes(5, keep=[3, 3]), "keep must fall"),
        (lambda: Hierarchy.prefixes(5, keep=[5]), "keep must fall"),
        (lambda: Hierarchy.dates("2020-01-01", "2021-01-01", ["week"]), "got 'week'; weeks do not nest"),
        (lambda: Hierarchy.dates("2020-01-01", "2021-01-01", ["year", "month"]), "finer to coarser"),
        (lambda: Hierarchy.dates("2020-01-01", "2019-01-01"), "first < last"),
        (lambda: Hierarchy.dates("31.12.2020", "2021-01-01"), "ISO form"),
        (lambda: Hierarchy.dates("2020-01-01", "2021-01-01").path("2022-01-01"), "2020-01-01 to 2021-01-01"),
        (lambda: Hierarchy.tree({}), "must map values"),
        (lambda: Hierarchy.tree({"a": ["x", "*"], "b": ["*"]}), "on each of 2 levels, got 1 for 'b'"),
        (lambda: Hierarchy.tree({"a": ["x", "*"], "b": ["", "*"]}), "no gaps"),
        (lambda: Hierarchy.tree({"a": ["x", "*"], "b": [None, "*"]}), "no gaps"),
        (lambda: Hierarchy.tree({"a": ["x", "*"], "b": ["x", "+"]}), "levels must nest"),
        (lambda: Hierarchy.tree({"a": ["*"], "b": ["+"]}), "reach one top"),
        (lambda: Hierarchy.tree({"a": ["b", "*"], "b": ["a", "*"]}), "no cycle"),
        (lambda: Hierarchy.tree({"a": ["x", "y", "*"], "x": ["z", "y", "*"]}), "one place"),
        (lambda: Hierarchy.tree({"a": []}), "at least one level"),
        (lambda: Hierarchy.tree({1: ["*"], "1": ["*"]}), "differ as text"),
        (lambda: Hierarchy.tree({"a": "top"}), "must be a list"),
        (lambda: Hierarchy.tree(ILL, names=["a", "b"]), "as many different names"),
        (lambda: Hierarchy.tree(ILL).path("flux"), "got 'flux'; did you mean 'flu'"),
    ],
)
def test_refusals_say_rule_value_and_remedy(make: Any, says: str) -> None:
    with pytest.raises(InvalidRequest, match=says):
        make()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a;b\nc", "hierarchy|level"),
        ("a;*\na;*", "row 2: a value must have one row"),
        ("a;x;*\nb;x;+", "levels must nest"),
        ("", "must map"),
    ],
)
def test_csv_refusals(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "h.csv"
    file.write_text(text)
    with pytest.raises(UnsupportedFormat, match=says):
        Hierarchy.from_csv(file)


@pytest.mark.parametrize("text", ["[age]\nkind = 'ring'", "[age]\nkind = 'prefixes'\nsize = 3", "[age", "age = 3\n"])
def test_toml_refusals(text: str) -> None:
    with pytest.raises(UnsupportedFormat, match=r"hierarch"):
        Hierarchy.from_toml(text)


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedFormat, match="cannot be read"):
        Hierarchy.from_csv(tmp_path / "none.csv")
    with pytest.raises(UnsupportedFormat, match="cannot be read"):
        Hierarchy.from_toml(tmp_path / "none.toml")
