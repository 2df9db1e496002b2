"""A hospital's table as it is handed over, asked again and again: intervals hold the truth as often as they say.

A run asks the questions of the table in ``tests/cli/messy.py`` (semicolons, decimal commas, Latin-1, dates in two formats,
misspelt labels, several visits of a patient) through a session on the file, and counts which of the 95 % intervals hold
what is true of the table. The table is made once for a part of the runs.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from tests.cli import messy

import discreet as ds
from study.harness import Row

SETTINGS: list[dict[str, Any]] = [{"visits": 3000, "patients": 900, "epsilon": epsilon} for epsilon in ("0.2", "1")]
RUNS = 12_000
PART = 300
_LEVEL = 0.95
_ASKED: dict[str, Any] = {
    "Patienten": ("count_people", (), {}),
    "Patienten mit Notfall ab 60": ("count_people", (), {"where": "Notfall and Alter >= 60"}),
    "Besuche je Patient": ("people_mean", (), {"each": "count", "clip": [0, 10]}),
    "Mittlerer BMI": ("mean", ("bmi",), {}),
    "Herz: Besuche seit 2020": (
        "count",
        (),
        {"where": "startswith(Diagnose, 'I') and Aufnahme >= '2020-01-01'"},
    ),
}


def run(setting: dict[str, Any], seed: int, runs: int) -> dict[str, float]:
    """How often each interval holds the truth; nobody has more than the ten visits that count."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        truth = messy.make(folder, setting["visits"], setting["patients"])
        schema = ds.Schema.from_toml(folder / "besuche.schema.toml")
        wider = ds.Schema(schema.columns, "Patient", truth["most"], "add_remove", dialect=schema.dialect)
        found = dict.fromkeys(_ASKED, 0.0)
        for place in range(runs):
            session = ds.Session(folder / "besuche.csv", wider, ledger="test", seed=seed + place, version="one")
            for title, (statistic, args, options) in _ASKED.items():
                low, high = session.ask(statistic, *args, epsilon=setting["epsilon"], **options).interval(_LEVEL)
                found[title] += bool(low - 1e-4 <= truth[title] <= high + 1e-4)
        return found


def rows(results: list[tuple[dict[str, Any], int, dict[str, float]]]) -> list[Row]:
    """At least 95 % less four deviations of so many runs; whole counts cover more, for their intervals have whole ends."""
    return [
        Row(f"epsilon {s['epsilon']}, {title}: covered", hits / n, ">=", _LEVEL - 4 * (_LEVEL * (1 - _LEVEL) / n) ** 0.5)
        for s, n, found in results
        for title, hits in found.items()
    ]
