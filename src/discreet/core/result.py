"""What a procedure returns to a user: an answer read off releases, with its uncertainty."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real as RealNumber
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from discreet.core import drawing
from discreet.core.caution import Caution, caution
from discreet.core.cost import Cost
from discreet.core.documents import parsed, reading
from discreet.core.numbers import Number, check_level
from discreet.core.reading import WHOSE, Axes, Reading, readings
from discreet.core.registry import SCHEMA_VERSION, check_version
from discreet.core.release import Release
from discreet.errors import InvalidRequest

if TYPE_CHECKING:
    import matplotlib.axes


SCOPES = ("table", "population")
_MOST_LINES, _MOST_ROWS = 12, 60  # of an answer as text, and as a table of a notebook


class Interval(NamedTuple):
    """Two ends, named as SciPy names them."""

    low: Any
    high: Any


@dataclass(frozen=True, eq=False)
class Result:
    """An answer: its value, its uncertainty, its price, and the releases it was read from.

    ``expected_rows`` is the schema's public guess of the number of rows; see ``caution``.

    Proof: everything here is computed from releases and declarations, so it is post-processing and costs nothing
    beyond them.
    """

    reading: Reading
    releases: tuple[Release, ...]
    cost: Cost
    expected_rows: int | None = None

    @cached_property
    def caution(self) -> Caution | None:
        """What the release says against what was expected of the table, if anything: do not rely on its interval then."""
        reading = self.reading
        return caution(reading.own(self.releases), self.expected_rows, reading.error_of_own, reading.over_deviation)

    @cached_property
    def value(self) -> Any:
        """The answer."""
        return self.reading.value(self.releases)

    def interval(self, level: float = 0.95, of: str = "table", strict: bool = False) -> tuple[Any, Any]:
        """Two ends that hold the answer with probability ``level``.

        ``of="table"``: the answer on this table; covers the noise alone. ``of="population"``: the same number in the
        population whose people the table is a sample of; covers sampling and noise, and needs an answer asked with
        ``of="population"``. ``strict`` guards the latter against noise in the estimated spread; it is a little longer,
        and never covers less.
        """
        check_level(level)
        if of not in SCOPES:
            raise InvalidRequest(f"of must be 'table' or 'population', got {of!r}")
        if strict and of == "table":
            raise InvalidRequest("strict is for of='population'; an interval of the table knows its noise exactly")
        asked = (level, of, strict)
        if asked not in self._intervals:
            low, high = (
                self.reading.population_interval(self.releases, level, strict)
                if of == "population"
                else self.reading.interval(self.releases, level)
            )
            self._intervals[asked] = _plain(low), _plain(high)
        return deepcopy(self._intervals[asked])

    @cached_property
    def _intervals(self) -> dict[tuple[float, str, bool], tuple[Any, Any]]:
        """Intervals computed so far: a table, a picture and a document show the same one, and some take long."""
        return {}

    @cached_property
    def expected_error(self) -> Any:
        """The root mean square error the noise is expected to cause."""
        return self.reading.expected_error(self.releases)

    def contrast(self, coefficients: Mapping[Any, float]) -> Result:
        """The sum of coefficients times groups' means, such as ``{"treated": 1, "control": -1}``; costs nothing more.

        For means by one column of groups, asked with ``of="population"``.
        """
        if not isinstance(coefficients, Mapping) or not all(isinstance(c, RealNumber) for c in coefficients.values()):
            raise InvalidRequest(f"a contrast is a dict such as {{'treated': 1, 'control': -1}}, got {coefficients!r}")
        return replace(self, reading=self.reading.contrast(dict(coefficients)))

    def difference(self, one: Any, other: Any) -> Result:
        """The mean of one group less that of another."""
        return self.contrast(_two(one, other))

    def ratio(self, one: Any, other: Any, within: tuple[float, float]) -> Result:
        """The mean of one group over that of another, between two public numbers ``within``."""
        return replace(self, reading=self.reading.contrast(_two(one, other), within))

    @property
    def statistic(self) -> float:
        """The statistic of a hypothesis test."""
        return self.reading.statistic(self.releases)

    @cached_property
    def pvalue(self) -> float:
        """The p-value of a hypothesis test: at most a true hypothesis's share of tables has one this small."""
        return self.reading.pvalue(self.releases)

    @property
    def method(self) -> str:
        """How the p-value of a hypothesis test was found: exact, asymptotic or by Monte Carlo."""
        return self.reading.method

    def test(self, name: str, **options: Any) -> Result:
        """A hypothesis test of what was released already, such as the "chi2_contingency" of a crosstab. Costs nothing more.

        It costs no epsilon; but several tests of one release are several chances of a false alarm: see
        ``discreet.hypotheses.holm``.
        """
        return replace(self, reading=self.reading.test(name, self.releases, **options))

    def confidence_interval(self, confidence_level: float = 0.95) -> Interval:
        """The interval of the effect in the population, as SciPy's tests name it."""
        return Interval(*self.interval(confidence_level, of="population"))

    def quantile(self, q: Number) -> Result:
        """A quantile read off a distribution, group by group; its intervals are in values. Costs nothing more."""
        return replace(self, reading=self.reading.quantile(q))

    def curve(self) -> Any:
        """The distribution function at the edges of the bins of a distribution, group by group."""
        return self.reading.curve(self.releases)

    def band(self, level: float = 0.95, of: str = "population") -> tuple[Any, Any]:
        """Two curves that hold the whole distribution function of the table or of the population."""
        check_level(level)
        return self.reading.band(self.releases, level, of)

    def logrank(self, alternative: str = "two-sided") -> Result:
        """The log-rank test of two survival curves; costs nothing more."""
        return self.test("logrank", alternative=alternative)

    def restricted_mean(self, until: float | None = None) -> Result:
        """The mean time up to an edge of the time bins (the last by default), group by group; costs nothing more."""
        return replace(self, reading=self.reading.restricted_mean(until))

    def numbers_at_risk(self) -> Any:
        """How many people are at risk at every edge of the time bins of a survival curve, group by group."""
        return self.reading.numbers_at_risk(self.releases)

    @property
    def relation(self) -> str | None:
        """The neighbouring relation the guarantee is for."""
        return self.releases[0].relation if self.releases else None

    @property
    def private(self) -> bool:
        """Whether the noise came from the operating system; false for what a seed made."""
        return all(r.private for r in self.releases)

    @property
    def labels(self) -> Axes:
        """The axes of an answer with several numbers: their names and labels."""
        return self.reading.axes(self.releases)

    @property
    def note(self) -> str | None:
        """What has to be known to use the answer, if anything: for bounds, that none were found."""
        return self.reading.note(self.releases)

    @property
    def scope(self) -> str:
        """What its main interval is about: the population where that was asked for, else this table."""
        return SCOPES[self.reading.about_population]

    def plot(self, axes: matplotlib.axes.Axes | None = None, level: float = 0.95) -> matplotlib.axes.Axes:
        """A picture by Matplotlib, in the axes given or in a new figure; returns the axes."""
        return self.reading.draw(self, drawing.new_axes(axes), level)

    def rows(self, level: float = 0.95) -> dict[str, list[Any]]:
        """The answer as columns: the labels of each number, its value, its interval on this table and its expected error.

        Where it was asked of the population, the population's interval as well.
        """
        value = np.asarray(self.value)
        low, high = (np.broadcast_to(np.asarray(end), value.shape) for end in self.interval(level))
        error = self.expected_error
        errors = np.broadcast_to(np.asarray(np.nan if error is None else error, np.float64), value.shape)
        places = list(np.ndindex(value.shape))
        columns: dict[str, list[Any]] = {}
        for axis, (name, known) in enumerate(self.labels):
            columns[name] = [known[place[axis]] for place in places]
        listed = {"value": value, "low": low, "high": high, "expected_error": errors}
        if self.scope == "population":
            ends = (np.broadcast_to(np.asarray(end), value.shape) for end in self.interval(level, of="population"))
            listed |= dict(zip(("population_low", "population_high"), ends, strict=True))
        for name, array in listed.items():
            columns[name] = [array[place].item() for place in places]
        return columns

    def to_frame(self, backend: str = "pandas", level: float = 0.95) -> Any:
        """A data frame with one row for each number; ``backend`` is "pandas" or "polars"."""
        if backend not in ("pandas", "polars"):
            raise InvalidRequest(f"backend must be 'pandas' or 'polars', got {backend!r}")
        import importlib

        try:
            frames = importlib.import_module(backend)
        except ImportError:
            raise InvalidRequest(f"{backend} is not installed; install it, or use .rows() for plain lists") from None
        return frames.DataFrame(self.rows(level))

    def _repr_html_(self) -> str:
        columns = self.rows()
        cells = list(zip(*columns.values(), strict=True))
        head = "".join(f"<th>{html.escape(name)}</th>" for name in columns)
        body = "".join("<tr>" + "".join(f"<td>{_shown(c)}</td>" for c in row) + "</tr>" for row in cells[:_MOST_ROWS])
        if len(cells) > _MOST_ROWS:
            body += f'<tr><td colspan="{len(columns)}">and {len(cells) - _MOST_ROWS} more; to_frame() has them all</td></tr>'
        note = "" if self.private else " · <b>not private</b> (seeded or without noise)"
        note += f" · <b>caution</b>: {html.escape(str(self.caution))}" if self.caution else ""
        covered = "low to high: 95 % intervals for this table (noise only)"
        if self.scope == "population":
            covered += ", population_low to population_high: for the population (sampling and noise)"
        above = f"{html.escape(self._above())} · " if self._above() else ""
        words = f"{above}cost {self.cost} · neighbours: {self.relation} · {covered}{note}"
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody><caption>{words}</caption></table>"

    def __float__(self) -> float:
        if np.size(self.value) != 1:
            raise InvalidRequest(f"the answer has {np.size(self.value)} numbers, not one; use .value or .to_frame()")
        return float(np.asarray(self.value).item())

    def _above(self) -> str:
        """Of a test what it found, how, and what the numbers below are."""
        headline = self.reading.headline(self.releases)
        return f"{headline} ({self.method})\n{self.reading.measured(self.releases)}" if headline else ""

    def __str__(self) -> str:
        """The answer with its main interval, a line for each number."""
        columns = self.rows()
        ends = ("population_low", "population_high") if self.scope == "population" else ("low", "high")
        names = [name for name, _ in self.labels]
        above = self._above()
        lines = []
        for i in range(min(len(columns["value"]), _MOST_LINES)):
            words = " · ".join(str(columns[name][i]) for name in names)
            low, high = (columns[end][i] for end in ends)
            lines.append(f"{words + ': ' if words else ''}{columns['value'][i]:.6g} ({low:.6g} to {high:.6g})")
        left = len(columns["value"]) - len(lines)
        lines += [f"and {left} more"] if left else []
        mark = "" if self.private else "; not private"
        return (
            (f"{above}:\n" if above else "")
            + "\n".join(lines)
            + f"\n95 % {'interval' if len(lines) == 1 else 'intervals'} for {WHOSE[self.scope]}; cost {self.cost}{mark}"
            + (f"\nCaution: {self.caution}" if self.caution else "")
        )

    def __repr__(self) -> str:
        mark = "" if self.private else ", not private"
        headline = self.reading.headline(self.releases)
        told = f"{headline}, effect {self.value!r}" if headline else f"{self.value!r}"
        return f"Result({told}, cost: {self.cost}, neighbors: {self.relation}{mark})"

    def to_dict(self) -> dict[str, Any]:
        low, high = self.interval(0.95)
        known = self.scope == "population"
        return {
            "kind": "result",
            "schema": SCHEMA_VERSION,
            "reading": self.reading.to_dict(),
            "value": _listed(self.value),
            "interval95": [_listed(low), _listed(high)],
            **({"population95": [_listed(end) for end in self.interval(0.95, of="population")]} if known else {}),
            "cost": self.cost.to_dict(),
            **({} if self.expected_rows is None else {"expected_rows": self.expected_rows}),
            **({} if self.caution is None else {"caution": str(self.caution)}),
            "releases": [r.to_dict() for r in self.releases],
        }

    def to_json(self) -> str:
        """The answer and all behind it as one JSON document."""
        return json.dumps(self.to_dict())

    @staticmethod
    def from_json(text: str) -> Result:
        """The result a JSON document describes, read again from its releases."""
        result = Result.from_dict(parsed(text))
        with reading("a result"), np.errstate(divide="raise", invalid="raise", over="raise"):
            # A reading, or a query, that does not fit its releases is found here, and not where it is shown.
            result.rows(), result.caution
        return result

    @staticmethod
    def from_dict(doc: Any) -> Result:
        """The result that a document describes; its value is computed when it is first asked for."""
        check_version(doc, "result")
        with reading("a result"):
            releases = tuple(Release.from_dict(r) for r in doc["releases"])
            return Result(readings.read(doc["reading"]), releases, Cost.from_dict(doc["cost"]), _guess(doc))


def _two(one: Any, other: Any) -> dict[Any, float]:
    """The coefficients of two groups that are compared."""
    try:
        coefficients = {one: 1.0, other: -1.0}
    except TypeError:  # what is no label has no hash
        coefficients = {}
    if len(coefficients) < 2:
        raise InvalidRequest(f"two groups are compared, each named by its label, got {one!r} and {other!r}")
    return coefficients


def _guess(doc: Mapping[str, Any]) -> int | None:
    """The public guess of the number of rows in a document, where there is one."""
    rows = doc.get("expected_rows")
    if rows is not None and (isinstance(rows, bool) or not isinstance(rows, int) or rows < 1):
        raise ValueError(f"expected_rows must be a whole number of at least 1, got {rows!r}")
    return rows


def _shown(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else html.escape(str(value))


def _listed(value: Any) -> Any:
    return np.asarray(value).tolist()


def _plain(end: Any) -> Any:
    """A NumPy number as Python's; arrays stay as they are."""
    return end.item() if isinstance(end, np.generic) else end
