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


def test_files_are_entered_by_what_runs_in_them() -> None:
    import discreet as ds

    count = ds.count([True] * 5, epsilon=1.0)
    assert 0 < house.entered(lambda: count.interval(0.9)) < 40
    assert house.entered(lambda: None) == 0
