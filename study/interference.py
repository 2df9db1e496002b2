"""Non-interference: neighbouring tables, the same requests, extremes among them; nothing but released values may differ.

A run is a pair of neighbouring tables of odd cells and a few requests to a session of each. What is compared: whether each
request was refused and in which words, the shapes of answers and releases, Python's warnings, what was written to standard
output and standard error, and all that the ledger stores besides released values, times and digests. One run in twenty is
made by the command as well, whose exit codes and standard error are compared.
"""

from __future__ import annotations

import contextlib
import io
import json
import random
import re
import sqlite3
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import discreet as ds
from discreet.sources.cells import objects
from discreet.sources.ids import identity
from study import odd_cells
from study.harness import Row
from study.reading import listening

SETTINGS: list[dict[str, Any]] = [
    {"neighbors": relation} | more
    for more in ({}, {"asked": "expressions and people"})
    for relation in ("add_remove", "replace", "both")
]
RUNS = 700
PART = 50
COMMAND_EVERY = 20
_BOUNDS = [(0, 1), (-5, 5), (-1e100, 1e100), (0, 1e-100), (1e16, 1e16 + 2), (-1e-90, 1e90)]
_BINS = [
    1,
    3,
    1000,
    0,
    -1,
    [0.0, 5e-324],
    [0, 1e-99],
    [-1e100, 1e100],
    [1e16, 1e16 + 2],
    [0, 1, 1],
    [1e308, 1.1e308],
    [-1, 0, 3],
]
_EPSILONS = [1e-9, "1e-30", 0.1, 0.1, 1, 1, 1, 1, 3, 3, 1000, 1e9, 5e-324, 0, "1e300"]
Table = list[dict[str, Any]]


def run(setting: dict[str, Any], seed: int, runs: int) -> dict[str, float]:
    """``runs`` pairs of tables."""
    found = {"pairs": 0, "differ": 0, "refused": 0, "commands": 0}
    for place in range(seed, seed + runs):
        rng = random.Random(place)
        asked = "asked" in setting
        schema = _schema(rng, setting["neighbors"], asked)
        one = _rows(rng, rng.randrange(13))
        other = _neighbour(rng, one, schema)
        requests = [(_request_of_people if asked else _request)(rng) for _ in range(rng.randint(1, 3))]
        form = rng.choice(["objects", "lists", "pandas"])
        seen = [_answers(table, schema, requests, form) for table in (one, other)]
        found["pairs"] += 1
        found["differ"] += seen[0] != seen[1]
        found["refused"] += any("refused" in str(answer) for answer in seen[0][0])
        if place % COMMAND_EVERY == 0:
            done = [_commanded(table, schema) for table in (one, other)]
            found["commands"] += 1
            found["differ"] += done[0] != done[1]
    return found


def rows(results: list[tuple[dict[str, Any], int, dict[str, float]]]) -> list[Row]:
    """No pair can be told apart, of at least 2,000; and at least half of the runs are answered, not refused."""
    pairs, refused = (sum(t[word] for *_, t in results) for word in ("pairs", "refused"))
    return [
        *(Row(f"{' '.join(s.values())}: told apart, of {t['pairs']:.0f}", t["differ"], "<=", 0) for s, _, t in results),
        Row("pairs tried", pairs, ">=", 2000),
        Row("share of runs with a refusal", refused / max(1, pairs), "<=", 0.8),
    ]


def _schema(rng: random.Random, relation: Any, derived: bool) -> ds.Schema:
    columns: dict[str, Any] = {}
    for name in ("x", "y"):
        lo, hi = rng.choice(_BOUNDS)
        columns[name] = ds.Real(lo, hi, missing=rng.choice([None, lo]))
    columns["g"] = ds.Categories(["a", 7], other=rng.choice([None, "rest"]), missing=rng.choice([None, "a"]))
    expected = rng.choice([None, 1, 10, 10**6]) if derived else None
    if derived:
        columns["z"] = ds.Real(-9, 9, formula=rng.choice(_FORMULAS))
        columns["b"] = ds.Boolean(formula=rng.choice(_CONDITIONS))
    if rng.random() < 0.5:
        return ds.Schema(columns, neighbors=relation, expected_rows=expected)
    return ds.Schema(columns, person="id", max_rows=rng.randint(1, 3), neighbors=relation, expected_rows=expected)


def _rows(rng: random.Random, size: int) -> Table:
    plain = {"id": ["ann", 7, "7", b"\xff"], "x": [0.5, 1, "2"], "y": [0.5, -1, None], "g": ["a", 7, "b"]}
    return [
        {name: rng.choice(usual) if rng.random() < 0.6 else odd_cells.anything(rng) for name, usual in plain.items()}
        for _ in range(size)
    ]


def _neighbour(rng: random.Random, table: Table, schema: ds.Schema) -> Table:
    """The table with one person's rows left out, added or exchanged."""
    exchange = schema.neighbors == "replace" or (schema.neighbors == "both" and rng.random() < 0.5)
    if not table:
        return [] if exchange else _rows(rng, 1)
    chosen = rng.randrange(len(table))
    if schema.person is None:
        return [*table[:chosen], *(_rows(rng, 1) if exchange else []), *table[chosen + 1 :]]
    cell = table[chosen]["id"]
    who = identity(cell)
    rest = [row for place, row in enumerate(table) if place != chosen and (who is None or identity(row["id"]) != who)]
    return [*rest, *({**row, "id": cell} for row in _rows(rng, rng.randint(1, 3)))] if exchange else rest


_FORMULAS = ["x / y", "log(x) ** 3 % y", "y if x > 0 else -x", "coalesce(y, x, 0) // x", "exp(x) - exp(y) * 2"]
_CONDITIONS = ["x / y >= 0.5", "g == 'a' and not x < y", "missing(x) or y in [0, 1]", "between(x ** 2, 0, 1)"]
_EACH = [{"each": "count"}, {"each": "sum", "clip": [-1, 3]}, {"each": "mean"}, {"each": "mean", "clip": [1, 0]}]


def _request_of_people(rng: random.Random) -> tuple[str, tuple[Any, ...], dict[str, Any]]:
    """A question about people, derived columns, or with a condition."""
    spend: dict[str, Any] = {"epsilon": rng.choice(_EPSILONS)} if rng.random() < 0.8 else {"rho": rng.choice([1e-12, 1])}
    if rng.random() < 0.5:
        spend["where"] = rng.choice(_CONDITIONS)
    groups = {"by": rng.choice(["g", "b", "bins(x, [-1, 0, 3])", ["g", "y > x"]])} if rng.random() < 0.4 else {}
    match word := rng.choice(["count_people", "people_sum", "people_mean", "count_distinct", "top", "mean", "median"]):
        case "count_people":
            return word, (), spend | groups
        case "people_sum" | "people_mean":
            return word, (rng.choice(["x", "z"]),), spend | groups | rng.choice(_EACH)
        case "count_distinct":
            return word, (rng.choice(["g", "b", "x"]),), spend
        case "top":
            return word, (rng.choice(["g", "b", "bins(z, [-9, 0, 1, 9])"]),), {**spend, "k": rng.choice([1, 2, 9])}
    return word, ("z",), spend | (groups if word == "mean" else {})


def _request(rng: random.Random) -> tuple[str, tuple[Any, ...], dict[str, Any]]:
    spend: dict[str, Any] = {"epsilon": rng.choice(_EPSILONS)}
    if rng.random() < 0.3:
        spend = rng.choice(
            [
                {"epsilon": rng.choice(_EPSILONS), "delta": rng.choice([1e-300, 1e-6, 0.5])},
                {"rho": rng.choice([1e-12, 1, 1e6])},
            ]
        )
    if rng.random() < 0.3:
        spend["where"] = {"g": rng.choice(["a", 7])}
    if rng.random() < 0.3:
        spend["by"] = "g"
    word = rng.choice(
        ["count", "sum", "mean", "variance", "std", "covariance", "correlation", "histogram", "histogram", "crosstab",
         "median", "quantile", "pooled_variance", "fit"]
    )  # fmt: skip
    if word in ("median", "quantile", "crosstab"):
        spend.pop("by", None)
    match word:
        case "count":
            return word, (), spend
        case "covariance" | "correlation":
            return word, ("x", "y"), spend
        case "crosstab":
            return word, ("g",), spend
        case "histogram":
            return word, ("x",), {**spend, "bins": rng.choice(_BINS), "normalize": rng.random() < 0.3}
        case "quantile":
            return word, ("x", rng.choice([0, 1, "1/3", 1e-9, "0.5"])), spend
        case "pooled_variance":
            return word, ("x",), {**spend, "by": "g"}
        case "fit":
            return word, (rng.choice(["LogisticRegression", "LinearRegression"]), rng.choice([0.5, 1, 100])), {}
    return word, ("x",), spend


def _answers(table: Table, schema: ds.Schema, requests: list[Any], form: str) -> tuple[Any, ...]:
    """All that can be seen of the requests besides released values."""
    columns: Any = {name: [row[name] for row in table] for name in ("id", "x", "y", "g")}
    if form != "lists":
        columns = {name: objects(cells) for name, cells in columns.items()}
    if form == "pandas":
        import pandas as pd

        columns = pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in columns.items()})
    with tempfile.TemporaryDirectory() as folder, listening() as heard, warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        session = ds.Session(
            columns, schema, ds.Budget(epsilon=2000), f"sqlite:///{folder}/ledger.db", version="one", who="she"
        )
        answers = [_answer(session, *request) for request in requests]
        stored = _stored(Path(folder) / "ledger.db")
        return answers, [str(w.message) for w in warned], heard(), stored


def _answer(session: ds.Session, word: str, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    try:
        if word == "fit":
            model = getattr(ds.models, args[0])(epsilon=args[1])
            fitted = session.fit(model, *((["x", "y"], "g") if args[0] == "LogisticRegression" else (["y"], "x")))
            return np.shape(fitted.coef_), np.shape(fitted.intercept_)
        result = getattr(session, word)(*args, **options)
        str(result.caution)  # which depends on what was released, but raises and warns nothing
        return np.shape(result.value), [np.shape(release.value) for release in result.releases]
    except Exception as problem:
        return "refused", type(problem).__name__, str(problem)


def _stored(path: Path) -> list[Any]:
    """Every cell of every table of a ledger, without values, times and digests."""
    with sqlite3.connect(path) as ledger:
        names = [name for (name,) in ledger.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
        found = [
            (name, [[_masked(cell) for cell in row] for row in ledger.execute(f"SELECT * FROM {name}")]) for name in names
        ]
    ledger.close()
    return found


def _masked(cell: Any) -> Any:
    if isinstance(cell, str) and cell[:1] in "{[":
        with contextlib.suppress(json.JSONDecodeError):  # the label of a bin is no document
            return _bare(json.loads(cell))
    if isinstance(cell, str) and re.fullmatch(r"[0-9a-f-]{32,}|\d{4}-\d\d-\d\dT.*", cell):
        return "masked"
    return cell


def _bare(document: Any, value: bool = False) -> Any:
    """A document without the numbers of a value and without digests; the shape of a value stays."""
    if isinstance(document, dict):
        return {key: _bare(part, value or key == "value") for key, part in document.items()}
    if isinstance(document, list):
        return [_bare(part, value) for part in document]
    return type(document).__name__ if value else _masked(document)


def _commanded(table: Table, schema: ds.Schema) -> tuple[Any, ...]:
    """The exit code and standard error of the command, on the table as a CSV file."""
    from discreet.cli import main

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lines = [b"id,x,y,g", *(b",".join(_cell(row[word]) for word in ("id", "x", "y", "g")) for row in table)]
        (folder / "t.csv").write_bytes(b"\n".join(lines) + b"\n")
        (folder / "t.schema.toml").write_text(schema.to_toml())
        (folder / "r.toml").write_text(
            'title = "t"\ntable = "t.csv"\nschema = "t.schema.toml"\nledger = "sqlite:///ledger.db"\n[budget]\nepsilon = 9\n'
            '[[ask]]\nstatistic = "count"\nepsilon = 1\n[[ask]]\nstatistic = "mean"\ncolumns = "x"\nby = "g"\nepsilon = 1\n'
        )
        with listening() as heard, contextlib.redirect_stdout(io.StringIO()):  # what it answers is released
            code = main(["release", str(folder / "r.toml"), "--json"])
            said = heard().replace(name.encode(), b"")
        return code, said, sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def _cell(cell: Any) -> bytes:
    made = identity(cell) or b""
    return b'"' + made.replace(b'"', b'""') + b'"'
