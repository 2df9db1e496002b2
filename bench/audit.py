"""The full audit: every claim and exhibit with as many samples as its bound needs, and the rate of false alarms."""

from __future__ import annotations

from typing import Any

import discreet as ds
from discreet.audit import claims, lower_bound

AUDITS = 1000


def run() -> dict[str, Any]:
    rows = [row.to_dict() for row in claims.everything(quick=False)]
    law = ds.RandomizedResponse.costing(epsilon=1, categories=[0, 1])
    alarms = sum(
        lower_bound(lambda x, n: law.release([x] * n), 0, 1, 1000, confidence=1 - 1e-3, batched=True).refutes(1.0)
        for _ in range(AUDITS)
    )
    return {"rows": rows, "false_alarms": alarms, "seconds": sum(r["seconds"] for r in rows)}


def checks(result: dict[str, Any]) -> list[tuple[str, float, str, float]]:
    rows = [(f"{r['kind']} {r['name']}: as it should be", float(r["holds"]), ">=", 1.0) for r in result["rows"]]
    for r in result["rows"]:
        # What is asked to have teeth; a model is held to its claim, and how much of that tiny tables can show varies.
        if r["kind"] in ("law", "statistic") and r["claim"] > 1e-9:
            rows.append((f"share of its claim reached by {r['name']}", r["margin"], ">=", 0.85))
    rows.append((f"false alarms in {AUDITS} audits at confidence 0.999", float(result["false_alarms"]), "<=", 8.0))
    return rows
