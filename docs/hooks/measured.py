"""The table of measured numbers in ``docs/measured.md``, from ``bench/results.json``: never typed by hand.

``python docs/hooks/measured.py`` writes it; ``make bench`` does so after measuring; a test compares the two.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
BEGIN, END = "<!-- measured numbers: made by docs/hooks/measured.py -->", "<!-- end of measured numbers -->"
PEERS = {
    "discreet": "discreet",
    "opendp": "OpenDP",
    "diffprivlib": "diffprivlib",
    "pydp": "PyDP",
    "opacus": "Opacus",
    "numpy": "NumPy (not private)",
    "sklearn": "scikit-learn (not private)",
}
NOISE = {
    "laplace": "Laplace noise",
    "gaussian": "Gaussian noise",
    "discrete_laplace_10": "discrete Laplace noise, scale 10",
    "discrete_gaussian_10": "discrete Gaussian noise, scale 10",
}
STATISTICS = ("mean", "variance", "histogram", "median")


def table(results: Mapping[str, Any]) -> str:
    """The rows that the studies in ``results`` give; a study that was not run has none."""
    rows = [
        *_noise(results.get("noise")),
        *_statistics(results.get("descriptive")),
        *_models(results.get("models")),
        *_gradient(results.get("gradient")),
        *_ledger(results.get("ledger")),
    ]
    used = [p for p in PEERS if any(p in cells for _, cells in rows)]
    head = f"| measured | {' | '.join(PEERS[p] for p in used)} |\n|---|{'---:|' * len(used)}"
    lines = [f"| {what} | {' | '.join(cells.get(p, '') for p in used)} |" for what, cells in rows]
    machine = next((study["machine"] for study in results.values() if "machine" in study), "")
    return "\n".join([head, *lines, "", f"Medians on {machine}; `make bench` measures again."])


def _noise(study: Mapping[str, Any] | None) -> list[tuple[str, dict[str, str]]]:
    if not study:
        return []
    medians = {("numpy" if who.startswith("numpy") else who): values for who, values in study["medians"].items()}
    rows = []
    for key, words in NOISE.items():
        cells = {who: _millions(v[key]) for who, v in medians.items() if key in v}
        rows.append((f"{words}, million draws a second", cells))
    once = {who: f"{v['scalar_us']:.0f}" for who, v in medians.items() if "scalar_us" in v}
    return [*rows, ("one Laplace draw, microseconds", once)]


def _millions(rate: float) -> str:
    millions = rate / 1e6
    return f"{millions:.0f}" if millions >= 10 else f"{millions:.2g}"


def _statistics(study: Mapping[str, Any] | None) -> list[tuple[str, dict[str, str]]]:
    if not study:
        return []
    times = study["milliseconds"]
    rows = []
    for name in STATISTICS:
        cells = {who: f"{times[f'{who} {name}']:.0f}" for who in PEERS if f"{who} {name}" in times}
        rows.append((f"{name} of ten million numbers, milliseconds", cells))
    for size, found in study.get("files", {}).items():
        rows.append((f"mean by group of {int(size):,} rows of Parquet, seconds", {"discreet": f"{found['seconds']:.1f}"}))
    return rows


def _models(study: Mapping[str, Any] | None) -> list[tuple[str, dict[str, str]]]:
    if not study:
        return []
    names = {"discreet": "ours", "diffprivlib": "diffprivlib", "sklearn": "scikit-learn's fastest"}
    tables = {"Adult": "30,162 rows of 37 columns", "450,000 rows": "450,000 rows of 10 columns"}
    rows = []
    for key, words in tables.items():
        times = study["milliseconds"][key]
        cells = {who: f"{times[name]:.0f}" for who, name in names.items()}
        rows.append((f"logistic regression, {words}, milliseconds", cells))
        rows.append(("the same with confidence intervals", {"discreet": f"{times['ours with intervals']:.0f}"}))
    return rows


def _gradient(study: Mapping[str, Any] | None) -> list[tuple[str, dict[str, str]]]:
    if not study:
        return []
    rows = []
    times = study["seconds of an epoch"]
    for key, words in {"network": "a 100-100 network", "logistic": "logistic regression"}.items():
        cells = {"discreet": f"{times[key]:.2f}", "opacus": f"{times[f'Opacus, {key}']:.2f}"}
        rows.append((f"an epoch of private SGD, {words}, 70,000 rows, seconds", cells))
    return rows


def _ledger(study: Mapping[str, Any] | None) -> list[tuple[str, dict[str, str]]]:
    if not study:
        return []
    late = study["charge_late_us"] / 1e3
    return [("the 200,001st charge of a ledger on disk, milliseconds", {"discreet": f"{late:.2g}"})]


def on_page(page: str, results: Mapping[str, Any]) -> str:
    """The page with its table as the results have it."""
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n{table(results)}\n{END}{after}"


def main() -> None:
    """Write the table into its page."""
    path = ROOT / "docs" / "measured.md"
    results = json.loads((ROOT / "bench" / "results.json").read_text(encoding="utf-8"))
    path.write_text(on_page(path.read_text(encoding="utf-8"), results), encoding="utf-8")


if __name__ == "__main__":
    main()
