"""How cost grows, put into its page from ``bench/results.json``: what was measured, then what that extrapolates to."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
MARKS = ("<!-- growth table -->", "<!-- files table -->", "<!-- people table -->", "<!-- ledger sentence -->")
NATION = 1_000_000_000
_WORDS = {
    "rows": "rows (one mean in 4 groups)",
    "groups": "groups (one mean of a million rows)",
    "columns": "columns (their means together, in 4 groups)",
}


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Replace the marks; MkDocs calls this for every page."""
    if not any(mark in markdown for mark in MARKS):
        return markdown
    results = json.loads((ROOT / "bench" / "results.json").read_text(encoding="utf-8"))
    for mark, text in zip(MARKS, (growth(results), parquet(results), people(results), ledger(results)), strict=True):
        markdown = markdown.replace(mark, text)
    return markdown


def growth(results: Mapping[str, Any]) -> str:
    """Times at three sizes, and the slope of the logarithm of the time."""
    lines = ["| what grows | measured, milliseconds | exponent |", "|---|---|---:|"]
    for key, found in results["tables"]["growth"].items():
        times = ", ".join(f"{int(size):,}: {ms:.0f}" for size, ms in found["ms"].items())
        lines.append(f"| {_WORDS.get(key, key)} | {times} | {found['exponent']:.2f} |")
    return "\n".join([*lines, "", f"Measured on {results['tables']['machine']}, in memory."])


def parquet(results: Mapping[str, Any]) -> str:
    """Means by group of Parquet files, and what the slope between the two says of a nation."""
    found = {int(rows): each for rows, each in results["descriptive"]["files"].items()}
    lines = ["| rows of Parquet | seconds | memory, GB | |", "|---:|---:|---:|---|"]
    lines += [f"| {rows:,} | {each['seconds']:.1f} | {each['peak_gb']:.2f} | measured |" for rows, each in found.items()]
    slope, seconds = extrapolated(found)
    lines.append(f"| {NATION:,} | {seconds:.0f} | {max(e['peak_gb'] for e in found.values()):.2f} | **extrapolated** |")
    return "\n".join([*lines, "", f"The exponent between the measured points is {slope:.2f}; the last line follows it."])


def people(results: Mapping[str, Any]) -> str:
    """Files with people, a join, PostgreSQL beside its own COPY, and a cluster; what was not measured is not told."""
    told = []
    if "engines" in results:
        study = results["engines"]
        join, copied = study["join"], study["postgres"]
        lines = ["| a mean with people | seconds | memory, GB |", "|---|---:|---:|"]
        lines += [
            f"| {int(n):,} rows of Parquet | {e['seconds']:.1f} | {e['peak_gb']:.2f} |" for n, e in study["people"].items()
        ]
        lines.append(
            f"| {10 * join['patients']:,} visits joined with {join['patients']:,} patients | {join['seconds']:.1f} "
            f"| {join['peak_gb']:.2f} |"
        )
        share = copied["read_rows_s"] / copied["copy_rows_s"]
        told += [
            "\n".join(lines),
            f"A table in PostgreSQL is read at {share:.2f} times the rows a second that its own `COPY` gives to nowhere.",
            _figure("Seconds over rows of Parquet files with people, beside a line of proportional growth", "engines"),
        ]
    if "cluster" in results:
        told += [
            "On a cluster the rows of a person are brought together by Spark. Executors are processes with one core each, "
            "all on one machine of two cores: a third has nothing left to run on.",
            _figure(
                "Seconds over rows on two executors, and over executors, beside lines of proportional growth", "cluster"
            ),
        ]
    return "\n\n".join(told)


def _figure(words: str, name: str) -> str:
    return f"![{words}](images/{name}.svg){{ .figure loading=lazy }}"


def extrapolated(found: Mapping[int, Mapping[str, float]]) -> tuple[float, float]:
    """The slope between the smallest and the largest table, and the seconds of a nation along it, but never sublinear."""
    few, many = min(found), max(found)
    slope = math.log(found[many]["seconds"] / found[few]["seconds"]) / math.log(many / few)
    return slope, found[many]["seconds"] * (NATION / many) ** max(slope, 1.0)


def ledger(results: Mapping[str, Any]) -> str:
    """How long a charge takes in a new book and in a long one."""
    study = results["ledger"]
    first, late = study["charge_early_us"] / 1e3, study["charge_late_us"] / 1e3
    return (
        f"Measured: a charge in a new book takes {first:.2g} milliseconds, the 200,001st {late:.2g}; checking a book of "
        f"{study['events']:,} events from its first takes {study['verify_s']:.0f} seconds, and it fills "
        f"{study['megabytes']:.0f} MB."
    )
