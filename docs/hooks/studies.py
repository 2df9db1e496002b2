"""Tables of what the studies found, put into the pages from ``study/results`` when the documentation is built.

A page says where: a comment such as ``study: trap_levels``. No number of a study is typed by hand.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parents[2] / "study" / "results"
BENCH = RESULTS.parents[1] / "bench" / "results.json"
MARK = re.compile(r"<!-- study: (\w+) -->")
Entry = tuple[dict[str, Any], int, dict[str, float]]


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Replace every mark; MkDocs calls this for every page."""
    return MARK.sub(lambda found: TABLES[found[1]](), markdown)


def entries(name: str) -> list[Entry]:
    """Settings, runs and tallies of a study, as far as it went."""
    path = RESULTS / f"{name}.json"
    known = json.loads(path.read_text(encoding="utf-8"))["settings"] if path.exists() else {}
    return [(json.loads(key), entry["runs"], entry["found"]) for key, entry in known.items()]


def _table(head: Iterable[str], lines: Iterable[Iterable[str]]) -> str:
    head = list(head)
    made = [f"| {' | '.join(head)} |", f"|---|{'---:|' * (len(head) - 1)}"]
    return "\n".join([*made, *(f"| {' | '.join(line)} |" for line in lines)])


def _span(values: Iterable[float]) -> str:
    found = sorted(values)
    return f"{found[0]:.3f}–{found[-1]:.3f}" if found else ""


def _grouped(found: Iterable[Entry], name: Callable[[dict[str, Any]], str]) -> dict[str, list[Entry]]:
    made: dict[str, list[Entry]] = {}
    for entry in found:
        made.setdefault(name(entry[0]), []).append(entry)
    return made


def traps() -> str:
    """Every trap with how often it is wrong."""
    from discreet.audit.traps import TRAPS

    found = {s["trap"]: t["wrong"] / n for s, n, t in entries("trap_levels")}
    lines = [(f"{trap.name}: {trap.why}", f"{found[trap.name]:.3f}") for trap in TRAPS if trap.name in found]
    return _table(("trap", "wrong in"), lines)


def levels() -> str:
    """The levels of every test, with the textbook's test of the same noisy numbers."""
    nulls = [e for e in (*entries("test_levels"), *entries("rank_and_survival_levels")) if e[0].get("effect", 0.0) == 0.0]
    tests = [e for e in nulls if "rejected" in e[2]]
    named = _grouped(tests, lambda s: s["test"] + (", stratified" if "shares" in s else ""))
    lines = [
        (
            f"`{test}`",
            str(len(own)),
            f"{min(n for _, n, _ in own):,}",
            _span(t["rejected"] / n for _, n, t in own),
            _span(t["naive"] / n for _, n, t in own),
        )
        for test, own in named.items()
    ]
    return _table(("test", "settings", "nulls each, at least", "rejected at .05", "textbook's test"), lines)


def published() -> str:
    """Power, with the level in parentheses, of ours, of published private tests and without privacy."""
    named = _grouped(entries("published_tests"), lambda s: f"{s['test']} {s['sizes']} {s['epsilon']}")
    lines = []
    for own in named.values():
        level = {w: v / n for s, n, t in own if not s["effect"] for w, v in t.items()}
        power = {w: v / n for s, n, t in own if s["effect"] for w, v in t.items()}
        facts = own[0][0]
        shown = {w: f"{power[w]:.3f} ({level[w]:.3f})" for w in power if w in level}
        others = [f"{w} {v}" for w, v in shown.items() if not w.startswith(("ours", "not private"))]
        what = f"`{facts['test']}`, {'/'.join(map(str, facts['sizes']))}, ε {facts['epsilon']}"
        ours = shown.get("ours, add_remove", ""), shown.get("ours, replace", "")
        lines.append((what, *ours, "; ".join(others), shown.get("not private", "")))
    return _table(("test, people, ε", "ours, add_remove", "ours, replace", "published", "not private"), lines)


def coverage() -> str:
    """Coverage of population intervals by kind."""
    found = entries("population_intervals")
    named = _grouped(found, lambda s: s["kind"] + (", replace" if s["relation"] == "replace" else ""))
    lines = [
        (
            kind.replace("_", " "),
            str(len(own)),
            f"{min(n for _, n, _ in own):,}",
            _span(t["covered"] / n for _, n, t in own),
            _span(t["strictly"] / n for _, n, t in own if "strictly" in t),
        )
        for kind, own in named.items()
    ]
    return _table(("of", "settings", "tables each, at least", "covered", "strict form"), lines)


def synthetic() -> str:
    """Coverage of combined intervals of synthetic tables, with that of one table taken for real in parentheses."""
    kinds = ("mean", "share", "difference", "logistic")
    lines = [
        (
            f"{s['n']:,} people, ρ {s['rho']}, {s['relation']}",
            f"{n:,}",
            *(f"{t[kind] / n:.3f} ({t[f'naive {kind}'] / n:.3f})" for kind in kinds),
        )
        for s, n, t in entries("synthetic_intervals")
    ]
    return _table(("setting", "tables", *kinds), lines)


def adult() -> str:
    """Synthetic tables of Adult beside those of others, from ``bench/results.json``."""
    known = json.loads(BENCH.read_text(encoding="utf-8")).get("synthetic", {})
    learnt = known.get("accuracy", {})
    found = {"discreet": known.get("ours", {}) | {"accuracy": learnt["synthetic rows"]} if learnt else {}}
    found |= known.get("peers", {})
    for name in ("independent columns, no noise", "bootstrap of the real table"):
        found[name] = known.get(name, {})
    found |= {name: {"accuracy": learnt[name]} for name in ("real rows", "larger class") if name in learnt}
    words = ("one-way", "two-way", "processor seconds", "accuracy")
    digits = {"processor seconds": 1, "accuracy": 3}
    lines = [
        (name, *(f"{each[w]:.{digits.get(w, 4)}f}" if w in each else "" for w in words))
        if "not finished in processor seconds" not in each
        else (name, "not finished", "", f"> {each['not finished in processor seconds']}", "")
        for name, each in found.items()
    ]
    return _table(("table", *words), lines)


def workload() -> str:
    """What declaring a workload is worth, and choosing in rounds, from ``bench/results.json``."""
    known = json.loads(BENCH.read_text(encoding="utf-8")).get("synthetic", {}).get("workload", {})
    words = {
        "not declared": "not declared",
        "declared": "declared",
        "in rounds": "declared, and chosen in rounds as AIM does",
    }
    lines = [
        (words[name], f"{known[name]['three-way']:.4f}", f"{known[name]['processor seconds']:.1f}")
        for name in words
        if name in known
    ]
    return _table(("workload", "three-way", "processor seconds"), lines)


TABLES: dict[str, Callable[[], str]] = {
    "trap_levels": traps,
    "test_levels": levels,
    "published_tests": published,
    "population_intervals": coverage,
    "synthetic_intervals": synthetic,
    "synthetic_adult": adult,
    "synthetic_workload": workload,
}
