"""The fields of every form, read off the registry: a new statistic or model has a page without a change here."""

from __future__ import annotations

import inspect
from typing import Any

import discreet.hypotheses  # noqa: F401  whose tests are statistics too
from discreet.jobs.fit_file import KINDS, STEPWISE, UNSUPERVISED, model_of
from discreet.statistics import discovery
from discreet.statistics.question import builder, names

_ELSEWHERE = ("by", "of")
_CHOICES = {"alternative": ["two-sided", "less", "greater"], "method": ["pair"]}
_FIRST = ("count", "mean", "share", "median", "histogram", "crosstab", "sum", "compare", "ttest_ind", "chi2_contingency")
_TITLES = {  # what a person calls it; another entry of the registry goes by its own name
    "std": "Standard deviation", "crosstab": "Cross table", "binomtest": "Test of a share", "chisquare": "Test of shares",
    "chi2_contingency": "Chi-squared test of independence", "compare": "Comparison of groups",
    "equal_variances": "Test of equal variances", "f_oneway": "Analysis of variance", "kruskal": "Kruskal–Wallis test",
    "ks_2samp": "Kolmogorov–Smirnov test", "linregress": "Regression line", "logrank": "Log-rank test",
    "mannwhitneyu": "Mann–Whitney test", "pearsonr": "Test of a correlation", "ttest_1samp": "t-test of one mean",
    "ttest_ind": "t-test of two groups", "ttest_rel": "t-test of pairs", "two_sample": "Test of two groups",
    "wilcoxon": "Wilcoxon signed-rank test",
    "survival": "Survival curve",
}  # fmt: skip
_SAYS = {
    "correlation": "How closely two numbers go together on a line, from -1 to 1 (Pearson).",
    "covariance": "How two numbers vary together, with divisor n - 1.",
    "variance": "The variance with divisor n - 1.",
    "people_mean": "The mean over people of what each one's rows amount to.",
    "people_sum": "The sum over people of what each one's rows amount to.",
}
_MODEL_FIELDS = ("ridge", "fit_intercept", "intervals", "components", "hidden_layer_sizes", "epochs", "expected_rows")


def statistics() -> list[dict[str, Any]]:
    """Every registered statistic: its name, what it says, its columns and its options."""
    return [_statistic(name) for name in sorted(names(), key=lambda name: (_order(name), name))]


def models() -> list[dict[str, Any]]:
    """Every kind of model of a fit file, with the parameters that a form offers."""
    made = []
    for kind in KINDS:
        model = type(model_of(kind, {}))
        parameters = inspect.signature(model).parameters.values()
        offered = [_option(p) for p in parameters if p.name in _MODEL_FIELDS]
        said = (inspect.getdoc(model) or "").partition("\n")[0]
        made.append(
            {
                "name": kind,
                "title": model.__name__,
                "says": _plain(said),
                "options": offered,
                "supervised": kind not in UNSUPERVISED,
                "tuned": kind not in (*UNSUPERVISED, *STEPWISE),
            }
        )
    return made


def several() -> dict[str, Any]:
    """The form of several statistics for one price: those that take no column or one."""
    asked = [each for each in statistics() if each["group"] == "Statistics" and not _more_than_one(each)]
    said = "Several statistics for one price: their noise is calibrated together, which costs less than one by one."
    return {"name": "several", "title": "Several at once", "says": said, "statistics": asked}


def _more_than_one(spec: dict[str, Any]) -> bool:
    needed = [option for option in spec["options"] if option["needed"]]
    return len(spec["columns"]) > 1 or any(column["many"] for column in spec["columns"]) or bool(needed)


def synthetic() -> dict[str, Any]:
    """The form of synthetic tables."""
    said = "Tables of made-up people who are, in pairs of columns, like those of the table; conclusions know of the noise."
    return {"name": "tables", "title": "Synthetic tables", "says": said}


def _statistic(name: str) -> dict[str, Any]:
    made = builder(name)
    parameters = list(inspect.signature(made).parameters.values())[1:]
    columns = [
        {"name": p.name, "many": p.kind is p.VAR_POSITIONAL, "needed": p.default is p.empty}
        for p in parameters
        if p.kind is not p.KEYWORD_ONLY
    ]
    by = next((p for p in parameters if p.name == "by"), None)
    of = next((p for p in parameters if p.name == "of"), None)
    group = "Tests" if ".hypotheses." in made.__module__ else "Statistics"
    return {
        "name": name,
        "title": _TITLES.get(name, name.replace("_", " ").capitalize()),
        "says": _SAYS.get(name, _sentence((inspect.getdoc(made) or "").partition("\n\n")[0])),
        "group": "Unknown columns" if name in discovery.FINDERS else group,
        "columns": columns,
        "by": None if by is None else {"needed": by.default is by.empty},
        "of": None if of is None else of.default,
        "options": [_option(p) for p in parameters if p.kind is p.KEYWORD_ONLY and p.name not in _ELSEWHERE],
    }


def _order(name: str) -> int:
    return _FIRST.index(name) if name in _FIRST else len(_FIRST)


def _option(parameter: inspect.Parameter) -> dict[str, Any]:
    default = None if parameter.default is parameter.empty else parameter.default
    plain = default if isinstance(default, bool | int | float | str) else None
    words = str(parameter.annotation)
    kind = "choice" if parameter.name in _CHOICES else "truth" if words == "bool" else "text"
    return {
        "name": parameter.name,
        "title": parameter.name.replace("_", " "),
        "kind": kind,
        "choices": _CHOICES.get(parameter.name, []),
        "default": plain,
        "needed": parameter.default is parameter.empty,
    }


def _sentence(words: str) -> str:
    """The first sentence: what is told before a statistic is chosen."""
    first, stop, _ = _plain(words).partition(". ")
    return first + ("." if stop else "")


def _plain(words: str) -> str:
    return " ".join(words.replace("``", "").split())
