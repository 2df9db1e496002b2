"""SQL: whatever is written, it is translated or refused in one line, and the nearest question of a refusal can be asked.

A run is one statement: by the grammar of SQL from sensible and senseless parts, or such a one with letters exchanged.
"""

from __future__ import annotations

import random
from typing import Any

import discreet as ds
from discreet.errors import DiscreetError
from discreet.sql import translate
from study.harness import Row

SETTINGS: list[dict[str, Any]] = [{"text": word} for word in ("by grammar", "exchanged")]
RUNS = 55_000
PART = 500
NEAREST = "the nearest question is: "
SCHEMA = ds.Schema(
    {
        "age": ds.Integer(0, 110),
        "income": ds.Real(0, 500_000),
        "bmi": ds.Real(10, 60),
        "sex": ds.Categories(["f", "m"]),
        "educ": ds.Categories(["school", "college", "phd"]),
        "married": ds.Boolean(),
        "seen": ds.Date("2000-01-01", "2030-01-01"),
        "note": ds.Text(),
    },
    person="id",
    max_rows=3,
)
_WORDS = [
    "age", "bmi", "sex", "educ", "married", "seen", "note", "id", "t.age", '"age"', "nobody", "60", "0.5", "-3", "1e9999",
    "'f'", "'2020-01-01'", "DATE '2020-01-01'", "NULL", "TRUE", "*", "ARRAY[0, 9]", "INTERVAL '1' DAY", "$1", "@x",
]  # fmt: skip
_INNER = [
    "{} = {}", "{} >= {}", "{} < {}", "({} AND {})", "({} OR {})", "NOT {}", "{} IN ({}, {})", "{} IS NULL", "{} IS TRUE",
    "{} BETWEEN {} AND {}", "{} LIKE 'a%_'", "{} + {}", "{} / {}", "CASE WHEN {} THEN {} ELSE {} END", "YEAR({})",
    "CASE {} WHEN {} THEN 1 END", "EXTRACT(MONTH FROM {})", "LOG(10, {})", "ROUND({}, {})", "CAST({} AS DATE)", "{}::int",
    "COALESCE({}, {})", "BINS({}, 0, 9, 50)", "BINS({}, {})", "WIDTH_BUCKET({}, 0, 9, {})", "GREATEST({}, {})",
    "SUBSTR({}, 1)", "(SELECT {})",
]  # fmt: skip
_OUTER = [
    "COUNT(*)", "COUNT({})", "COUNT(DISTINCT {})", "AVG({})", "SUM({})", "STDDEV({})", "VAR_POP({})", "MEDIAN({})",
    "MAX({})", "QUANTILE({}, {})", "PERCENTILE_CONT({}) WITHIN GROUP (ORDER BY {})", "CORR({}, {})", "SUM({}) / COUNT(*)",
    "MODE({})", "COUNTIF({})", "COUNT(*) FILTER (WHERE {})", "AVG(CASE WHEN {} THEN {} END)", "AVG({}) OVER ()", "{}", "{}",
    "{} AS g",
]  # fmt: skip
_ENDS = [
    " ORDER BY {}",
    " HAVING {}",
    " LIMIT 3",
    ";",
    " UNION SELECT 1",
    " -- x",
    " GROUP BY 1",
    " GROUP BY g",
    "\x00",
    ")",
]


def run(setting: dict[str, Any], seed: int, runs: int) -> dict[str, float]:
    """``runs`` statements."""
    found = {"statements": 0, "translated": 0, "traceback": 0, "no nearest": 0}
    for place in range(seed, seed + runs):
        rng = random.Random(place)
        made = _statement(rng) if setting["text"] == "by grammar" else _exchanged(rng, _statement(rng))
        found["statements"] += 1
        try:
            found["translated"] += bool(translate(made, SCHEMA))
        except DiscreetError as problem:
            found["traceback"] += "\n" in str(problem)
            found["no nearest"] += not _can_be_asked(str(problem).partition(NEAREST)[2])
        except Exception:
            found["traceback"] += 1
    return found


def rows(results: list[tuple[dict[str, Any], int, dict[str, float]]]) -> list[Row]:
    """No traceback and no nearest question that is refused too, in at least 10**5 statements; many are translated."""
    bad = ("traceback", "no nearest")
    made = [Row(f"{s['text']}: {word}, of {runs}", t[word], "<=", 0) for s, runs, t in results for word in bad]
    tried, good = (sum(t[word] for *_, t in results) for word in ("statements", "translated"))
    return [*made, Row("statements tried", tried, ">=", 1e5), Row("statements translated", good, ">=", 2e3)]


def _can_be_asked(nearest: str) -> bool:
    try:
        return not nearest or bool(translate(nearest, SCHEMA))
    except DiscreetError:
        return False


def _made(rng: random.Random, depth: int) -> str:
    """An expression, sensible or not."""
    if depth == 0 or rng.random() < 0.4:
        return rng.choice(_WORDS)
    form = rng.choice(_INNER)
    return form.format(*(_made(rng, depth - 1) for _ in range(form.count("{}"))))


def _statement(rng: random.Random) -> str:
    depth = rng.randint(0, 3)
    known = ["sex", "educ", "married", "age >= 65", _made(rng, depth)]
    groups = rng.sample(known, k=rng.choice([0, 0, 1, 1, 2]))
    forms = rng.choices(_OUTER, k=rng.choice([1, 1, 1, 2]))
    items = [form.format(*(_made(rng, rng.choice([0, 0, depth])) for _ in range(form.count("{}")))) for form in forms]
    made = f"SELECT {', '.join([*groups, *items])} FROM t"
    made += f" WHERE {_made(rng, depth)}" if rng.random() < 0.4 else ""
    made += f" GROUP BY {', '.join(groups)}" if groups else ""
    return made + (rng.choice(_ENDS).format(_made(rng, 1)) if rng.random() < 0.15 else "")


def _exchanged(rng: random.Random, made: str) -> str:
    for _ in range(rng.randint(1, 3)):
        start = rng.randrange(len(made) + 1)
        piece = rng.choice([*_WORDS, *_OUTER, *_INNER, "", " ", "'", "(", "`", "\ud800", "/*", "é"])
        made = made[:start] + piece + made[start + rng.choice([0, 1, 6]) :]
    return made
