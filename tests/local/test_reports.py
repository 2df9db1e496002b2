"""What the two halves refuse, what they do by rule, and what an estimate says of itself."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import DiscreetError, GridOverflow, InvalidRequest, UnknownName, UnsupportedFormat
from discreet.local import (
    Cube,
    Duchi,
    DyadicTree,
    Hadamard,
    Hybrid,
    LocalHash,
    OneCoordinate,
    OptimizedUnary,
    Piecewise,
    PrivUnit,
    RandomizedResponse,
    Reports,
    SubsetSelection,
    Tally,
    TruncatedLaplace,
    best_oracle,
    distribution,
)
from discreet.local.surveys import bins

ORACLES = (RandomizedResponse, OptimizedUnary, LocalHash, Hadamard, SubsetSelection)
SCALARS = (Duchi, Piecewise, Hybrid, TruncatedLaplace)


def test_reports_of_another_law_or_epsilon_are_refused() -> None:
    law = RandomizedResponse(1, 4)
    for other in (
        RandomizedResponse("1.01", 4),
        RandomizedResponse(1, 5),
        Hadamard(1, 4),
        RandomizedResponse(1, list("abcd")),
    ):
        sent = other.report(other.labels[1])
        for refused in (law.estimate, law.tally, lambda r: law.log_prob(r, 1), lambda r: Reports.join([law.report(1), r])):
            with pytest.raises(InvalidRequest, match="reports must come from randomized_response"):
                refused(sent)
        bare = sent.to_arrow().replace_schema_metadata(None)
        with pytest.raises(DiscreetError, match=r"reports must come from|needs the columns"):
            Reports.from_arrow(bare, law)


def test_people_who_report_twice_are_refused() -> None:
    law = Duchi(1)
    sent = law.reports([0.1, 0.2, 0.3, 0.1]).named(["ann", "bob", "ann", "cid"])
    with pytest.raises(InvalidRequest, match="every person reports once, got 1 reports too many"):
        law.estimate(sent)
    kept = sent.first_of_each()
    assert kept.people.tolist() == ["ann", "bob", "cid"]
    assert kept.columns["answer"].tolist() == sent.columns["answer"][[0, 1, 3]].tolist()
    assert law.estimate(kept).count == 3
    with pytest.raises(InvalidRequest, match="needs their names"):
        law.reports([0.1]).first_of_each()
    with pytest.raises(InvalidRequest, match="name all or none"):
        Reports.join([sent, law.report(0.1)])


@pytest.mark.parametrize("oracle", ORACLES)
def test_undeclared_categories(oracle: type) -> None:
    for law, bad in ((oracle(1, 3), 3), (oracle(1, 3), -1), (oracle(1, ["a", "b"]), "c"), (oracle(1, ["a", "b"]), None),
                     (oracle(1, 3), "1"), (oracle(1, 3), 0.5), (oracle(1, 3), [0])):  # fmt: skip
        with pytest.raises(InvalidRequest, match="declared categories") as caught:
            law.report(bad)
        assert bad != "c" or "'c'" not in str(caught.value)  # what a device holds is not for messages
    law = oracle(1, ["a", "b", "rest"], other="rest")
    assert law.encode(["a", "z", None, "b"]).tolist() == [0, 2, 2, 1]
    assert oracle(1, 4, other=0).encode(np.array([9, 1, -5])).tolist() == [0, 1, 0]
    with pytest.raises(InvalidRequest, match="other must be one of"):
        oracle(1, ["a", "b"], other="z")
    with pytest.raises(InvalidRequest, match="other must be one of"):
        oracle(1, 3, other=[1])


@pytest.mark.parametrize("bad", [1, 0, -3, True, "abc", ["a"], ["a", "a"], [1.5, 2.5], None, [None, "a"], 2**20 + 1])
def test_bad_categories(bad: object) -> None:
    with pytest.raises(InvalidRequest, match="categories"):
        RandomizedResponse(1, bad)
    with pytest.raises(InvalidRequest, match="categories"):
        best_oracle(bad, 1)


def test_local_hash_has_a_limit() -> None:
    with pytest.raises(InvalidRequest, match="use Hadamard"):
        LocalHash(1, 2**16 + 1)


def test_no_law_fits_so_few_bytes() -> None:
    with pytest.raises(InvalidRequest, match="within 0 bytes"):
        best_oracle(8, 1, most_bytes=0)


@pytest.mark.parametrize("law", SCALARS)
@pytest.mark.parametrize("bad", [(1, 0), (0, 0), (0, math.inf), (math.nan, 1), 5, (1, 2, 3), None])
def test_bad_bounds(law: type, bad: object) -> None:
    with pytest.raises(InvalidRequest, match="bounds"):
        law(1, bad)


@pytest.mark.parametrize("law", SCALARS)
def test_values_outside_are_clipped(law: type) -> None:
    made = law(1, (10, 20))
    assert made.encode([5, 10, 15, 20, 1e308, math.inf, -math.inf, math.nan, None]).tolist() == [
        -1,
        -1,
        0,
        1,
        1,
        1,
        -1,
        0,
        0,
    ]
    with pytest.raises(InvalidRequest, match="must be numbers"):
        made.report("ten")
    with pytest.raises(InvalidRequest, match="1 axes"):
        made.reports([[1.0, 2.0]])
    with pytest.raises(InvalidRequest, match="1 axes"):
        made.report([1.0])


@pytest.mark.parametrize("bad", [0, 2.5, "3", True, 2**14 + 1, None])
def test_bad_dimension(bad: object) -> None:
    for law in (Cube, OneCoordinate, PrivUnit):
        with pytest.raises(InvalidRequest, match="dimension"):
            law(1, bad)
    with pytest.raises(InvalidRequest, match="dimension"):
        PrivUnit(1, 1)


def test_vectors_are_clipped_and_counted() -> None:
    for law in (Cube(1, 2, (0, 4)), OneCoordinate(1, 2, (0, 4))):
        assert law.encode([[5, -1], [math.nan, 2]]).tolist() == [[1, -1], [0, 0]]
        with pytest.raises(InvalidRequest, match="2 coordinates, got 3"):
            law.report([1, 2, 3])
    ball = PrivUnit(1, 2, 5)
    np.testing.assert_allclose(ball.encode([[30, 40], [3, 0], [math.inf, 0], [math.nan, 1]]),
                               [[0.6, 0.8], [0.6, 0], [1, 0], [0, 0.2]], atol=1e-15)  # fmt: skip
    with pytest.raises(InvalidRequest, match="radius"):
        PrivUnit(1, 2, 0)
    with pytest.raises(InvalidRequest, match="epsilon must be above"):
        PrivUnit("1e-8", 1000)


@pytest.mark.parametrize("bad", [2, 1 << 17, 2.5, "24"])
def test_bad_cells(bad: object) -> None:
    for law in (Piecewise, Hybrid):
        with pytest.raises(InvalidRequest, match="cells"):
            law(1, cells=bad)


@pytest.mark.parametrize("bad", [0, 17, True, 1.5])
def test_bad_depth(bad: object) -> None:
    with pytest.raises(InvalidRequest, match="depth"):
        DyadicTree(1, (0, 1), bad)


@pytest.mark.parametrize(
    ("law", "columns"),
    [
        (RandomizedResponse(1, 4), {"answer": [4]}),
        (RandomizedResponse(1, 4), {"answer": [-1]}),
        (RandomizedResponse(1, 4), {"answer": [1.0]}),
        (RandomizedResponse(1, 4), {"answer": [None]}),
        (RandomizedResponse(1, 4), {"answer": ["x"]}),
        (RandomizedResponse(1, 4), {"answer": 3}),
        (RandomizedResponse(1, 4), {"answers": [3]}),
        (RandomizedResponse(1, 4), {}),
        (Hadamard(1, 4), {"column": [1, 2], "answer": [1]}),
        (OptimizedUnary(1, 9), {"bits": ["00"]}),
        (OptimizedUnary(1, 9), {"bits": ["zz00"]}),
        (SubsetSelection(1, 8), {"subset": ["07"]}),
        (Duchi(1), {"answer": [2]}),
        (Hybrid("0.5"), {"answer": [7]}),
        (LocalHash(1, 8), {"seed": [2**64], "answer": [0]}),
        (DyadicTree(1, (0, 1), 3), {"level": [1], "column": [2], "answer": [0]}),
        (PrivUnit(1, 2), {"vector": [[2**17, 0]]}),
    ],
)
def test_reports_no_client_can_have_made_are_refused(law: object, columns: dict) -> None:
    text = json.dumps(
        {"kind": "local reports", "schema": 1, "mechanism": law.to_dict(), "columns": columns, "private": True}
    )
    with pytest.raises(UnsupportedFormat):
        Reports.from_json(text)


def test_documents_that_are_no_reports() -> None:
    good = Duchi(1).report(0.5).to_dict()
    wrong = [{"kind": "release"}, {"schema": 99}, {"mechanism": 3}, {"columns": [1]}, {"mechanism": {"name": "duchi"}}]
    wrong += [{"mechanism": {"name": "duchi", "epsilon": 1, "extra": 2}}, {"people": 3}, {"people": [[1]]}]
    for bad in [[], 5, *({**good, **part} for part in wrong)]:
        with pytest.raises(UnsupportedFormat):
            Reports.from_json(json.dumps(bad))
    with pytest.raises(UnknownName, match="no local mechanism is called"):
        Reports.from_json(json.dumps({**good, "mechanism": {"name": "os.system"}}))
    with pytest.raises(UnsupportedFormat, match="must be JSON"):
        Reports.from_json(b"\xff")
    with pytest.raises(UnsupportedFormat, match="pass mechanism="):
        Reports.from_arrow(Duchi(1).report(0.5).to_arrow().replace_schema_metadata(None))
    # What does not say that it is private is not.
    assert Reports.from_json(json.dumps({k: v for k, v in good.items() if k != "private"})).private is False


PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
WORDS = st.sampled_from(["kind", "schema", "mechanism", "columns", "name", "epsilon", "answer"])
DOCUMENTS = st.recursive(
    PLAIN, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=4), max_leaves=8
)


@settings(max_examples=60)
@given(DOCUMENTS)
def test_any_document_is_read_or_refused(doc: object) -> None:
    good = Duchi(1).report(0.5).to_dict()
    for text in (
        doc,
        {**good, "columns": doc},
        {**good, "mechanism": doc},
        {**good, "columns": {"answer": doc}},
        {**good, "people": doc},
    ):
        try:
            Duchi(1).estimate(Reports.from_json(json.dumps(text)))
        except DiscreetError as problem:
            assert str(problem)  # noqa: PT017


@settings(max_examples=60)
@given(
    st.lists(st.floats() | st.none(), min_size=1, max_size=6),
    st.floats(-1e9, 1e9),
    st.floats(1e-3, 1e9),
    st.sampled_from(["0.01", "1", "20", "64"]),
)
def test_any_number_can_be_reported(values: list, low: float, width: float, epsilon: str) -> None:
    for kind in (Duchi, Piecewise, Hybrid):
        law = kind(epsilon, (low, low + width))
        found = law.estimate(law.reports(values))
        assert math.isfinite(found.value)
        assert found.standard_error >= 0
        assert found.population_error >= found.standard_error


def test_nobody() -> None:
    law = Duchi(1)
    with pytest.raises(InvalidRequest, match="at least one report"):
        law.estimate([])
    with pytest.raises(InvalidRequest, match="at least one report"):
        law.estimate(law.reports([]))
    for other in (OptimizedUnary(1, 5), SubsetSelection(1, 5)):
        assert len(other.reports(np.array([], int))) == 0


def test_a_tally_does_not_overflow() -> None:
    many = Tally(2**29, np.zeros(1, np.int64))
    assert (many + many).count == 2**30
    with pytest.raises(GridOverflow):
        many + many + many


def test_estimates_speak_for_themselves() -> None:
    law = RandomizedResponse(1, ["a", "b", "c"])
    found = law.estimate(law.reports(["a"] * 500, seed=1))
    low, high = found.interval(0.95)
    assert (low < found.value).all()
    assert found.value - low == pytest.approx(1.959964 * found.standard_error, rel=1e-6)
    wide = found.interval(0.95, of="population")
    assert (wide[1] - wide[0] >= high - low).all()
    assert found.private is False
    assert list(found.to_dict()) == ["a", "b", "c"]
    for level in (0, 1, -1, 2, math.nan):
        with pytest.raises(InvalidRequest, match="level"):
            found.interval(level)
    with pytest.raises(InvalidRequest, match="of must be"):
        found.interval(0.9, of="world")
    on = found.on_simplex()
    assert on.value.sum() == pytest.approx(1)
    assert (on.value >= 0).all()
    assert "simplex" in on.biased
    with pytest.raises(InvalidRequest, match="unbiased"):
        on.interval()
    number = Duchi(1).estimate(Duchi(1).reports([0.5] * 10))
    assert float(number) == number.value
    assert number.to_dict() == {"value": number.value}
    with pytest.raises(InvalidRequest, match="simplex"):
        number.on_simplex()


@given(st.lists(st.floats(-3, 3), min_size=1, max_size=8))
def test_simplex_is_the_nearest_point(values: list[float]) -> None:
    from discreet.local.estimate import simplex

    v = np.array(values)
    p = simplex(v)
    assert p.sum() == pytest.approx(1)
    assert (p >= 0).all()
    # Optimality: v - p is the same on the support and nowhere larger off it.
    gap = v - p
    assert gap.max() - gap[p > 1e-12].min() < 1e-9


def test_the_law_behind_randomised_response() -> None:
    law = RandomizedResponse("0.7", ["a", "b", "c"])
    assert law.law.cost().epsilon == law.epsilon
    assert law.law.keep == law.keep
    sent = law.report("b")
    named = law.labels[int(sent.columns["answer"][0])]
    assert law.law.log_prob(named, "b") == pytest.approx(float(law.log_prob(sent, "b")[0]))


def test_import_is_light() -> None:
    """The client half pulls in NumPy and the cipher, nothing heavy."""
    import subprocess
    import sys

    code = (
        "import sys; from discreet.local import Hybrid, Cube, SubsetSelection; Hybrid(1).report(0.3).to_json(); "
        "Cube(1, 5).report([0] * 5); SubsetSelection(1, 9).report(3); "
        "print(sorted({'scipy', 'pyarrow', 'duckdb', 'pyspark', 'sqlalchemy', 'pandas', 'sklearn'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"


@pytest.mark.parametrize("oracle", ORACLES)
def test_standard_errors_of_shares(oracle: type) -> None:
    """Noise by the formula at the estimated share; noise and sampling by the spread of supports."""
    law, n = oracle(1, 6), 3000
    sent = law.reports(np.repeat([0, 1, 2], [2000, 700, 300]), seed=4)
    found = law.estimate(sent)
    noise = [math.sqrt(law.variance(min(max(f, 0.0), 1.0)) / n) for f in found.value]
    np.testing.assert_allclose(found.standard_error, noise, rtol=1e-12)
    seen = law.tally(sent).sums / n
    both = np.sqrt(seen * (1 - seen) / n) / float(law.keep - law.stray)
    np.testing.assert_allclose(found.population_error, np.maximum(both, noise), rtol=1e-12)


@pytest.mark.parametrize(("kind", "epsilon"), [*((kind, "2") for kind in SCALARS), (Hybrid, "0.5")])
def test_standard_errors_of_means(kind: type, epsilon: str) -> None:
    """50,000 spread people: the squared error claimed against the mean of the formula. Laws that can tell noise from spread
    are right to 2 %, more than five standard errors; the others claim at most the spread (0.08) too much."""
    law, n = kind(epsilon, (0, 10)), 50_000
    t = np.linspace(-0.8, 0.2, n)
    found = law.estimate(law.reports(5 + 5 * t, seed=5))
    noise, spread = float(np.mean(law.variance(t))), float(t.var())
    claimed = (found.standard_error / 5) ** 2 * n
    if kind in (Piecewise, Hybrid) and epsilon == "2":
        assert claimed == pytest.approx(noise, rel=0.02)
    else:
        assert noise * 0.98 < claimed < (noise + spread) * 1.02
    assert (found.population_error / 5) ** 2 * n == pytest.approx(noise + spread, rel=0.03)


@pytest.mark.parametrize("law", [Cube(1, 3, (0, 10)), OneCoordinate(1, 3, (0, 10))], ids=lambda law: law.name)
def test_standard_errors_of_vectors(law: object) -> None:
    """20,000 people at one point: the claim against the formula, to 5 %."""
    t = np.array([0.5, -0.2, 0.9])
    found = law.estimate(law.reports(np.tile(5 + 5 * t, (20_000, 1)), seed=6))
    noise = law.reach**2 - t**2 if isinstance(law, Cube) else np.array([law.variance(v) for v in t])
    np.testing.assert_allclose((found.standard_error / 5) ** 2 * 20_000, noise, rtol=0.05)


def test_a_coordinate_nobody_told() -> None:
    """Few people, many coordinates: the error is the worst there can be, not zero."""
    law = OneCoordinate(1, 50)
    found = law.estimate(law.reports(np.zeros((10, 50)), seed=1))
    np.testing.assert_allclose(found.standard_error, math.sqrt((law.worst_variance + 1) / 10), rtol=0.2)


def test_numbers_beyond_all_doubles_are_clipped() -> None:
    """An error would tell that the value was one of them."""
    huge = 10**400
    for law in (kind(1, (0, 100)) for kind in SCALARS):
        assert law.encode([huge, -huge, Fraction(huge), 1e308, None]).tolist() == [1.0, -1.0, 1.0, 1.0, 0.0]
        assert len(law.report(huge)) == 1
    assert Cube(1, 2).encode([[huge, 0], [-huge, None]]).tolist() == [[1.0, 0.0], [-1.0, 0.0]]
    assert len(Cube(1, 2).report([huge, 0])) == 1
    assert len(PrivUnit(1, 2).report([-huge, huge])) == 1
    assert len(DyadicTree(1, (0, 1)).report(huge)) == 1
    assert bins([huge, -huge], [0, 1, 2]).tolist() == [1, 0]
    with pytest.raises(InvalidRequest, match="numbers"):
        Duchi(1).report([huge, "x"])


@pytest.mark.parametrize("oracle", ORACLES)
def test_whatever_is_not_declared_is_other(oracle: type) -> None:
    law = oracle(1, ["a", "b", "rest"], "rest")
    strange = [[1, 2], {}, {"a"}, np.array([1, 2]), (1, [2]), None, math.nan, 10**400, 1.5]
    assert law.encode(["b", *strange]).tolist() == [1] + [2] * len(strange)
    assert all(len(law.report(value)) == 1 for value in strange)
    numbered = oracle(1, 4, 3)
    assert numbered.encode([1, *strange]).tolist() == [1] + [3] * len(strange)
    assert numbered.encode([0, 10**400, -1, 2**63]).tolist() == [0, 3, 3, 3]
    for either in (law, numbered):
        with pytest.raises(InvalidRequest, match="declared"):
            either.encode(np.zeros((2, 2)))
        with pytest.raises(InvalidRequest, match="one for each person"):
            either.encode(5)
    with pytest.raises(InvalidRequest, match="declared"):
        oracle(1, ["a", "b"]).report([1, 2])


def test_a_text_and_a_number_that_look_alike_stay_apart() -> None:
    law = RandomizedResponse(1, ["1", 1, "a"])
    assert law.encode(["1", 1, "a", np.int64(1)]).tolist() == [0, 1, 2, 1]
    assert law.encode(("a", 1)).tolist() == [2, 1]
    sent = law.reports(["1", 1], seed=1)
    assert law.log_prob(sent, ["1", 1]).shape == (2,)


def test_a_distribution_of_nobody_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="at least one report"):
        distribution([], bounds=(0, 1), epsilon=1)


@pytest.mark.parametrize(
    "facts",
    [b"{", b"[]", b"{}", b'{"kind":"local reports","schema":1}', b'{"kind":"local reports","schema":1,"mechanism":3}'],
)
def test_tables_whose_metadata_is_broken(facts: bytes) -> None:
    table = Duchi(1).reports([0.1]).to_arrow()
    with pytest.raises(UnsupportedFormat):
        Reports.from_arrow(table.replace_schema_metadata({"discreet": facts}))


def test_only_true_says_that_a_table_is_private() -> None:
    table = Duchi(1).reports([0.1]).to_arrow()
    facts = json.loads(table.schema.metadata[b"discreet"])
    assert Reports.from_arrow(table).private
    for said in ("false", 1, None):
        forged = table.replace_schema_metadata({"discreet": json.dumps(facts | {"private": said})})
        assert not Reports.from_arrow(forged).private


def test_people_who_look_alike_stay_apart() -> None:
    """As doubles 2^53 and 2^53 + 1 are one person, and as texts so are 1 and "1"."""
    law, names = Duchi(1), [2**53, 2**53 + 1, 2**63, 2**63 + 1, 2**70, "1", 1]
    one = law.reports([0.1] * len(names), seed=1)
    assert one.named(names).people.tolist() == names
    assert one.named([1, 2**63, *range(5, 10)]).people.tolist() == [1, 2**63, *range(5, 10)]
    joined = Reports.join([law.report(0.1, seed=1).named([name]) for name in names])
    assert joined.people.tolist() == names
    assert law.tally(joined).count == len(names)
