"""Which columns of a table identify people, and what to do with each: a proposal to be read, not a guarantee.

A column is judged by its name and by the form of its cells. What is said of it is its kind and the share of its cells that
look so; no cell is shown. A column whose cells are not of one kind is searched for identifiers within them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from discreet.errors import InvalidRequest
from discreet.protect import patterns
from discreet.protect.lattice_histogram import texts_of
from discreet.protect.stored_table import StoredTable, open_table

# From a word in a column's name to the kind it speaks of; the first that fits decides.
_HEADERS = (
    ("e-mail", r"e[-_ ]?mail"),
    ("social security number", r"ssn|social[-_ ]?sec|national[-_ ]?(id|insurance)|personnummer|tax[-_ ]?id"),
    ("telephone number", r"phone|mobile|\bfax\b|\btel\b"),
    ("postal code", r"zip|post(al)?[-_ ]?code|\bplz\b"),
    ("date", r"date|birth|\bdob\b|born|admitted|discharged"),
    ("record number", r"mrn|(patient|record|account|customer|member|policy)[-_ ]?(id|no|nr|number)|^id$"),
    ("name", r"^(full|first|last|family|given|sur|maiden|middle)?[-_ ]?names?$|^(patient|person|customer)[-_ ]?name$"),
    ("address", r"address|street"),
)
# What is proposed for each kind, and which of the eighteen identifiers of HIPAA's safe harbour it is.
PROPOSALS = {
    "name": ("pseudonymize", "A names"),
    "address": ("drop", "B places smaller than a state"),
    "postal code": ("generalize by prefixes, to three digits or fewer", "B places smaller than a state"),
    "date": ("shift_dates, or generalize to years", "C dates but their year, and ages above 89"),
    "telephone number": ("drop", "D telephone numbers"),
    "e-mail": ("drop", "F e-mail addresses"),
    "social security number": ("SameFormat tokens, or drop", "G social security numbers"),
    "record number": ("pseudonymize", "H medical record numbers"),
    "free text": ("drop, or remove what was found in it", "R any other identifying text"),
}
_ENOUGH = 0.5  # share of told cells that must have the form of a kind
_LONG = 4  # words from which on a cell is a text
_MOST_CELLS = 20_000  # different cells of a column that are looked at


@dataclass(frozen=True)
class Finding:
    """A column, the kind of identifier in it, the share of its cells that look so, and what is proposed.

    ``within`` counts the cells in which each kind was found, for a column of texts.
    """

    column: str
    kind: str
    share: float
    proposal: str
    safe_harbour: str
    within: dict[str, int]


@dataclass(frozen=True)
class Scan:
    """What was found, column by column, and the columns in which nothing was."""

    findings: tuple[Finding, ...]
    clear: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """As JSON says it."""
        return {"findings": [asdict(finding) for finding in self.findings], "clear": list(self.clear)}

    def plan(self) -> str:
        """The beginning of a job file: what to drop, and a line on every other column that was found."""
        gone = [f.column for f in self.findings if f.proposal.startswith("drop")]
        lines = [f"drop = [{', '.join(_quoted(name) for name in gone)}]"]
        lines += [f"# {_plain(f.column)}: {f.kind}, {f.proposal}" for f in self.findings if f.column not in gone]
        return "\n".join(lines) + "\n"

    def safe_harbour(self, done: Mapping[str, str] | None = None) -> list[tuple[str, str, str]]:
        """The eighteen identifiers of HIPAA's safe harbour: identifier, columns found, and what is proposed for them.

        With ``done``, which says what was done to each column, it is told instead of what is proposed.
        """
        rows = []
        for identifier in IDENTIFIERS:
            here = [f for f in self.findings if f.safe_harbour == identifier]
            names = ", ".join(f.column for f in here)
            words = (
                {f.proposal: None for f in here} if done is None else {f"{f.column}: {done[f.column]}": None for f in here}
            )
            rows.append((identifier, names or "none found", "; ".join(words) or "check by hand"))
        return rows


IDENTIFIERS = (
    "A names", "B places smaller than a state", "C dates but their year, and ages above 89", "D telephone numbers",
    "E fax numbers", "F e-mail addresses", "G social security numbers", "H medical record numbers",
    "I health plan numbers", "J account numbers", "K certificate and license numbers", "L vehicle numbers",
    "M device numbers", "N web addresses", "O internet addresses", "P fingerprints and voices", "Q photographs of faces",
    "R any other identifying text",
)  # fmt: skip


def scan(table: Any, spark: Any = None) -> Scan:
    """Look at every column of a table of any kind.

    It finds forms, and misses what has none: a nickname, a rare job, a place described in words. Read the columns that it
    calls clear as well.
    """
    return looked_at(open_table(table, spark))


def looked_at(source: StoredTable) -> Scan:
    """The scan of a table that is open."""
    findings, clear = [], []
    for place, name in enumerate(source.columns, 1):
        if any(_FORMS[kind](name) for kind in _NO_NAMES):
            raise InvalidRequest(
                f"a table must begin with the names of its columns, and number {place} looks like a cell of somebody (it is "
                "not shown); write a header, or rename the column"
            )
        columns, counts = source.counted([name])
        texts, index = texts_of(columns[0])
        cells = Counter(dict(zip(*_totals(index, counts), strict=True)))
        known = [(texts[place] or "", times) for place, times in cells.most_common(_MOST_CELLS) if texts[place] is not None]
        finding = _of_column(name, known)
        findings.append(finding) if finding is not None else clear.append(name)
    if not findings and not clear:
        raise InvalidRequest("a table without columns has nothing to look at")
    return Scan(tuple(findings), tuple(clear))


def _totals(index: Any, counts: Any) -> tuple[list[int], list[int]]:
    import numpy as np

    sums = np.bincount(index, counts).astype(int)
    here = np.flatnonzero(sums)
    return here.tolist(), sums[here].tolist()


def _of_column(name: str, cells: list[tuple[str, int]]) -> Finding | None:
    """What a column holds, from its name and its ``cells`` with how often each occurs; None where it looks clear."""
    rows = max(1, sum(times for _, times in cells))
    hint = next((kind for kind, words in _HEADERS if re.search(words, name, re.IGNORECASE)), None)
    texts = sum(times for cell, times in cells if len(cell.split()) >= _LONG)
    if cells and texts / rows > _ENOUGH and hint != "address":
        return _text(name, cells, rows)
    forms: Counter[str] = Counter()
    for cell, times in cells:
        for kind, fits in _FORMS.items():
            if fits(cell):
                forms[kind] += times
                break
    if hint is not None and hint in PROPOSALS:
        return _finding(name, hint, forms[hint] / rows)
    kind, times = forms.most_common(1)[0] if forms else ("", 0)
    return _finding(name, kind, times / rows) if times / rows > _ENOUGH else _text(name, cells, rows)


def _finding(name: str, kind: str, share: float, within: dict[str, int] | None = None) -> Finding:
    return Finding(name, kind, round(share, 4), *PROPOSALS[kind], within or {})


def _text(name: str, cells: list[tuple[str, int]], rows: int) -> Finding | None:
    """A column whose cells are not of one kind, where identifiers stand in some of them, however few."""
    within: Counter[str] = Counter()
    hit = 0
    for cell, times in cells:
        kinds = {match.kind for match in patterns.find(cell)}
        if len(cell.split()) < _LONG:  # two large words by themselves are a category more often than a name
            kinds.discard("name")
        hit += times * bool(kinds)
        within.update(dict.fromkeys(kinds, times))
    return _finding(name, "free text", hit / rows, dict(within)) if hit else None


def _whole(pattern: re.Pattern[str]) -> Any:
    return lambda cell: pattern.fullmatch(cell.strip()) is not None


_POSTAL = re.compile(r"[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2}|[A-Z]\d[A-Z] ?\d[A-Z]\d|\d{5}-\d{4}|0\d{4}")
_FORMS = {
    "e-mail": _whole(patterns.EMAIL),
    "social security number": _whole(patterns.SOCIAL),
    "date": _whole(re.compile(rf"(?:{patterns.DATE.pattern})(?:[T ]\d\d:\d\d.*)?", re.IGNORECASE)),
    "postal code": _whole(_POSTAL),
    "telephone number": lambda cell: _whole(patterns.TELEPHONE)(cell) and 7 <= sum(map(str.isdigit, cell)) <= 15,
    "name": _whole(patterns.NAMES),
}
_NO_NAMES = ("e-mail", "social security number", "telephone number")  # a first row without a header would be quoted


def _quoted(name: str) -> str:
    import json

    return json.dumps(name)


def _plain(name: str) -> str:
    return " ".join(name.split())
