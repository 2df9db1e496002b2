"""Local reports from and to files: made where the values are, read where they are collected."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from discreet.errors import InvalidRequest, UnsupportedFormat
from discreet.jobs.output import folder_for
from discreet.jobs.predict import read_rows
from discreet.local import Hybrid, Reports, best_oracle
from discreet.local.law import LocalMechanism


def law_of(categories: str | None, bounds: str | None, epsilon: str) -> LocalMechanism:
    """The best law for declared categories, or for a number between public bounds."""
    if (categories is None) == (bounds is None):
        raise InvalidRequest("a report is of --categories a,b,c or of a number within --bounds 0,100; give one of them")
    if categories is not None:
        return best_oracle([label.strip() for label in categories.split(",")], epsilon)
    ends = str(bounds).split(",")
    if len(ends) != 2:
        raise InvalidRequest(f"--bounds are two numbers, as in 0,100, got {bounds!r}")
    return Hybrid(epsilon, (ends[0].strip(), ends[1].strip()))  # type: ignore[arg-type]


def reported(law: LocalMechanism, table: Path, column: str, out: Path) -> dict[str, Any]:
    """One report for each row of a file; what leaves is private, whoever reads it."""
    names, columns = read_rows(table)
    if column not in columns:
        raise InvalidRequest(f"{table}: no column is called {column!r}; there are {names}")
    values: Any = columns[column]
    if isinstance(law, Hybrid):
        values = np.array([_number(value) for value in values])
    with folder_for(out.parent, [out.name], [table]) as write:
        made = law.reports(values)
        write(out.name, made.to_json() + "\n")
    return {"kind": "local reports", "law": law.name, "epsilon": float(law.epsilon), "written": str(out)}


def _number(value: Any) -> float:
    """A number; what is none counts as missing, by the law's own public rule."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return float("nan")


def estimated(files: list[Path], level: float) -> dict[str, Any]:
    """The estimate from files of reports, all of one law."""
    found = []
    for place, path in enumerate(files):
        if path.resolve() in [other.resolve() for other in files[:place]]:
            raise InvalidRequest(f"every report counts once, got {str(path)!r} twice; name each file once")
        if not path.is_file():
            raise UnsupportedFormat(
                f"reports must be a file that exists, got {str(path)!r}; `discreet local report` writes one"
            )
        try:
            found.append(Reports.from_json(path.read_bytes()))
        except UnsupportedFormat as problem:
            raise problem.at(f"{path}: ") from None
    reports = Reports.join(found)
    made = reports.mechanism.estimate(reports)
    low, high = made.interval(level, of="population")
    labels = list(made.labels) if made.labels is not None else ["mean"]
    rows = [
        {"of": label, "value": float(value), "low": float(a), "high": float(b)}
        for label, value, a, b in zip(labels, *(np.ravel(part) for part in (made.value, low, high)), strict=True)
    ]
    return {"kind": "local estimate", "law": reports.mechanism.name, "epsilon": made.epsilon, "reports": made.count,
            "level": level, "private": made.private, "rows": rows}  # fmt: skip
