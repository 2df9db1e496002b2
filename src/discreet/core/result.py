"""What a procedure returns to a user: an answer read off releases, with its uncertainty."""

from __future__ import annotations

import html
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real as RealNumber
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from discreet.core import drawing
from discreet.core.caution import Caution, caution
from discreet.core.cost import Cost
from discreet.core.documents import parsed, reading
from discreet.core.numbers import Number, check_level
from discreet.core.registry import SCHEMA_VERSION, Named, Registry, check_version
from discreet.core.release import Release
from discreet.errors import DiscreetError, InvalidRequest, UnknownName

if TYPE_CHECKING:
    import matplotlib.axes


Axes: TypeAlias = tuple[tuple[str, tuple[Any, ...]], ...]  # of an answer with several numbers: their names and labels


class Reading(Named, ABC):
    """How releases become an answer: a pure function of what is public. Registered in ``readings``."""

    @abstractmethod
    def value(self, releases: Sequence[Release]) -> Any:
        """The answer."""

    @abstractmethod
    def interval(self, releases: Sequence[Release], level: float) -> tuple[Any, Any]:
        """Two ends that hold the answer on this table with probability ``level``, over the noise alone."""

    @abstractmethod
    def expected_error(self, releases: Sequence[Release]) -> Any:
        """The root mean square error the noise is expected to cause."""

    def rank_error(self, releases: Sequence[Release]) -> float | None:
        """For a value chosen by its rank: how many rows off that rank it may be, with probability .95."""
        return None

    def people_needed(self, releases: Sequence[Release]) -> float | None:
        """For bounds that are found: how many people a bin needs to be found."""
        return None

    def gap(self, releases: Sequence[Release]) -> float | None:
        """For labels in the order of their numbers: how many people apart two of them keep it, with probability .95."""
        return None

    def seen_effect(self, releases: Sequence[Release]) -> float | None:
        """For a hypothesis test: the effect that it finds with probability .8."""
        return None

    def own(self, releases: Sequence[Release]) -> Sequence[Release]:
        """The releases with their queries that this reading uses: all of them, or its part of a joint release."""
        return releases

    def error_of_own(self, own: Sequence[Release]) -> Any:
        """The expected error, computed from the releases that ``own`` returns."""
        return self.expected_error(own)

    @property
    def over_deviation(self) -> bool:
        """Whether its error is divided by the deviation of a column: the closer values lie together, the larger it is."""
        return False

    @property
    def labels(self) -> Axes:
        """The axes, where they do not depend on what was released; none for a single number."""
        return ()

    def axes(self, releases: Sequence[Release]) -> Axes:
        """The axes of an answer with several numbers: their names and labels."""
        return self.labels

    def note(self, releases: Sequence[Release]) -> str | None:
        """A remark that a user of the answer needs, if there is one."""
        return None

    def sentence(self, releases: Sequence[Release]) -> str | None:
        """The answer as a sentence, where a number with its interval is not enough."""
        return None

    def headline(self, releases: Sequence[Release]) -> str:
        """What is printed above the answer: of a hypothesis test, what it found."""
        return ""

    @property
    def about_population(self) -> bool:
        """Whether what was released also tells of the population that the table is a sample of."""
        return False

    @property
    def hypothesis(self) -> float | None:
        """For a hypothesis test: the effect under the hypothesis; None where it says no more than that there is none."""
        return None

    def population_interval(self, releases: Sequence[Release], level: float, strict: bool) -> tuple[Any, Any]:
        """Two ends that hold the population's value with probability ``level``, over sampling and noise."""
        raise InvalidRequest(
            "this answer was asked of the table only, and its release cannot tell how people vary; "
            "ask again with of='population'"
        )

    def draw(self, result: Result, axes: matplotlib.axes.Axes, level: float) -> matplotlib.axes.Axes:
        """A picture of the answer with its intervals: dots, or a heat map for a table of two axes."""
        value, scope = np.asarray(result.value), result.scope
        names = result.labels
        title = f"with {100 * level:g} % intervals for {_WHOSE[scope]}"
        if len(names) == 2 and value.ndim == 2 and value.size > _MOST_DOTS:
            return drawing.heat(axes, names, value, "released values")
        low, high = result.interval(level, of=scope)
        words = [
            " · ".join(str(known[i]) for (_, known), i in zip(names, place, strict=True))
            for place in np.ndindex(value.shape)
        ]
        return drawing.dots(axes, words or [""], value, low, high, title, self.measured(result.releases))

    def measured(self, releases: Sequence[Release]) -> str:
        """What the numbers of a picture are, beside its axis: of which columns, or rows where every column is a label."""
        named = {name for name, _ in self.axes(releases)}
        columns = getattr(releases[0].query, "columns", ()) if releases else ()
        return ", ".join(name for name in columns if name not in named) or ("rows" if columns else "")

    def statistic(self, releases: Sequence[Release]) -> float:
        """The test statistic, where the reading is a hypothesis test."""
        raise InvalidRequest(_NO_TEST)

    def pvalue(self, releases: Sequence[Release]) -> float:
        """The p-value, where the reading is a hypothesis test."""
        raise InvalidRequest(_NO_TEST)

    @property
    def method(self) -> str:
        """How the p-value was found, where the reading is a hypothesis test."""
        raise InvalidRequest(_NO_TEST)

    def quantile(self, q: Number) -> Reading:
        """The reading of a quantile, where the release holds the whole distribution."""
        raise InvalidRequest("quantiles are read off a distribution; ask for one, or for quantile(..., interval=True)")

    def curve(self, releases: Sequence[Release]) -> Any:
        """The distribution function at the edges of the bins, where the release holds it."""
        raise InvalidRequest("a curve is read off a distribution; ask for one")

    def band(self, releases: Sequence[Release], level: float, of: str) -> tuple[Any, Any]:
        """Two curves that hold the distribution function, where the release holds it."""
        raise InvalidRequest("a band is read off a distribution; ask for one")

    def restricted_mean(self, until: float | None) -> Reading:
        """The mean time up to an edge, where the release holds a survival curve."""
        raise InvalidRequest(_NO_SURVIVAL)

    def numbers_at_risk(self, releases: Sequence[Release]) -> Any:
        """People at risk at every edge, where the release holds a survival curve."""
        raise InvalidRequest(_NO_SURVIVAL)

    def contrast(self, coefficients: dict[Any, float], ratio_within: tuple[float, float] | None = None) -> Reading:
        """The reading of a contrast of groups, or of the ratio of two of them."""
        got = "this answer is another" if self.about_population else "this answer was asked of the table only"
        raise InvalidRequest(
            f"a contrast is of means by one column of groups, and {got}; ask for a mean with by= and of='population'"
        )

    def test(self, name: str, releases: Sequence[Release], **options: Any) -> Reading:
        """A hypothesis test that is read off the same releases."""
        if not isinstance(name, str) or name not in tests_read_off:
            raise UnknownName(f"no test called {name!r} is read off a release; known: {', '.join(sorted(tests_read_off))}")
        try:
            return tests_read_off[name](self, releases, **options)
        except DiscreetError:
            raise
        except (TypeError, ValueError) as problem:  # arguments that it does not take, or of a type that nobody foresaw
            raise InvalidRequest(f"the test {name!r} takes other arguments ({problem}), got {options!r:.200}") from None


# Tests by name, each a function from the reading of an answer and its releases to that of the test; hypotheses fill it.
tests_read_off: dict[str, Callable[..., Reading]] = {}
readings: Registry[Reading] = Registry("reading")
Reading.registry = readings
SCOPES = ("table", "population")
_WHOSE = {"table": "this table (noise only)", "population": "the population (sampling and noise)"}
_MOST_LINES, _MOST_ROWS = 12, 60  # of an answer as text, and as a table of a notebook
_MOST_DOTS = 24
_NO_SURVIVAL = "this answer is no survival curve; ask for one with survival(time, event, ...)"
_NO_TEST = "this answer is no hypothesis test; ask for one by its name, such as 'ttest_ind'"


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
            + f"\n95 % {'interval' if len(lines) == 1 else 'intervals'} for {_WHOSE[self.scope]}; cost {self.cost}{mark}"
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
