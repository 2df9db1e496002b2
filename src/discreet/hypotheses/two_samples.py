"""Whether two groups differ: the test that finds most at its price, for those who need not choose one themselves."""

from __future__ import annotations

from discreet.hypotheses.ranks import mannwhitneyu
from discreet.hypotheses.ttest import ttest_ind
from discreet.statistics.question import Question, Table, statistic


@statistic("two_sample")
def two_sample(table: Table, column: str, *, by: str, alternative: str = "two-sided") -> Question:
    """Mann and Whitney's test where a person has one row, else Welch's. ``by`` is a category of exactly two labels.

    The noise of the rank sum is worth about 37 / epsilon**2 people in all, that of two means 2 (R / s)**2 / epsilon**2 with
    R the width of the bounds and s the deviation of the values: ranks find more as soon as the bounds are wider than about
    five deviations, and bounds that hold everybody are. Only declarations decide: the rows of a person, never the data.
    """
    test = mannwhitneyu if table.most_rows == 1 else ttest_ind
    return test(table, column, by=by, alternative=alternative)
