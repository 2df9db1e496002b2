"""How releases become an answer: pure functions of what is public, by name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from discreet.core import drawing
from discreet.core.numbers import Number
from discreet.core.registry import Named, Registry
from discreet.core.release import Release
from discreet.errors import DiscreetError, InvalidRequest, UnknownName

if TYPE_CHECKING:
    import matplotlib.axes

    from discreet.core.result import Result

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
        title = f"with {100 * level:g} % intervals for {WHOSE[scope]}"
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
WHOSE = {"table": "this table (noise only)", "population": "the population (sampling and noise)"}
_MOST_DOTS = 24
_NO_SURVIVAL = "this answer is no survival curve; ask for one with survival(time, event, ...)"
_NO_TEST = "this answer is no hypothesis test; ask for one by its name, such as 'ttest_ind'"
