"""The table of the last full audit, put into its page from ``study/results/audit.json`` when the documentation is built."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parents[2] / "study" / "results" / "audit.json"
MARK = "<!-- audit table -->"


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Replace the mark; MkDocs calls this for every page."""
    if MARK not in markdown:
        return markdown
    return markdown.replace(MARK, table(json.loads(RESULTS.read_text(encoding="utf-8"))))


def table(results: dict[str, Any]) -> str:
    """One line for each entry of the audit."""
    lines = ["| kind | entry | claimed | δ | certified | verdict |", "|---|---|---:|---:|---:|---|"]
    alarms = ""
    for part in results["settings"].values():
        rows: dict[int, dict[str, Any]] = {}
        for word, value in part["found"].items():
            if word == "false alarms":
                alarms = f"In 1,000 audits of an exact mechanism at confidence 0.999 there were {value:.0f} false alarms."
                continue
            place, kind, name, of = json.loads(word)
            rows.setdefault(place, {"kind": kind, "name": name.replace("|", "/")})[of] = value
        for row in rows.values():
            good, bad = ("refuted", "**not refuted**") if row["kind"] in ("broken", "trap") else ("holds", "**broken**")
            numbers = f"{row['claim']:.3g} | {row['delta']:g} | {row['certified']:.3f}"
            lines.append(f"| {row['kind']} | {row['name']} | {numbers} | {good if row['holds'] else bad} |")
    return "\n".join([*lines, "", f"Made on {results['date']}. {alarms}".strip()])
