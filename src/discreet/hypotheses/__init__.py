"""Hypothesis tests from private releases, in SciPy's habit, one family a file. Importing this package registers them."""

from discreet.hypotheses import ttest
from discreet.hypotheses.functions import ttest_1samp, ttest_ind, ttest_rel

__all__ = ["ttest", "ttest_1samp", "ttest_ind", "ttest_rel"]
