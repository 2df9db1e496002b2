"""Every statistic: the exact value against NumPy, the declared distance against neighbours, the words it is asked in."""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet.core.query import RELATIONS, Relation
from discreet.core.result import Result
from discreet.errors import DiscreetError, InvalidRequest, UnknownName
from discreet.sources import open_source
from discreet.statistics import reading
from discreet.statistics.question import Question, Table, builder, names

INF = math.inf
POPULATION = {"of": "population"}

# How each statistic is asked of the messy table below, without its noise.
ASKED: dict[str, list[tuple[tuple[Any, ...], dict[str, Any]]]] = {
    "bounds": [(("x",), {"unit": "0.01"}), (("visits",), {}), (("x",), {"bins": 9})],
    "count": [((), {}), ((), {"by": "sex"}), ((), {"by": ["sex", "town"]}), ((), {"by": "sex", **POPULATION})],
    "count_distinct": [(("town",), {}), (("visits",), {}), (("bins(x, [-2, 0, 1, 4])",), {})],
    "count_people": [((), {}), ((), {"by": "sex"}), ((), {"by": ["sex", "town"]})],
    "people_sum": [(("x",), {"clip": [-3, 5]}), (("visits",), {"clip": [0, 20], "by": "sex"}), ((), {"each": "count"})],
    "people_mean": [(("x",), {"clip": [-3, 5], "by": "town"}), (("y",), {"each": "mean", **POPULATION}),
                    ((), {"each": "count", "clip": [0, 2]}), (("x",), {"clip": [0.5, 1.5], "by": "sex", **POPULATION})],
    "top": [(("town",), {"k": 2}), (("sex",), {"k": 1})],
    "share": [(("sex",), {}), (("sex",), {"by": "town"})],
    "sum": [(("x",), {}), (("x",), {"by": "sex"}), (("visits",), {}), (("x",), POPULATION),
            (("x",), {"by": "sex", **POPULATION}), (("x",), {"population_size": 50, **POPULATION})],
    "mean": [(("x",), {}), (("visits",), {"by": "town"}), (("x",), POPULATION), (("visits",), {"by": "town", **POPULATION})],
    "variance": [(("x",), {}), (("x",), {"by": "sex"}), (("x",), POPULATION), (("x",), {"by": "sex", **POPULATION})],
    "std": [(("x",), {}), (("x",), POPULATION)],
    "covariance": [(("x", "y"), {}), (("x", "y"), {"by": "sex"}), (("x", "y"), POPULATION)],
    "covariance_matrix": [(("x", "y", "visits"), {}), (("x",), {"positive": False})],
    "correlation": [(("x", "y"), {}), (("x", "y"), POPULATION)],
    "pooled_variance": [(("x",), {"by": "town"}), (("x",), {"by": "town", **POPULATION})],
    "pooled_covariance": [(("x", "y"), {"by": "town"}), (("x", "y"), {"by": "town", **POPULATION})],
    "histogram": [(("x",), {"bins": 7}), (("x",), {"bins": [-2, 0, 0.5, 4], "by": "sex"}), (("x",), {"normalize": True})],
    "crosstab": [(("sex",), {}), (("sex", "town"), {})],
    "quantile": [(("x",), {"q": "0.25"}), (("visits",), {"q": "0.9"}), (("visits",), {"q": "0.9", "interval": True})],
    "median": [(("x",), {}), (("x",), {"by": "sex", "bins": 100})],
    "distribution": [(("x",), {"bins": 100}), (("x",), {"bins": [-2, 0, 0.5, 4], "by": "sex"}), (("visits",), {})],
    "binomtest": [(("arm",), {}), (("sex",), {"label": "f"})],
    "chi2_contingency": [(("sex", "town"), {})],
    "chisquare": [(("town",), {})],
    "compare": [(("x",), {"by": "town"})],
    "equal_variances": [(("x",), {"by": "arm"})],
    "f_oneway": [(("x",), {"by": "town"})],
    "ks_2samp": [(("x",), {"by": "arm"})],
    "linregress": [(("x", "y"), {})],
    "pearsonr": [(("x", "y"), {})],
    "ttest_1samp": [(("x",), {"popmean": 1.0})],
    "ttest_ind": [(("x",), {"by": "arm"})],
    "ttest_rel": [(("x", "y"), {})],
    "two_sample": [(("x",), {"by": "arm"})],
    "mannwhitneyu": [(("x",), {"by": "arm"}), (("visits",), {"by": "arm", "alternative": "less"})],
    "kruskal": [(("x",), {"by": "sex"}), (("visits",), {"by": "town", "draws": 99})],
    "wilcoxon": [(("x",), {}), (("x", "y"), {}), (("visits",), {"centre": 3.0})],
    "survival": [(("x", "y"), {"by": "town"}), (("visits", "arm"), {"happened": "b", "bins": [0, 3, 6]})],
    "logrank": [(("x", "y"), {"by": "arm", "bins": 4})],
}  # fmt: skip
ONE_ROW = {"mannwhitneyu", "kruskal", "wilcoxon", "survival", "logrank"}  # refused where a person may have several
EVERY = [(name, args, kwargs) for name, asked in ASKED.items() for args, kwargs in asked]


def schema(relation: Relation, people: int | None = None) -> ds.Schema:
    person: dict[str, Any] = {} if people is None else {"person": "id", "max_rows": people}
    columns = {
        "x": ds.Real(-2, 4),
        "y": ds.Real(0, 1),
        "visits": ds.Integer(0, 12),
        "sex": ds.Categories(["f", "m"], other="other"),
        "town": ds.Categories(["a", "b", "c"], missing="c"),
        "arm": ds.Categories(["a", "b"], missing="a"),
    }
    return ds.Schema(columns, neighbors=relation, **person)


def records(rng: np.random.Generator, size: int, extreme: bool = False) -> dict[str, list[Any]]:
    """Rows with everything that can be wrong with a row."""
    x = rng.choice([-2.0, 4.0, 9.0, -INF], size) if extreme else rng.choice([rng.uniform(-3, 5), math.nan, INF, 0.5], size)
    return {
        "x": x.tolist(),
        "y": (rng.choice([0.0, 1.0], size) if extreme else rng.uniform(-0.2, 1.2, size)).tolist(),
        "visits": rng.choice([0, 3, 12, 40, -1], size).tolist(),
        "sex": rng.choice(["f", "m", "?", ""], size).tolist(),
        "town": rng.choice(["a", "b", "c", "elsewhere"], size).tolist(),
        "arm": rng.choice(["a", "b", ""], size).tolist(),
        "id": rng.integers(0, max(1, size // 3), size).tolist(),
    }


def rows_of(table: dict[str, list[Any]]) -> int:
    return len(table["x"])


def without(table: dict[str, list[Any]], drop: set[int]) -> dict[str, list[Any]]:
    return {k: [v for i, v in enumerate(vs) if i not in drop] for k, vs in table.items()}


def ask_exactly(question: Question, table: dict[str, list[Any]], facts: ds.Schema) -> np.ndarray:
    exact = question.query.evaluate(open_source(table, facts))
    return np.asarray(exact.value if hasattr(exact, "value") else exact, np.float64)


def build(name: str, facts: ds.Schema, args: tuple[Any, ...], kwargs: dict[str, Any], rows: int | None) -> Question:
    return builder(name)(Table(facts, rows), *args, **kwargs)


def test_every_statistic_is_asked_here() -> None:
    assert ds.hypotheses  # loaded when it is first used: its tests are statistics too
    ours = {name for name in names() if builder(name).__module__.startswith("discreet.")}  # a page's example may add one
    assert set(ASKED) | {"categories"} == ours  # which has keys for cells, and tests of its own


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(("name", "args", "kwargs"), EVERY)
def test_declared_distance_covers_neighbours(name: str, args: Any, kwargs: Any, relation: Relation) -> None:
    """Random and extreme neighbours, with and without several rows a person, never move further than declared."""
    rng = np.random.default_rng(3)
    for trial in range(12):
        people = (None, 1, 1 if name in ONE_ROW else 3)[trial % 3]
        facts = schema(relation, people)
        table = records(rng, int(rng.integers(4, 14)), extreme=bool(trial % 2))
        size = rows_of(table)
        public = size if relation == "replace" and people is None else None
        question = build(name, facts, args, kwargs, public)
        distance = question.query.distance(relation)
        here = ask_exactly(question, table, facts)
        for other in neighbours(rng, table, relation, people):
            moved = np.abs(here - ask_exactly(question, other, facts))
            assert moved.sum() <= float(distance.l1) * (1 + 1e-12)
            assert math.sqrt((moved**2).sum()) <= float(distance.l2) * (1 + 1e-12)
            assert moved.max() <= float(distance.linf) * (1 + 1e-12)


def neighbours(rng: np.random.Generator, table: dict[str, list[Any]], relation: Relation, people: int | None) -> Any:
    """Tables that differ in one person: a row, or all rows of an id."""
    size = rows_of(table)
    place = int(rng.integers(size))
    mine = {place} if people is None else {i for i, v in enumerate(table["id"]) if v == table["id"][place]}
    gone = without(table, mine)
    if relation in ("add_remove", "both"):
        yield gone
    if relation in ("replace", "both"):
        for extreme in (True, False):
            fresh = records(rng, len(mine) if people is None else int(rng.integers(1, 6)), extreme)
            fresh["id"] = [table["id"][place]] * rows_of(fresh)
            if people is None:  # in its own place: positions are public
                yield {k: [fresh[k][0] if i == place else v for i, v in enumerate(vs)] for k, vs in table.items()}
            else:
                yield {k: gone[k] + fresh[k] for k in table}


@pytest.mark.parametrize(
    ("name", "bounds", "sensitivity"),
    [("mean", 10.0, "R/n"), ("variance", 10.0, "R**2/n"), ("covariance", 10.0, "R**2/n")],
)
def test_replace_distances_are_tight(name: str, bounds: float, sensitivity: str) -> None:
    """Some pair of neighbours in {lo, hi}^6 reaches the declared distance."""
    n, width = 6, bounds
    facts = ds.Schema({"x": ds.Real(0, bounds), "y": ds.Real(0, bounds)}, neighbors="replace")
    question = build(name, facts, ("x", "y") if name == "covariance" else ("x",), {}, n)
    declared = float(question.query.distance("replace").l1)
    values = {}
    for bits in itertools.product([0.0, width], repeat=n):
        values[bits] = float(ask_exactly(question, {"x": list(bits), "y": list(bits)}, facts).item())
    moves = [abs(values[b] - values[(*b[:i], width - b[i], *b[i + 1 :])]) for b in values for i in range(n)]
    if name == "mean":
        declared, moves = declared / n, [m / n for m in moves]
    assert max(moves) == pytest.approx(declared, rel=1e-5)
    assert declared == pytest.approx(1 / n, rel=1e-5)


def test_goldens_without_noise() -> None:
    """Published values: variance, covariance and pooled variance with their sensitivities."""
    x, y, groups = [1, 4, 3, 2], [-2, -3, -4, -1], [(1, 4, -2, 8, -6), (1, 2), (-5, -7)]
    both = ((0, 5), (-5, 0))
    for relation in RELATIONS:
        setting: dict[str, Any] = {"epsilon": INF, "neighbors": relation}
        assert ds.variance(x, bounds=(0, 5), **setting).value == pytest.approx(5 / 3, abs=1e-6)
        assert ds.covariance(x, y, bounds=both, **setting).value == pytest.approx(-1, abs=1e-6)
        assert ds.pooled_variance(groups, bounds=(-10, 10), **setting).value == pytest.approx(19.75, abs=1e-6)

    def moved(result: Result, square: float) -> float:
        return float(result.releases[0].distance.l1) * square  # type: ignore[union-attr]

    replace: dict[str, Any] = {"epsilon": 1, "neighbors": "replace"}
    assert moved(ds.variance(x, bounds=(0, 5), **replace), 25) == pytest.approx(6.25, rel=1e-6)
    assert moved(ds.covariance(x, y, bounds=both, **replace), 25) == pytest.approx(6.25, rel=1e-6)
    assert moved(ds.pooled_variance(groups, bounds=(-10, 10), **replace), 400) == pytest.approx(160 / 3, rel=1e-6)
    approx = ds.pooled_variance(groups, bounds=(-10, 10), approx_n_max=True, **replace)
    assert moved(approx, 400) == pytest.approx(200 / 3, rel=1e-6)
    pairs = [np.column_stack([g, g]) for g in groups]
    wide = ((-10, 10), (-10, 10))
    private = ds.pooled_covariance(pairs, bounds=wide, labels="private", **replace)
    assert moved(private, 400) == pytest.approx(400 * 2 * (1 - 2 / 10) / 6, rel=1e-6)
    assert not private.releases[0].query.public_labels  # type: ignore[union-attr]


columns = st.lists(st.floats(-4, 6), min_size=3, max_size=40)


@settings(max_examples=40, deadline=None)
@given(columns, st.sampled_from(RELATIONS))
def test_exact_values_agree_with_numpy(values: list[float], relation: Relation) -> None:
    x = np.clip(np.array(values), -2, 4)
    y = np.clip(np.array(values[::-1]) / 3, -1, 1)
    setting: dict[str, Any] = {"epsilon": INF, "neighbors": relation}
    both = ((-2, 4), (-1, 1))
    assert ds.count(values, **setting).value == len(values)
    assert ds.sum(values, bounds=(-2, 4), **setting).value == pytest.approx(x.sum(), abs=1e-6)
    assert ds.mean(values, bounds=(-2, 4), **setting).value == pytest.approx(x.mean(), abs=1e-7)
    assert ds.variance(values, bounds=(-2, 4), **setting).value == pytest.approx(x.var(ddof=1), abs=1e-6)
    assert ds.std(values, bounds=(-2, 4), **setting).value == pytest.approx(x.std(ddof=1), abs=1e-3)
    assert ds.covariance(x, y, bounds=both, **setting).value == pytest.approx(np.cov(x, y)[0, 1], abs=1e-6)
    if x.std() > 0.1 and y.std() > 0.1:
        assert ds.correlation(x, y, bounds=both, **setting).value == pytest.approx(np.corrcoef(x, y)[0, 1], abs=1e-5)
    counts = ds.histogram(values, bounds=(-2, 4), bins=6, **setting).value
    assert counts.sum() == len(values)
    assert (counts == np.histogram(x, 6, (-2, 4))[0]).all() or np.abs(x - np.rint(x)).min() < 1e-9
    middle = ds.median(values, bounds=(-2, 4), **setting).value
    assert np.mean(x <= middle + 1e-4) >= 0.5
    assert np.mean(x >= middle - 1e-4) >= 0.5


def test_values_on_edges_fall_into_the_bin_above() -> None:
    """Whole numbers on whole edges, in bounds that no binary fraction divides."""
    for bins in (3, 7, 10, 49, 100):
        x = np.arange(bins + 1) * 0.1
        got = ds.histogram(x, bounds=(0, bins * 0.1), bins=bins, epsilon=INF).value
        assert got.tolist() == [1.0] * (bins - 1) + [2.0]


def test_histogram_options() -> None:
    x = [0.5, 1.5, 1.6, 9.0]
    density = ds.histogram(x, bounds=(0, 4), bins=[0, 1, 2, 4], normalize=True, epsilon=INF)
    assert density.value.tolist() == [0.25, 0.5, 0.125]
    assert (density.value * [1, 1, 2]).sum() == 1
    negative = ds.histogram([], bounds=(0, 1), bins=200, epsilon=1, allow_negative=True, seed=1).value
    assert negative.min() < 0
    assert ds.histogram([], bounds=(0, 1), bins=200, epsilon=1, seed=1).value.min() == 0


def test_empty_and_hopeless_tables_are_answered() -> None:
    """No rows, one row, nothing but missing values: an answer with noise, never an error."""
    for relation, values in itertools.product(("add_remove", "both"), ([], [math.nan] * 3, [1.0])):
        setting: dict[str, Any] = {"epsilon": 1, "neighbors": relation, "seed": 4}
        for name in ("sum", "mean", "variance", "std", "median"):
            value = float(getattr(ds, name)(values, bounds=(0, 2), **setting))
            assert math.isfinite(value)
        both = ((0, 2), (0, 2))
        assert -1 <= ds.correlation(values, values, bounds=both, **setting).value <= 1
        assert math.isfinite(ds.covariance(values, values, bounds=both, **setting).value)
        assert ds.mean(values, bounds=(0, 2), **setting).interval()[0] >= 0
    assert math.isfinite(ds.mean([math.nan, 1.0], bounds=(0, 2), epsilon=1, neighbors="replace").value)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(("name", "args", "kwargs"), EVERY)
def test_functions_of_a_session_and_documents(
    name: str, args: Any, kwargs: Any, relation: Relation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every statistic under every law: a value of the right shape, an interval around it, and back from JSON."""
    monkeypatch.setattr(reading, "_RUNS", 2000)  # redraws: that intervals cover is tested elsewhere
    session = ds.Session(records(np.random.default_rng(1), 60), schema(relation), ledger="test", seed=5)
    for spend in ({"epsilon": 2}, {"epsilon": "0.5", "delta": "1e-3"}, {"rho": "0.5"},
                  {"epsilon": "0.5", "delta": "1e-3", "calibration": "classical"},
                  {"epsilon": 2, "delta": "1e-3", "calibration": "probabilistic"}):  # fmt: skip
        if "delta" in spend and builder(name).__module__.startswith("discreet.hypotheses"):
            continue  # their calibrations are those of the statistics, and their intervals take long
        if "calibration" in spend and relation != "both":
            continue  # how a scale is found from a distance does not depend on whose distance it is
        result = session.ask(name, *args, **kwargs, **spend)  # type: ignore[arg-type]
        low, high = result.interval(0.9)
        assert (np.asarray(low) <= np.asarray(high)).all()
        assert result.relation == relation
        if name not in ("quantile", "median", "top"):
            asked = result.cost.rho if "rho" in spend else result.cost.epsilon
            assert asked == Fraction(str(spend.get("rho", spend.get("epsilon"))))
        document = result.to_json()
        again = Result.from_json(document)
        assert np.array_equal(np.asarray(again.value), np.asarray(result.value))
        assert str(again.interval(0.9)) == str((low, high))
        assert json.loads(document)["kind"] == "result"
        assert len(result.to_frame()) == np.size(result.value)
        assert "not private" in result._repr_html_()


def test_a_session_and_the_functions_give_the_same_numbers() -> None:
    x = np.random.default_rng(0).normal(1, 1, 300)
    for relation in RELATIONS:
        facts = ds.Schema({"x": ds.Real(-2, 4)}, neighbors=relation)
        for name, kwargs in (
            ("sum", {}),
            ("mean", {}),
            ("variance", {}),
            ("std", {}),
            ("median", {}),
            ("histogram", {"bins": 5}),
        ):
            session = ds.Session({"x": x}, facts, ledger="test", seed=9)
            ours = session.ask(name, "x", epsilon=1, **kwargs)
            theirs = getattr(ds, name)(x, bounds=(-2, 4), epsilon=1, neighbors=relation, seed=9, **kwargs)
            assert np.array_equal(ours.value, theirs.value)


def test_joint_questions_share_one_calibration() -> None:
    """Mean and variance of 100 values in [5, 10]: the published scales for Laplace, equal and by proportions."""
    x = np.random.default_rng(0).uniform(5, 10, 100)
    setting: dict[str, Any] = {"bounds": (5, 10), "neighbors": "replace", "seed": 1}
    mean, variance = ds.together(x, ["mean", "variance"], epsilon=1, shares=["0.25", "0.75"], **setting)
    law: Any = mean.releases[0].mechanism
    assert [float(law.scales[0]) * 5 / 100, float(law.scales[1]) * 25] == pytest.approx([0.2, 1 / 3], rel=1e-6)
    assert mean.cost.epsilon == 1
    same = ds.together(x, ["mean", "variance"], epsilon=1, shares=["0.05", "0.25"], **setting)[0].releases[0].mechanism
    assert [float(same.scales[0]) * 5 / 100, float(same.scales[1]) * 25] == pytest.approx([0.3, 0.3], rel=1e-6)  # type: ignore[attr-defined]
    assert mean.releases == variance.releases
    assert mean.interval()[0] < mean.value < mean.interval()[1]
    joint = ds.together(x, ["mean", "variance"], epsilon="0.9", delta="0.01", **setting)
    sigma: Any = joint[0].releases[0].mechanism
    assert float(sigma.scales[0]) == pytest.approx(2.8741529 * 1.0, rel=1e-6)
    again = Result.from_json(joint[1].to_json())
    assert again.value == joint[1].value
    with pytest.raises(InvalidRequest, match="by themselves"):
        ds.together(x, ["mean", "median"], epsilon=1, **setting)
    session = ds.Session({"x": x}, ds.Schema({"x": ds.Real(5, 10)}), ledger="test", seed=2)
    count, total = session.together([("count",), ("sum", "x")], epsilon=5)
    assert count.value == pytest.approx(100, abs=10)
    assert total.value == pytest.approx(x.sum(), rel=0.2)


def test_quantiles_share_a_pass_and_the_price() -> None:
    x = np.random.default_rng(0).uniform(0, 1, 20_000)
    low, middle, high = ds.quantile(x, ["0.25", "0.5", "0.75"], bounds=(0, 1), epsilon=3, seed=1)
    assert [low.value, middle.value, high.value] == pytest.approx([0.25, 0.5, 0.75], abs=0.02)
    assert low.cost.epsilon == 1
    assert low.reading.rank_error(low.releases) < 100
    ages = np.random.default_rng(0).integers(0, 90, 5000)
    session = ds.Session({"age": ages}, ds.Schema({"age": ds.Integer(0, 120)}), ledger="test", seed=2)
    assert float(session.median("age", epsilon=1)) == pytest.approx(np.median(ages), abs=2)
    assert float(session.median("age", epsilon=1)).is_integer()
    rho = session.quantile("age", "0.5", rho="0.125")
    assert rho.cost.epsilon == pytest.approx(1, rel=1e-9)
    assert rho.cost.rho <= Fraction(1, 8)


def test_quantile_ranks_stay_exact_for_any_level() -> None:
    """A third as a float has a denominator of 1e16: ranks times it would leave 64 bits at a number of rows."""
    facts = ds.Schema({"x": ds.Real(0, 1)})
    question = build("quantile", facts, ("x",), {"q": 1 / 3}, None)
    assert question.query.q == Fraction(1, 3)  # type: ignore[attr-defined]
    for n in (1383, 2768):
        here = ask_exactly(question, {"x": [0.01] * n}, facts)
        there = ask_exactly(question, {"x": [0.01] * (n + 1)}, facts)
        assert np.abs(here - there).max() <= float(question.query.distance("add_remove").linf)
    with pytest.raises(InvalidRequest, match="denominator"):
        type(question.query)("x", 0.0, 1.0, 10, Fraction(1, 10**9))  # type: ignore[call-arg]


def test_a_column_beside_itself() -> None:
    """The covariance of a column with itself is its variance, and factors come in any order."""
    x = np.random.default_rng(0).normal(1, 1, 50)
    both = ds.Session(
        {"x": x, "g": ["a", "b"] * 25}, ds.Schema({"x": ds.Real(-2, 4), "g": ds.Categories(("a", "b"))}), ledger="test"
    )
    clipped = np.clip(x, -2, 4)
    assert both.covariance("x", "x", epsilon=INF).value == pytest.approx(clipped.var(ddof=1), abs=1e-6)
    assert both.correlation("x", "x", epsilon=INF).value == pytest.approx(1, abs=1e-6)
    facts = both.schema
    table = Table(facts)
    there = table.cells(table.factor("linear", "x"), table.factor("category", "g"))
    here = table.cells(table.factor("category", "g"), table.factor("linear", "x"))
    rows = {"x": x.tolist(), "g": ["a", "b"] * 25}
    values = [q.evaluate(open_source(rows, facts)).counts for q in (here, there)]
    assert (values[0] == values[1].T).all()


def test_sums_stand_still_instead_of_turning_over() -> None:
    query = build("sum", ds.Schema({"x": ds.Real(0, 1)}), ("x",), {}, None).query
    big = np.array([(1 << 62) - 1])
    assert (query.combine(big, big) == big).all()  # type: ignore[attr-defined]


@pytest.mark.parametrize("bounds", [(0, 1e-300), (0, 1e200), (-1e308, 1e308), (0, 5e-324)])
def test_bounds_beyond_the_doubles_are_refused(bounds: tuple[float, float]) -> None:
    with pytest.raises(InvalidRequest, match="another unit"):
        ds.sum([0.0], bounds=bounds, epsilon=1)


def test_altered_documents_are_refused() -> None:
    """A result that makes itself cheaper than its law and query say."""
    doc = json.loads(ds.mean([1, 2], bounds=(0, 2), epsilon=5).to_json())
    release = doc["releases"][0]
    cheap = ds.Cost.pure("1e-6").to_dict()
    changes: list[dict[str, Any]] = [
        {"cost": cheap},
        {"distance": release["distance"] | {"l1": "1/2"}},
        {"distance": {"l1": "-1", "l2": "1", "linf": "1"}},
        {"value": [[1], [1, 2]]},
        {"query": release["query"] | {"factors": [{"kind": "odd", "column": "x"}]}},
    ]
    for change in changes:
        with pytest.raises(DiscreetError):
            Result.from_json(json.dumps(doc | {"releases": [release | change]}))
    marked = Result.from_json(json.dumps(doc | {"releases": [release | {"private": "no"}]}))
    assert not marked.private
    with pytest.raises(DiscreetError):
        ds.Release.from_json("[" * 100_000)


def test_noise_of_add_remove_beats_the_printed_formulas() -> None:
    """n = 500, sd 2 around 3 in [-3, 9], epsilon 1: 1.42 and 2.37 times less noise than sensitivity / epsilon."""
    x = np.clip(np.random.default_rng(0).normal(3, 2, 500), -3, 9)
    printed = math.sqrt(2) * 12 / 500, math.sqrt(2) * 144 / 500
    for name, old, factor in zip(("mean", "variance"), printed, (1.42, 2.37), strict=True):
        error = getattr(ds, name)(x, bounds=(-3, 9), epsilon=1).expected_error
        assert old / error == pytest.approx(factor, rel=0.05)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", ["sum", "mean", "variance", "std", "histogram"])
def test_expected_error_and_intervals_hold(name: str, relation: Relation) -> None:
    """500 runs: root mean square error within 20 % of the one reported, coverage of 90 % intervals at false alarm 1e-6."""
    x = np.random.default_rng(2).normal(3, 2, 400)
    kwargs: dict[str, Any] = {"bins": 1} if name == "histogram" else {}
    setting: dict[str, Any] = {"bounds": (-3, 9), "neighbors": relation, **kwargs}
    truth = np.asarray(getattr(ds, name)(x, epsilon=INF, **setting).value)
    errors, inside, reported = [], 0, []
    for seed in range(500):
        result = getattr(ds, name)(x, epsilon="0.5", seed=seed, **setting)
        errors.append(float((np.asarray(result.value) - truth).reshape(-1)[0]))
        if seed < 100:
            low, high = (float(np.reshape(end, -1)[0]) for end in result.interval(0.9))
            inside += low - 1e-9 <= float(truth.reshape(-1)[0]) <= high + 1e-9
            reported.append(float(np.reshape(result.expected_error, -1)[0]))
    assert math.sqrt(np.mean(np.square(errors))) == pytest.approx(np.mean(reported), rel=0.2)
    assert inside >= 74  # binomial(100, 0.9) falls below with probability 3e-6 / 2


BAD_REQUESTS: list[Any] = [
    lambda s: s.mean("nowhere", epsilon=1),
    lambda s: s.mean("sex", epsilon=1),
    lambda s: s.crosstab("x", epsilon=1),
    lambda s: s.crosstab(epsilon=1),
    lambda s: s.mean("x", by="x", epsilon=1),
    lambda s: s.mean("x", by=["sex", "sex"], epsilon=1),
    lambda s: s.mean("x"),
    lambda s: s.mean("x", epsilon=0),
    lambda s: s.mean("x", epsilon=-1),
    lambda s: s.mean("x", epsilon=math.nan),
    lambda s: s.mean("x", epsilon=INF),
    lambda s: s.mean("x", epsilon=1, delta=0),
    lambda s: s.mean("x", epsilon=1, delta=1),
    lambda s: s.mean("x", epsilon=1, rho=1),
    lambda s: s.mean("x", rho=1, delta="0.1"),
    lambda s: s.mean("x", epsilon=1, mechanism="gaussian"),
    lambda s: s.mean("x", rho=1, mechanism="laplace"),
    lambda s: s.mean("x", epsilon=1, mechanism="cauchy"),
    lambda s: s.mean("x", epsilon=1, calibration="best"),
    lambda s: s.mean("x", epsilon=2, delta="0.1", calibration="classical"),
    lambda s: s.mean("x", where={"sex": "x"}, epsilon=1),
    lambda s: s.mean("x", where={"x": 1}, epsilon=1),
    lambda s: s.histogram("x", bins=0, epsilon=1),
    lambda s: s.histogram("x", bins=[1], epsilon=1),
    lambda s: s.histogram("x", bins=[1, 1], epsilon=1),
    lambda s: s.histogram("x", bins=[0, INF], epsilon=1),
    lambda s: s.histogram("x", bins="many", epsilon=1),
    lambda s: s.quantile("x", 2, epsilon=1),
    lambda s: s.quantile("x", "half", epsilon=1),
    lambda s: s.ask("mode", "x", epsilon=1),
    lambda s: s.together([], epsilon=1),
    lambda s: s.together(["count"], epsilon=1),
    lambda s: s.together([("count",)], epsilon=1, foo=1),
    lambda s: s.mean("x", epsilon=1, where="sex == 'nobody'"),
    lambda s: s.mean("x", epsilon=1, where="sex ="),
    lambda s: s.mean("x", epsilon=1, foo=1),
    lambda s: s.pooled_variance("x", by="x", epsilon=1),
]


@pytest.mark.parametrize("bad", BAD_REQUESTS)
def test_bad_requests_are_refused_and_cost_nothing(bad: Any) -> None:
    session = ds.Session(records(np.random.default_rng(0), 5), schema("add_remove"), ds.Budget(epsilon=10, delta="0.5"))
    with pytest.raises(DiscreetError) as caught:
        bad(session)
    assert len(str(caught.value)) > 20
    assert session.spent().epsilon == 0
    assert session.ledger.verify() == 0


@pytest.mark.parametrize(
    "bad",
    [
        lambda: ds.mean([1, 2], bounds=(1, 0), epsilon=1),
        lambda: ds.mean([1, 2], bounds=(1, 1), epsilon=1),
        lambda: ds.mean([1, 2], bounds=(0, INF), epsilon=1),
        lambda: ds.mean([1, 2], bounds=3, epsilon=1),  # type: ignore[arg-type]
        lambda: ds.mean([[1, 2]], bounds=(0, 1), epsilon=1),
        lambda: ds.mean(["a"], bounds=(0, 1), epsilon=1),
        lambda: ds.mean([1], bounds=(0, 1), epsilon=1, neighbors="nearby"),  # type: ignore[arg-type]
        lambda: ds.mean([1], bounds=(0, 1), epsilon=1, leger=None),  # type: ignore[call-arg]
        lambda: ds.mean([1], bounds=(0, 1), eps=1),  # type: ignore[call-arg]
        lambda: ds.mean([1], bounds=(0, 1), epsilon=1, ledger="sqlite://"),  # type: ignore[arg-type]
        lambda: ds.mean([], bounds=(0, 1), epsilon=1, neighbors="replace"),
        lambda: float(ds.histogram([1], bounds=(0, 1), epsilon=1)),
        lambda: ds.variance([1], bounds=(0, 1), epsilon=1, neighbors="replace"),
        lambda: ds.covariance([1], [1], bounds=(0, 1), epsilon=1),  # type: ignore[arg-type]
        lambda: ds.covariance([1], [1, 2], bounds=((0, 1), (0, 1)), epsilon=1),
        lambda: ds.crosstab(["a"], categories=[], epsilon=1),
        lambda: ds.crosstab(["a"], categories=[["a", "a"]], epsilon=1),
        lambda: ds.pooled_variance([], bounds=(0, 1), epsilon=1),
        lambda: ds.pooled_variance([[1, 2]], bounds=(0, 1), epsilon=1, labels="secret"),
        lambda: ds.pooled_covariance([[1, 2]], bounds=((0, 1), (0, 1)), epsilon=1),
    ],
)
def test_bad_arrays_are_refused(bad: Any) -> None:
    with pytest.raises(InvalidRequest) as caught:
        bad()
    assert len(str(caught.value)) > 20


def test_missing_bounds_are_a_type_error() -> None:
    with pytest.raises(TypeError, match="bounds"):
        ds.mean([1, 2], epsilon=1)  # type: ignore[call-arg]


def test_help_says_what_to_spend() -> None:
    for name in ("mean", "count", "crosstab"):
        assert "epsilon" in getattr(ds, name).__doc__
        assert "ledger" in getattr(ds, name).__doc__


def test_unknown_statistic_is_named() -> None:
    with pytest.raises(UnknownName, match="correlation, count"):
        builder("mode")
