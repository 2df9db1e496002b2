"""Hypothesis tests from private releases, in SciPy's habit, one family a file. Importing this package registers them."""

from discreet.hypotheses import logrank, ranks, ttest
from discreet.hypotheses.functions import kruskal, mannwhitneyu, ttest_1samp, ttest_ind, ttest_rel, wilcoxon

__all__ = [
    "kruskal",
    "logrank",
    "mannwhitneyu",
    "ranks",
    "ttest",
    "ttest_1samp",
    "ttest_ind",
    "ttest_rel",
    "wilcoxon",
]
