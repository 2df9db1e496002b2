"""Hypothesis tests from private releases, in SciPy's habit, one family a file. Importing this package registers them."""

from discreet.hypotheses import anova, association, chi_square, distributions, logrank, ranks, shares, ttest, variances
from discreet.hypotheses.functions import (
    binomtest,
    chi2_contingency,
    chisquare,
    compare,
    equal_variances,
    f_oneway,
    kruskal,
    ks_2samp,
    linregress,
    mannwhitneyu,
    pearsonr,
    ttest_1samp,
    ttest_ind,
    ttest_rel,
    wilcoxon,
)
from discreet.hypotheses.multiplicity import Holm, holm
from discreet.hypotheses.of_tests import of_tests
from discreet.hypotheses.pictures import comparison, differences
from discreet.hypotheses.words import describe

__all__ = [
    "Holm",
    "anova",
    "association",
    "binomtest",
    "chi2_contingency",
    "chi_square",
    "chisquare",
    "compare",
    "comparison",
    "describe",
    "differences",
    "distributions",
    "equal_variances",
    "f_oneway",
    "holm",
    "kruskal",
    "ks_2samp",
    "linregress",
    "logrank",
    "mannwhitneyu",
    "of_tests",
    "pearsonr",
    "ranks",
    "shares",
    "ttest",
    "ttest_1samp",
    "ttest_ind",
    "ttest_rel",
    "variances",
    "wilcoxon",
]
