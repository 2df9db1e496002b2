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
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import discreet as ds
from discreet.sources.cell_meaning import objects
from discreet.sources.ids import identity
from study import odd_cells, odd_requests
from study.harness import Row
from study.reading import listening

SETTINGS: list[dict[str, Any]] = [
    {"neighbors": relation} | more
    for more in ({}, {"asked": "expressions and people"}, {"asked": "models and joins"})
    for relation in ("add_remove", "replace", "both")
]
RUNS = 700
PART = 50
COMMAND_EVERY = 20
_BOUNDS = [(0, 1), (-5, 5), (-1e100, 1e100), (0, 1e-100), (1e16, 1e16 + 2), (-1e-90, 1e90)]
_REQUESTS = {
    "statistics": odd_requests.of_statistics,
    "expressions and people": odd_requests.of_people,
    "models and joins": odd_requests.of_models,
}
Table = list[dict[str, Any]]


def run(setting: dict[str, Any], seed: int, runs: int) -> dict[str, float]:
    """``runs`` pairs of tables."""
    found = {"pairs": 0, "differ": 0, "refused": 0, "commands": 0}
    for place in range(seed, seed + runs):
        rng = random.Random(place)
        asked = setting.get("asked", "statistics")
        schema = _schema(rng, setting["neighbors"], asked)
        one = _rows(rng, rng.randrange(13))
        other = _neighbour(rng, one, schema)
        requests = [_REQUESTS[asked](rng) for _ in range(rng.randint(1, 3))]
        form = rng.choice(["objects", "lists", "pandas"] if asked != "models and joins" else ["objects", "csv", "joined"])
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


def _schema(rng: random.Random, relation: Any, asked: str) -> ds.Schema:
    columns: dict[str, Any] = {}
    derived = asked != "statistics"
    for name in ("x", "y"):
        lo, hi = rng.choice(_BOUNDS)
        columns[name] = ds.Real(lo, hi, missing=rng.choice([None, lo]))
    columns["g"] = ds.Categories(["a", 7], other=rng.choice([None, "rest"]), missing=rng.choice([None, "a"]))
    expected = rng.choice([None, 1, 10, 10**6]) if derived else None
    if derived:
        columns["z"] = ds.Real(-9, 9, formula=rng.choice(odd_requests.FORMULAS))
        columns["b"] = ds.Boolean(formula=rng.choice(odd_requests.CONDITIONS))
    if asked == "models and joins":
        columns["y"] = ds.Real(0, rng.choice([1, 1e-50, 1e50]), missing=columns["y"].missing and 0)
        columns["g"] = ds.Categories(["a", 7, "b"], other=rng.choice([None, "rest"]), missing=rng.choice([None, "a"]))
        columns["w"] = ds.Real(0, rng.choice([1, 1e-3, 1e6]), formula=rng.choice(["y", "x / y", "abs(x)"]))
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


def _answers(table: Table, schema: ds.Schema, requests: list[Any], form: str) -> tuple[Any, ...]:
    """All that can be seen of the requests besides released values."""
    with tempfile.TemporaryDirectory() as folder, listening() as heard, warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        made, schema = _opened(table, schema, form, Path(folder))
        # Fits and tests are asked for with a delta, too.
        budget = ds.Budget(epsilon=5000, delta=0.9) if "w" in schema.columns else ds.Budget(epsilon=2000)
        session = ds.Session(made, schema, budget, f"sqlite:///{folder}/ledger.db", version="one", who="she")
        answers = [_answer(session, *request) for request in requests]
        stored = _stored(Path(folder) / "ledger.db")
        return answers, [str(w.message) for w in warned], heard(), stored


def _opened(table: Table, schema: ds.Schema, form: str, folder: Path) -> tuple[Any, ds.Schema]:
    """The table in a form; joined of two tables of the same people where there are people."""
    columns: Any = {name: [row[name] for row in table] for name in ("id", "x", "y", "g")}
    if form == "csv":
        (folder / "t.csv").write_bytes(_lines(table))
        return str(folder / "t.csv"), schema
    if form != "lists":
        columns = {name: objects(cells) for name, cells in columns.items()}
    if form == "pandas":
        import pandas as pd

        columns = pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in columns.items()})
    if form != "joined" or schema.person is None:
        return columns, schema
    derived = {name: column for name, column in schema.columns.items() if column.formula is not None}
    first = replace(schema, columns={name: schema.columns[name] for name in ("x", "g")})
    other = replace(schema, columns={"y": schema.columns["y"]})
    chapters = ds.Lookup({"g": ["a", "7"], "v": [0.25, None]}, "g", {"v": ds.Real(0, 1)})
    joined = ds.join(columns, first, ds.People(columns, other), chapters, columns=derived)
    return joined, joined.schema


def _answer(session: ds.Session, word: str, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    try:
        if word == "fit":
            name, parameters, features, target = args
            fitted = session.fit(getattr(ds.models, name)(**parameters), features, target or None, **options)
            made = {key: np.shape(value) for key, value in vars(fitted).items() if isinstance(value, np.ndarray)}
            return made, re.sub(r"account \d+", "", str(fitted.privacy_))
        result = getattr(session, word)(*args, **options)
        if word == "synthesize":
            return [np.shape(each) for each in result.tables]
        every = result if isinstance(result, list) else [result]
        for each in every:
            str(each.caution)  # which depends on what was released, but raises and warns nothing
        return [(np.shape(each.value), [np.shape(release.value) for release in each.releases]) for each in every]
    except Exception as problem:
        return "refused", type(problem).__name__, str(problem)


def _stored(path: Path) -> list[Any]:
    """Every cell of every table of a ledger, without values, times and digests."""
    with sqlite3.connect(path) as ledger:
        names = [name for (name,) in ledger.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
        found = [(name, [_row(row) for row in ledger.execute(f"SELECT * FROM {name}")]) for name in names]
    ledger.close()
    return found


def _row(row: Any) -> Any:
    """A row of a ledger; of what was asked at coefficients that were released before, which scale its noise, the shape."""
    masked = [_masked(cell) for cell in row]
    return ["at released coefficients", *map(_shape, masked)] if any(map(_at_released, masked)) else masked


def _at_released(document: Any) -> bool:
    if isinstance(document, dict):
        return "theta" in document or any(map(_at_released, document.values()))
    return isinstance(document, list) and any(map(_at_released, document))


def _shape(document: Any) -> Any:
    return np.shape(document["value"]) if isinstance(document, dict) and "value" in document else None


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
        (folder / "t.csv").write_bytes(_lines(table))
        (folder / "t.schema.toml").write_text(schema.to_toml())
        (folder / "r.toml").write_text(
            'title = "t"\ntable = "t.csv"\nschema = "t.schema.toml"\nledger = "sqlite:///ledger.db"\n[budget]\nepsilon = 9\n'
            '[[ask]]\nstatistic = "count"\nepsilon = 1\n[[ask]]\nstatistic = "mean"\ncolumns = "x"\nby = "g"\nepsilon = 1\n'
        )
        with listening() as heard, contextlib.redirect_stdout(io.StringIO()):  # what it answers is released
            code = main(["release", str(folder / "r.toml"), "--json"])
            said = heard().replace(name.encode(), b"")
        return code, said, sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def _lines(table: Table) -> bytes:
    lines = [b"id,x,y,g", *(b",".join(_cell(row[word]) for word in ("id", "x", "y", "g")) for row in table)]
    return b"\n".join(lines) + b"\n"


def _cell(cell: Any) -> bytes:
    made = identity(cell) or b""
    return b'"' + made.replace(b'"', b'""') + b'"'
