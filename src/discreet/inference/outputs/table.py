"""A posterior in a table: one row for each number, with how far the draws can be trusted."""

from __future__ import annotations

import csv
import html
import io
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.errors import InvalidRequest, UnknownName

COLUMNS = ("name", "mean", "sd", "median", "mad", "low", "high", "ess_bulk", "ess_tail", "r_hat")


@dataclass(frozen=True, eq=False)
class Summary:
    """Mean, standard deviation, median, median absolute deviation, the equal-tailed interval of ``level``, effective sizes
    and R-hat. The median absolute deviation is times 1.4826: for a normal law it is then the standard deviation.

    ``notes`` say what a reader has to know: that draws are approximate, few, of chains that disagree, or not private.
    """

    rows: tuple[dict[str, Any], ...]
    level: float
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows)

    def __getitem__(self, name: str) -> dict[str, Any]:
        """The row of that name."""
        for row in self.rows:
            if row["name"] == name:
                return row
        raise UnknownName(f"no number is called {name!r}; known: {', '.join(row['name'] for row in self.rows)}")

    def heads(self) -> list[str]:
        """The heads of the columns for a person."""
        tail = 50 * (1 - self.level)
        ends = f"{tail:.4g} %", f"{100 - tail:.4g} %"
        return ["", "mean", "sd", "median", "mad", *ends, "ess bulk", "ess tail", "R-hat"]

    def cells(self) -> list[list[str]]:
        """The rows as texts for a person."""
        return [
            [row["name"], *(_number(row[c]) for c in COLUMNS[1:7]), *(_whole(row[c]) for c in COLUMNS[7:9]),
             _hat(row["r_hat"])]
            for row in self.rows
        ]  # fmt: skip

    def __str__(self) -> str:
        table = [self.heads(), *self.cells()]
        widths = [max(len(row[i]) for row in table) for i in range(len(COLUMNS))]
        lines = [_aligned(row, widths) for row in table]
        return "\n".join([*lines, *(f"Note: {note}." for note in self.notes)])

    __repr__ = __str__

    def to_frame(self, backend: str = "pandas") -> Any:
        """A data frame with one row for each number; ``backend`` is "pandas" or "polars"."""
        if backend not in ("pandas", "polars"):
            raise InvalidRequest(f"backend must be 'pandas' or 'polars', got {backend!r}")
        import importlib

        try:
            frames = importlib.import_module(backend)
        except ImportError:
            raise InvalidRequest(f"{backend} is not installed; install it, or use .rows for plain dictionaries") from None
        made = frames.DataFrame(list(self.rows))
        return made.set_index("name") if backend == "pandas" else made

    def to_csv(self) -> str:
        """The rows as text with commas, all digits kept."""
        out = io.StringIO()
        writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.rows)
        return out.getvalue()

    def to_dict(self) -> dict[str, Any]:
        """What JSON can say of it; a number that does not exist is null."""
        rows = [{k: None if isinstance(v, float) and math.isnan(v) else v for k, v in row.items()} for row in self.rows]
        return {"level": self.level, "notes": list(self.notes), "rows": rows}

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{html.escape(h)}</th>" for h in self.heads())
        body = "".join("<tr>" + "".join(f"<td>{html.escape(c)}</td>" for c in row) + "</tr>" for row in self.cells())
        notes = "".join(f"<p><b>Note:</b> {html.escape(note)}.</p>" for note in self.notes)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{notes}"


def _aligned(row: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join([row[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(row[1:], widths[1:], strict=True))])


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100_000 else f"{value:.4g}"


def _whole(value: float) -> str:
    return "" if math.isnan(value) else f"{value:,.0f}"


def _hat(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.3f}"
