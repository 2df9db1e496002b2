"""The questions of a session by their names: each is a registered statistic, asked by ``ask``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Unpack

from discreet.core.numbers import Number
from discreet.core.price import Keywords
from discreet.core.result import Result
from discreet.core.schema import Label


class Options(Keywords, total=False):
    """What to spend, and on whom: ``by`` groups by declared categories, ``where`` restricts to some of them.

    ``of="population"`` releases what it takes to speak of the population that the table is a sample of.
    """

    by: str | Sequence[str] | None
    of: str
    where: dict[str, Label | Sequence[Label]] | str


class Questions(ABC):
    """Methods that name a statistic and its columns, and leave the rest to ``ask``."""

    @abstractmethod
    def ask(self, statistic: str, *args: Any, where: dict[str, Any] | str | None = None, **options: Any) -> Result:
        """Any registered statistic by its name."""

    def count(self, **options: Unpack[Options]) -> Result:
        """The number of rows, in all or by group."""
        return self.ask("count", **options)

    def distribution(self, column: str, **options: Any) -> Result:
        """The distribution of a column in public ``bins``: ``.curve()``, ``.band()`` and ``.quantile(q)`` of one release."""
        return self.ask("distribution", column, **options)

    def test(self, name: str, *args: Any, **options: Any) -> Result:
        """A test of ``discreet.hypotheses`` by its name: ``.statistic``, ``.pvalue``, ``.confidence_interval()``."""
        return self.ask(name, *args, **options)

    def survival(self, time: str, event: str, **options: Any) -> Result:
        """Survival curves in public time ``bins``, in all or by group; ``happened`` is the label of the event.

        ``.quantile(q)``, ``.restricted_mean()``, ``.logrank()`` and ``.numbers_at_risk()`` are of the same release.
        """
        return self.ask("survival", time, event, **options)

    def compare(self, column: str, *, by: str, **options: Any) -> Result:
        """Groups' means, their differences and the test of one common mean, from one release.

        ``.difference(one, other)`` and ``.test("ttest_ind", between=(one, other))`` cost nothing more; see also
        ``discreet.hypotheses.differences`` and ``comparison``, a picture.
        """
        return self.ask("compare", column, by=by, **options)

    def share(self, column: str, **options: Unpack[Options]) -> Result:
        """The share of every declared label of a column, in all or by group."""
        return self.ask("share", column, **options)

    def sum(self, column: str, **options: Unpack[Options]) -> Result:
        """The sum of a column."""
        return self.ask("sum", column, **options)

    def mean(self, column: str, **options: Unpack[Options]) -> Result:
        """The mean of a column."""
        return self.ask("mean", column, **options)

    def variance(self, column: str, **options: Unpack[Options]) -> Result:
        """The variance of a column, divisor n - 1."""
        return self.ask("variance", column, **options)

    def std(self, column: str, **options: Unpack[Options]) -> Result:
        """The standard deviation of a column."""
        return self.ask("std", column, **options)

    def covariance(self, x: str, y: str, **options: Unpack[Options]) -> Result:
        """The covariance of two columns."""
        return self.ask("covariance", x, y, **options)

    def covariance_matrix(self, *columns: str, **options: Any) -> Result:
        """The covariances of all pairs of columns, from one release."""
        return self.ask("covariance_matrix", *columns, **options)

    def correlation(self, x: str, y: str, **options: Unpack[Options]) -> Result:
        """Pearson's correlation of two columns."""
        return self.ask("correlation", x, y, **options)

    def pooled_variance(self, column: str, *, by: str, **options: Any) -> Result:
        """The variance within groups."""
        return self.ask("pooled_variance", column, by=by, **options)

    def pooled_covariance(self, x: str, y: str, *, by: str, **options: Any) -> Result:
        """The covariance within groups."""
        return self.ask("pooled_covariance", x, y, by=by, **options)

    def histogram(self, column: str, **options: Any) -> Result:
        """Counts in public bins: ``bins`` (a number or edges), ``normalize``, ``allow_negative``."""
        return self.ask("histogram", column, **options)

    def crosstab(self, *columns: str, **options: Any) -> Result:
        """Counts of every combination of declared categories."""
        return self.ask("crosstab", *columns, **options)

    def median(self, column: str, **options: Any) -> Result:
        """The median of a column; options as for ``quantile``."""
        return self.ask("median", column, **options)

    def quantile(self, column: str, q: Number, **options: Any) -> Result:
        """The value below which a share ``q`` of the rows lies.

        ``interval=True`` (also with ``by``) reads it off a distribution, ``method="pair"`` buys two more quantiles where the
        number of rows is public: both have intervals in values.
        """
        return self.ask("quantile", column, q=q, **options)

    def bounds(self, column: str, **options: Any) -> Result:
        """Bounds for a column declared with a wide outer range: ``unit`` or ``bins`` as for the function."""
        return self.ask("bounds", column, **options)

    def categories(self, column: str, **options: Any) -> Result:
        """The labels of a column declared as ``Categories("private")`` that enough people have: ``minimum``, ``counts``."""
        return self.ask("categories", column, **options)
