"""The audit as a page: every claim with what was certified of it, as a picture and in words. Nothing is fetched."""

from __future__ import annotations

import html
from collections.abc import Sequence

from discreet.audit.row import Row

_TITLES = {
    "law": ("Noise laws", "The bar must end before the mark: no sample may certify more than is claimed."),
    "statistic": ("Statistics", "On the pair of neighbouring tables that moves each one furthest."),
    "local": ("Local reports", "One person's report, private before it leaves the device."),
    "model": (
        "Models",
        "Fits of tiny tables, every question that a fit, a score, a tuning or a descent asks, and whole runs.",
    ),
    "synthetic": ("Synthetic tables", "Every table that is measured, every choice of the next one, and a run as a whole."),
    "broken": ("A museum of broken mechanisms", "Here the bar must pass the mark: the auditor has to refute each of them."),
    "trap": (
        "Sound noise, read wrongly",
        "Methods that say they are wrong in 5 % of tables. The bar, how often they certainly are, must pass the mark.",
    ),
}
_STYLE = """
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1a1a1a;background:#fff}
h1{font-size:1.7rem}h2{margin-top:2.2rem}table{border-collapse:collapse;width:100%}
th,td{text-align:left;padding:.35rem .5rem;border-bottom:1px solid #ddd;vertical-align:top}
.num{text-align:right;font-variant-numeric:tabular-nums}.bad{color:#a40000;font-weight:600}small{color:#555}
@media(max-width:40rem){.wide{display:none}body{font-size:15px}}@media print{body{margin:0;max-width:none}}
"""


def render(rows: Sequence[Row], mode: str) -> str:
    """One self-contained HTML page."""
    held = sum(r.holds for r in rows)
    parts = [
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>",
        "<meta name='viewport' content='width=device-width,initial-scale=1'>",
        f"<title>discreet audit</title><style>{_STYLE}</style></head><body><main><h1>What the auditor found</h1>",
        f"<p>{held} of {len(rows)} entries are as they should be ({html.escape(mode)} audit). Every bound holds with "
        "confidence 1 − 10⁻⁶: it comes from samples alone and trusts no proof.</p>",
    ]
    for kind, (title, words) in _TITLES.items():
        own = [r for r in rows if r.kind == kind]
        if own:
            parts.append(f"<h2>{title}</h2><p>{words}</p><table><thead><tr><th scope='col'>entry</th>")
            what = "level" if kind == "trap" else "ε"
            parts.append(f"<th scope='col' class='num'>claimed {what}</th><th scope='col' class='num'>certified {what}</th>")
            parts.append("<th scope='col' class='wide'>picture</th><th scope='col'>verdict</th></tr></thead><tbody>")
            parts += [_line(r) for r in own]
            parts.append("</tbody></table>")
    parts.append("</main></body></html>")
    return "".join(parts)


def _line(row: Row) -> str:
    at = f" at δ = {row.delta:g}" if row.delta else ""
    note = f"<br><small>{html.escape(row.note)}</small>" if row.note else ""
    shown = f"class='{'' if row.holds else 'bad'}'"
    return (
        f"<tr><td>{html.escape(row.name)}{note}</td><td class='num'>{row.claim:.3g}{at}</td>"
        f"<td class='num'>{row.certified:.3f}</td><td class='wide'>{_bar(row)}</td><td {shown}>{row.verdict}</td></tr>"
    )


def _bar(row: Row) -> str:
    most = max(row.claim, row.certified) * 1.05 or 1.0
    length, mark = 160 * row.certified / most, 160 * row.claim / most
    colour = "#2b6cb0" if row.holds else "#a40000"
    alt = f"certified {row.certified:.3f} of a claim of {row.claim:.3g}"
    return (
        f"<svg width='164' height='16' role='img' aria-label='{alt}'><rect y='3' width='{length:.1f}' height='10' "
        f"fill='{colour}'/><line x1='{mark:.1f}' x2='{mark:.1f}' y1='0' y2='16' stroke='#1a1a1a' stroke-width='2'/></svg>"
    )
