"""What measures the shape of the source sees what was put there to be seen."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench import house

CODE = """
from typing import Any

class Same:
    def one(self, value: {kind}) -> int:
        from discreet import errors

        a = 1
        b = 2
        c = 3
        d = 4
        e = 5
        f = 6
        return a + b + c + d + e + f
"""


def test_what_is_there_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(house, "SOURCE", tmp_path)
    (tmp_path / "room").mkdir()
    (tmp_path / "idea.py").write_text(CODE.format(kind="Any"))
    (tmp_path / "room" / "idea.py").write_text(CODE.format(kind="int"))
    found = house.trees()
    assert house.repeated(found) == [("idea.py:8", "room/idea.py:8", 7)]
    assert house.lazy_imports(found) == 2
    assert house.names_twice(found) == [["idea"], ["Same"]]
    assert house.share_of_any(found) == 0.5
    assert house.lines() == 2 * len(CODE.splitlines())


def test_one_thing_under_one_name_is_left_aside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(house, "SOURCE", tmp_path)
    for room in ("low", "high", "cli"):
        (tmp_path / room).mkdir()
        (tmp_path / room / "__init__.py").write_text(f"from discreet.{room}.own_{room} import Law")
        (tmp_path / room / f"own_{room}.py").write_text("class Law: ...")
        (tmp_path / room / "idea.py").write_text("class Same: ...")
    assert house.names_twice(house.trees()) == [["idea"], ["Same"]]
    (tmp_path / "high" / "idea.py").write_text("from discreet.low import idea\nclass Other: ...")
    assert house.names_twice(house.trees()) == [[], ["Same"]]  # of cli and of low
    (tmp_path / "cli" / "__init__.py").write_text("")
    assert house.names_twice(house.trees()) == [[], ["Law", "Same"]]


def test_a_repeated_parameter_list_is_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(house, "SOURCE", tmp_path)
    names = "".join(f"    {name}: int,\n" for name in "abcdefg")
    (tmp_path / "many.py").write_text(
        f"def one(\n{names}) -> int:\n    return a\n\n\ndef two(\n{names}) -> int:\n    return b\n"
    )
    found = house.trees()
    (row,) = house.repeated(found)
    assert house.of_parameters(found, row)
    (tmp_path / "many.py").write_text(CODE.format(kind="int"))
    assert not house.of_parameters(house.trees(), ("many.py:8", "many.py:8", 7))


def test_files_are_entered_by_what_runs_in_them() -> None:
    import discreet as ds

    count = ds.count([True] * 5, epsilon=1.0)
    assert 0 < house.entered(lambda: count.interval(0.9)) < 40
    assert house.entered(lambda: None) == 0
