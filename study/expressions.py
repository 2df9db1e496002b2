"""Expressions: whatever is written, it is read or refused in one line; whatever a row holds, it has a value of its own.

A run is one text: nonsense, a well-formed expression with letters exchanged, or a well-formed one. It must be refused by an
error of this package, or be read into a tree whose canonical text reads into the same tree. One in eight of what is read is
evaluated on a table of odd cells: nothing may raise or warn, and every row must have, to the bit, the value it has alone.
"""

from __future__ import annotations

import random
import warnings
from typing import Any

import numpy as np

import discreet as ds
from discreet.errors import DiscreetError
from discreet.expressions import Node, evaluating, read
from discreet.sources import open_source
from discreet.sources.cell_meaning import objects
from study import odd_cells
from study.harness import Row

SETTINGS: list[dict[str, Any]] = [{"text": word} for word in ("nonsense", "exchanged", "well formed")]
RUNS = 35_000
PART = 500
ROWS = 4
EVALUATE_EVERY = 8
SCHEMA = ds.Schema(
    {
        "x": ds.Real(-5, 5),
        "y": ds.Real(0, 100, missing=7),
        "d": ds.Date("1900-01-01", "2100-01-01", formats=["%Y-%m-%d", "%d.%m.%Y"]),
        "t": ds.Datetime("1900-01-01", "2100-01-01", zone="Europe/Berlin"),
        "g": ds.Categories(["a", 7, True], other="rest"),
        "b": ds.Boolean(true=["ja"]),
        "w": ds.Text(),
        "z": ds.Real(0, 9, formula="x / y"),
    }
)
USUAL: dict[str, list[Any]] = {
    "x": [0.5, 1, "2", -3.25, 1e300, 0],
    "y": [0.0, "1e-300", 3, None],
    "d": ["2020-02-29", "30.02.2020", "1.1.1970"],
    "t": ["2020-07-01 12:30", "2020-07-01T12:30:00Z"],
    "g": ["a", 7, True, "b"],
    "b": ["ja", False, 1],
    "w": ["ab*", "A", ""],
}
_TOKENS = [
    *SCHEMA.columns,
    "and",
    "or",
    "not",
    "in",
    "if",
    "else",
    "(",
    ")",
    "[",
    "]",
    ",",
    "'a'",
    "'",
    '"',
    "<",
    "<=",
    "==",
    "!=",
    "+",
    "-",
    "*",
    "/",
    "//",
    "%",
    "**",
    "1",
    "0",
    "1e308",
    "1e999",
    "2020",
    "0x10",
    "1_0",
    "1j",
    "True",
    "None",
    "bins",
    "missing",
    "coalesce",
    "between",
    "matches",
    "year",
    "hour",
    "date",
    "abs",
    "sqrt",
    "log",
    "exp",
    "lambda",
    ":",
    ":=",
    "for",
    "await",
    "yield",
    "...",
    ".",
    "@",
    "\\",
    "\n",
    "#",
    "f'{x}'",
    "b'x'",
    "__import__",
    "\x00",
    "é",
    "\u2028",
    "column",
    "min",
    "is",
    "{",
    "}",
    "~",
    "^",
    "&",
    ";",
    "=",
    "->",
    "print",
]


def run(setting: dict[str, Any], seed: int, runs: int) -> dict[str, float]:
    """``runs`` texts."""
    found = {"texts": 0, "read": 0, "traceback": 0, "other form": 0, "raised": 0, "moved": 0}
    for place in range(seed, seed + runs):
        rng = random.Random(place)
        text = {"nonsense": _nonsense, "exchanged": _exchanged, "well formed": _well_formed}[setting["text"]](rng)
        found["texts"] += 1
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                node = read(text, SCHEMA.derivation.known)
            except DiscreetError as problem:
                found["traceback"] += "\n" in str(problem)
                continue
            except Exception:
                found["traceback"] += 1
                continue
            found["read"] += 1
            found["other form"] += _again(node) != node
            if node.kind in ("text", "word") or place % EVALUATE_EVERY:
                continue
            try:
                found["moved"] += not _stays(node, rng)
            except Exception:
                found["raised"] += 1
    return found


def rows(results: list[tuple[dict[str, Any], int, dict[str, float]]]) -> list[Row]:
    """No traceback, one canonical form, nothing raised and no row moved, in at least 10**5 texts; many are read."""
    bad = ("traceback", "other form", "raised", "moved")
    made = [Row(f"{s['text']}: {word}, of {runs}", t[word], "<=", 0) for s, runs, t in results for word in bad]
    return [
        *made,
        Row("texts tried", sum(t["texts"] for *_, t in results), ">=", 1e5),
        Row(
            "well-formed texts that are read", sum(t["read"] for s, _, t in results if s["text"] == "well formed"), ">=", 3e4
        ),
    ]


def _again(node: Node) -> Node | None:
    try:
        return read(str(node), SCHEMA.derivation.known)
    except Exception:
        return None


def _stays(node: Node, rng: random.Random) -> bool:
    """Whether every row has the value that it has alone."""
    table = [
        {name: rng.choice(usual) if rng.random() < 0.7 else odd_cells.anything(rng) for name, usual in USUAL.items()}
        for _ in range(rng.randint(1, ROWS))
    ]
    together = _values(node, table)
    return all(_values(node, [row]) == [value] for row, value in zip(table, together, strict=True))


def _values(node: Node, table: list[dict[str, Any]]) -> list[Any]:
    columns = {name: objects([row[name] for row in table]) for name in USUAL}
    return open_source(columns, SCHEMA).fold(
        lambda batch: of(node, batch), lambda a, b: a + b, [*sorted(USUAL.keys() - {"w"}), _W]
    )


_W = "missing(w)"  # text is read by a condition only


def of(node: Node, batch: Any) -> list[Any]:
    """The values of an expression as plain and comparable ones."""
    if node.kind == "label":
        return evaluating.codes(node, batch).tolist()
    if node.kind == "truth":
        return list(zip(evaluating.true(node, batch).tolist(), evaluating.false(node, batch).tolist(), strict=True))
    values = evaluating.numbers(node, batch)
    return np.where(np.isnan(values), np.nan, values).view(np.uint64).tolist()


def _nonsense(rng: random.Random) -> str:
    if rng.random() < 0.3:
        return odd_cells.a_text(rng)[:5000]
    if rng.random() < 0.02:
        return rng.choice(["(", "[", "-", "not ", "x+", "1 if x > 0 else "]) * rng.choice([70, 300, 3000]) + "x"
    return rng.choice(["", " "]).join(rng.choice(_TOKENS) for _ in range(rng.randrange(1, 12)))


def _exchanged(rng: random.Random) -> str:
    letters = list(_well_formed(rng))
    for _ in range(rng.randint(1, 3)):
        place = rng.randrange(len(letters))
        letters[place : place + rng.randint(0, 2)] = rng.choice(
            ["", rng.choice(_TOKENS), letters[rng.randrange(len(letters))]]
        )
        letters = letters or ["x"]
    return "".join(letters)


def _well_formed(rng: random.Random) -> str:
    return rng.choice([truth, truth, number, label, day])(rng, rng.randint(0, 4))


def number(rng: random.Random, depth: int) -> str:
    """A number."""
    if depth <= 0:
        return rng.choice(["x", "y", "z", "x", "y", "0", "2", "0.5", "-1", "1e200", "3.25", "column('x')", "100"])
    a, b = number(rng, depth - 1), number(rng, depth - 1)
    return rng.choice(
        [
            f"({a} + x)",
            f"{a} - ({b})" if "(" not in a else f"({a}) - ({b})",
            f"({a}) * ({b}) + y",
            f"({a}) / ({b} + z)",
            f"x ** {rng.choice(['2', '3', '-1', '0.5', '64', '0', '1.5', 'y'])}",
            f"abs({a} + x)",
            f"sqrt(x * {b})",
            f"log(y + {a})",
            f"exp(x - ({b}))",
            f"min({a}, {b}, x)",
            f"max(y, {b})",
            f"({a} if {truth(rng, depth - 1)} else x)",
            f"coalesce(x / y, {b})",
            f"{rng.choice(['year', 'quarter', 'month', 'day', 'weekday'])}({day(rng, depth - 1)})",
            f"{rng.choice(['hour', 'minute'])}(t)",
            f"(d - ({day(rng, 0)}))",
            f"floor(x * 10 + ({b}))",
            "(y // x)",
            "(x % 3)",
            f"-({a} * y)",
        ]
    )


def day(rng: random.Random, depth: int) -> str:
    """A date."""
    if depth <= 0:
        return rng.choice(["d", "date(t)", "d + 30", "d - 1"])
    return rng.choice(
        [
            f"(d + {number(rng, 0)})",
            "min(d, '2000-01-01')",
            f"(d if {truth(rng, 0)} else '1999-12-31')",
            "coalesce(d, date(t))",
        ]
    )


def label(rng: random.Random, depth: int) -> str:
    """A label."""
    edges = sorted(rng.sample(range(-9, 10), rng.randint(2, 5)))
    return rng.choice(
        [
            f"bins({number(rng, 0) if rng.random() < 0.3 else 'x'} + y, {edges})",
            "g",
            f"('u' if {truth(rng, depth - 1)} else 'v')",
            "coalesce(g, 'none')",
            "bins(d, ['1990-01-01', '2020-02-29', '2040-01-01'])",
        ]
    )


def truth(rng: random.Random, depth: int) -> str:
    """A condition."""
    if depth <= 0:
        return rng.choice(
            [
                "x > 0",
                "y <= x",
                "g == 'a'",
                "b",
                "missing(x)",
                "contains(w, 'a')",
                "0 < x <= 2",
                "d >= '2020-01-01'",
                "g in ['a', '7']",
                "w == 'A'",
                "x in [0.5, 1]",
                "between(y, 0, 3)",
                "matches(w, 'a?*')",
                "not b",
                "t < '2020-07-01 12:31'",
                "weekday(d) in (6, 7)",
                "x != y",
                "g != 'true'",
                "g not in ['a']",
            ]
        )
    a, b = truth(rng, depth - 1), truth(rng, depth - 1)
    return rng.choice(
        [
            f"({a}) and ({b})",
            f"({a}) or ({b})",
            f"not ({a})",
            f"{number(rng, depth - 1)} > x",
            f"missing({number(rng, depth - 1)} + x)",
            f"(b if {a} else {b})",
            f"coalesce(b, {a})",
            f"x < {number(rng, 0)}",
            f"missing(({a}) and ({b}))",
        ]
    )
