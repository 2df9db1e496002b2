"""A hospital's table as it is handed over: semicolons, decimal commas, Latin-1, two ways to write dates, misspelt labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

SCHEMA = """
person = "Patient"
max_rows = 10
expected_rows = {rows}
delimiter = ";"
decimal = ","
thousands = "."
encoding = "latin-1"
missing = ["k.A.", "-99"]

[columns.Gewicht]
type = "real"
bounds = [30, 200]

["columns"."Größe"]
type = "real"
bounds = [120, 220]

[columns.Alter]
type = "integer"
bounds = [0, 110]

[columns.Station]
type = "category"
values = ["Chirurgie", "Innere", "Pädiatrie"]
other = "sonstige"
fold = true
aliases = {{ Chirurgie = ["Chir.", "Chirurgi"], "Pädiatrie" = ["Paediatrie", "Päd"] }}

[columns.Aufnahme]
type = "date"
bounds = ["2015-01-01", "2024-12-31"]
formats = ["%d.%m.%Y", "%Y-%m-%d"]

[columns.Notfall]
type = "boolean"
true = ["ja"]
false = ["nein"]

[columns.Diagnose]
type = "text"

[columns.bmi]
type = "real"
formula = "Gewicht / (Größe / 100) ** 2"
bounds = [10, 60]
"""
RELEASE = """
title = "Besuche"
table = "besuche.csv"
version = "1"
schema = "besuche.schema.toml"
ledger = "sqlite:///besuche.db"
name = "besuche"
language = "{language}"

[budget]
epsilon = 1000

[[ask]]
title = "Patienten"
statistic = "count_people"
epsilon = 0.5

[[ask]]
title = "Patienten mit Notfall ab 60"
statistic = "count_people"
where = "Notfall and Alter >= 60"
epsilon = 0.5

[[ask]]
title = "Besuche je Patient"
statistic = "people_mean"
options = {{ each = "count", clip = [0, 10] }}
epsilon = 0.5

[[ask]]
title = "Mittlerer BMI"
statistic = "mean"
columns = "bmi"
epsilon = 1

[[ask]]
title = "Besuche nach Station"
statistic = "count"
by = "Station"
epsilon = 0.5

[[ask]]
title = "Alter nach Gruppen"
statistic = "histogram"
columns = "Alter"
options = {{ bins = [0, 5, 18, 40, 65, 110] }}
epsilon = 0.5

[[ask]]
title = "Herz: Besuche seit 2020"
statistic = "count"
where = "startswith(Diagnose, 'I') and Aufnahme >= '2020-01-01'"
epsilon = 0.5

[[ask]]
title = "Medianes Gewicht"
statistic = "median"
columns = "Gewicht"
epsilon = 1

[[ask]]
title = "Die zwei häufigsten Stationen"
statistic = "top"
columns = "Station"
options = {{ k = 2 }}
epsilon = 0.5
"""
WORDS = {
    "Chirurgie": ["Chirurgie", "CHIRURGIE", "Chir.", " chirurgi"],
    "Innere": ["Innere", "innere ", "INNERE"],
    "Pädiatrie": ["Pädiatrie", "PÄDIATRIE", "Paediatrie", "päd"],
    "sonstige": ["Urologie", "HNO"],
}


def make(folder: Path, rows: int = 50_000, people: int = 15_000, language: str = "de") -> dict[str, Any]:
    """Write table, schema and release file; what is true of them."""
    rng = np.random.default_rng(23)
    who = np.concatenate([np.arange(people), rng.integers(0, people, rows - people)])
    weight, height = rng.normal(78, 14, rows).round(1), rng.normal(172, 9, rows).round(0)
    age = rng.integers(0, 100, rows)
    ward = rng.choice(list(WORDS), rows, p=[0.4, 0.35, 0.15, 0.1])
    day = rng.integers(0, 3600, rows)
    urgent, heart = rng.random(rows) < 0.3, rng.random(rows) < 0.2
    gone = rng.random(rows) < 0.03
    dates = np.datetime64("2015-01-01") + day.astype("timedelta64[D]")
    lines = ["Patient;Gewicht;Größe;Alter;Station;Aufnahme;Notfall;Diagnose"]
    for i in range(rows):
        year, month, date = str(dates[i]).split("-")
        lines.append(
            ";".join(
                (
                    f"P{who[i]}",
                    rng.choice(["k.A.", "-99", ""]) if gone[i] else f"{weight[i]:.1f}".replace(".", ","),
                    f"{height[i]:.0f},0",
                    str(age[i]),
                    WORDS[ward[i]][i % len(WORDS[ward[i]])],
                    f"{date}.{month}.{year}" if i % 3 else f"{year}-{month}-{date}",
                    ("ja", "JA ")[i % 2] if urgent[i] else ("nein", "0")[i % 2],
                    "I21.4" if heart[i] else "E11.9",
                )
            )
        )
    (folder / "besuche.csv").write_bytes("\r\n".join([*lines, ""]).encode("latin-1"))
    (folder / "besuche.schema.toml").write_text(SCHEMA.format(rows=rows), encoding="utf-8")
    (folder / "besuche.toml").write_text(RELEASE.format(language=language), encoding="utf-8")
    bmi = np.clip(np.clip(weight, 30, 200) / (np.clip(height, 120, 220) / 100) ** 2, 10, 60)
    visits = np.bincount(who, minlength=people)
    fits = heart & (dates >= np.datetime64("2020-01-01"))
    return {
        "Patienten": people,
        "Patienten mit Notfall ab 60": len(set(who[urgent & (age >= 60)].tolist())),
        "Besuche je Patient": np.minimum(visits, 10).mean(),
        "Mittlerer BMI": bmi[~gone].mean(),
        "Besuche nach Station": [int((ward == name).sum()) for name in WORDS],
        "Herz: Besuche seit 2020": int(fits.sum()),
        "most": int(visits.max()),
    }
