"""The table of the last full audit, put into its page from ``bench/results.json`` when the documentation is built."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
MARK = "<!-- audit table -->"


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Replace the mark; MkDocs calls this for every page."""
    return markdown.replace(MARK, table(json.loads((ROOT / "bench" / "results.json").read_text())))


def table(results: dict[str, Any]) -> str:
    """One line for each entry of the audit."""
    study = results.get("audit")
    if not study:
        return "Run `python -m bench audit` to fill this table."
    lines = ["| kind | entry | claimed | δ | certified | verdict |", "|---|---|---:|---:|---:|---|"]
    for row in study["rows"]:
        good, bad = ("refuted", "**not refuted**") if row["kind"] in ("broken", "trap") else ("holds", "**broken**")
        verdict = good if row["holds"] else bad
        name = row["name"].replace("|", "/")
        lines.append(
            f"| {row['kind']} | {name} | {row['claim']:.3g} | {row['delta']:g} | {row['certified']:.3f} | {verdict} |"
        )
    alarms = f"In 1,000 audits of an exact mechanism at confidence 0.999 there were {study['false_alarms']} false alarms."
    return "\n".join([*lines, "", alarms])
