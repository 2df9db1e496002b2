"""``serve.toml``: read, or refused with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet.errors import DiscreetError
from discreet.service.config import read

GOOD = """
[service]
url = "https://ask.clinic.example"
listen = "127.0.0.1:8443"
boxes = "boxes"
[limits]
asks = 5
[population.clinic]
ledger = "ledger/clinic.db"
budget = {epsilon = 3, delta = 1e-6}
approve_above = {epsilon = 0.5}
[table.patients]
population = "clinic"
files = "patients.parquet"
schema = {columns = {age = {type = "integer", bounds = [0, 100]}}}
version = "2026-11"
most_rows = 400000
"""
TWO = (
    GOOD
    + """
[population.other]
ledger = "ledger/other.db"
budget = {epsilon = 1}
[table.again]
population = "other"
files = "patients.parquet"
schema = {columns = {age = {type = "integer", bounds = [0, 100]}}}
version = "1"
most_rows = 10
"""
)


def write(folder: Path, text: str) -> Path:
    (folder / "serve.toml").write_text(text)
    return folder / "serve.toml"


def test_a_good_file(tmp_path: Path) -> None:
    found = read(write(tmp_path, GOOD))
    assert (found.host, found.port, found.slot, found.limits.asks) == ("127.0.0.1", 8443, 0.25, 5)
    assert found.front_boxes == found.desk_boxes == str(tmp_path / "boxes")
    assert found.tables["patients"].files == str(tmp_path / "patients.parquet")
    assert read(write(tmp_path, TWO + 'distinct_people = "staff, not patients"\n')).tables["again"].distinct_people


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('url = "https://', 'url = "http://', "https"),
        ('listen = "127.0.0.1:8443"', 'listen = "8443"', "line 4"),
        ('version = "2026-11"\n', "", "version"),
        ('population = "clinic"', 'population = "x"', "population"),
        ("asks = 5", "asks = 0", "asks"),
        ("asks = 5", "cats = 5", "cats"),
        ("[service]", "[services]", "did you mean"),
        ("budget = {epsilon = 3, delta = 1e-6}", "budget = {epsilon = 0}", "epsilon"),
        (GOOD, TWO, "two budgets"),
    ],
)
def test_others_are_refused(tmp_path: Path, old: str, new: str, said: str) -> None:
    with pytest.raises(DiscreetError, match=said):
        read(write(tmp_path, GOOD.replace(old, new)))
