"""Designs: whatever a record holds, its row has a norm of at most 1, and coefficients scale back to the table."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet.core.codec import read_as, written
from discreet.core.dialect import Dialect
from discreet.errors import InvalidRequest, UnknownName
from discreet.models.design import Design, Fourier
from discreet.models.feature import Feature
from discreet.models.target import Target, Weight
from discreet.sources import open_source
from discreet.sources.matrix import MatrixColumns

ANY = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True),
    st.sampled_from([math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, 0.0]),
)
COLUMNS = {"a": ds.Real(-3, 2), "b": ds.Real(1e-9, 1e9), "c": ds.Categories(["u", "v", "w"]), "w": ds.Real(0, 4)}


def rows_of(design: Design, cells: dict[str, list[Any]], schema: ds.Schema) -> list[Any]:
    """All rows that a source makes."""
    return open_source(cells, schema).fold(
        lambda b: [design.block(b)], lambda left, right: left + right, list(design.columns)
    )


@given(
    a=st.lists(ANY, min_size=1, max_size=6),
    radius=st.sampled_from([None, "0.01", "0.5", "1.3", "9"]),
    intercept=st.booleans(),
    fourier=st.booleans(),
    centred=st.booleans(),
    relation=st.sampled_from(["add_remove", "replace"]),
    data=st.data(),
)
@settings(max_examples=150, deadline=None)
def test_no_record_makes_a_long_row(
    a: list[float], radius: Any, intercept: bool, fourier: bool, centred: bool, relation: Any, data: Any
) -> None:
    """Norms in exact arithmetic, weights within their bound, targets within theirs, nothing missing, no warning."""
    n = len(a)
    cells = {
        "a": a,
        "b": data.draw(st.lists(ANY, min_size=n, max_size=n)),
        "c": data.draw(st.lists(st.sampled_from(["u", "v", "w", "nobody", None]), min_size=n, max_size=n)),
        "w": data.draw(st.lists(ANY, min_size=n, max_size=n)),
        "y": data.draw(st.lists(st.sampled_from([0, 1, 7, None]), min_size=n, max_size=n)),
    }
    schema = ds.Schema({**COLUMNS, "y": ds.Categories([0, 1])}, neighbors=relation)
    waves = Fourier(5, 0.7, 3, data.draw(st.sampled_from([1.0, 0.5]))) if fourier else None
    bound = None if radius is None else Fraction(radius)
    design = Design.of(
        schema, ["a", "b", "c"], "y", intercept=intercept, radius=bound, weight="w", fourier=waves, centred=centred
    )
    assert read_as(Design, written(design)) == design
    for rows in rows_of(design, cells, schema):
        assert rows.x.shape == (len(rows.y), design.width)
        assert set(rows.y.tolist()) <= {-1.0, 1.0}
        assert np.isfinite(rows.x).all()
        assert ((rows.weight >= 0) & (rows.weight <= 4)).all()
        for row in rows.x:
            assert sum(Fraction(v) ** 2 for v in row.tolist()) <= 1


@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize(("reference", "labels"), [("u", "vw"), ("v", "uw"), ("w", "uv"), (None, "uvw")])
def test_coefficients_scale_back(reference: str | None, labels: str, centred: bool) -> None:
    """theta . row is (lines . theta) . (columns of the table and the constant), for rows that were not shortened.

    Beside a constant every label has a column but the reference, the first unless another is said.
    """
    schema = ds.Schema({**COLUMNS, "y": ds.Categories([0, 1])})
    told = {"c": reference} if reference not in (None, "u") else None
    design = Design.of(schema, ["a", "c"], "y", intercept=reference is not None, centred=centred, reference=told)
    cells = {"a": [1.5, -9.0, 0.5], "b": [1, 1, 1], "c": ["v", "u", "w"], "w": [1, 1, 1], "y": [1, 0, 1]}
    (rows,) = rows_of(design, cells, schema)
    constant = [] if reference is None else [1.0]
    table = np.array(
        [[a, *(float(label == c) for label in labels), *constant] for a, c in zip((1.5, -3, 0.5), "vuw", strict=True)]
    )
    theta = np.arange(1.0, 2.0 + len(labels) + len(constant))
    assert rows.x @ theta == pytest.approx(table @ (design.lines @ theta), rel=1e-12)
    assert design.names == ["a", *(f"c={label}" for label in labels)]
    assert (design.blocks, design.width) == (2 + len(constant), 1 + len(labels) + len(constant))
    every = design.of_labels(np.arange(1.0, 2.0 + len(labels)))
    assert every.tolist() == [1.0, *(2.0 + labels.index(c) if c in labels else 0.0 for c in "uvw")]


def test_bounds_too_far_for_their_middle_still_bound() -> None:
    """The middle of (1e16, 1e16 + 4) and like bounds is rounded; entries stay within the unit."""
    for lo, hi in ((1e16, 1e16 + 4), (-1e308, 1e308), (2.0**53, 2.0**53 + 2), (5e-324, 1.5e-323)):
        feature = Feature("a", lo, hi, centred=True)
        out = np.empty(3)
        feature.clip(np.array([lo, hi, math.nan]), out)
        assert np.abs(out[:2]).max() <= feature.unit


def test_rows_are_as_long_as_they_may_be() -> None:
    """A record at all its bounds has norm 1 to within 1e-11, also after a clip to a radius."""
    schema = ds.Schema({"a": ds.Real(-3, 2), "b": ds.Real(-1, 1), "y": ds.Categories([0, 1])})
    for radius in (None, Fraction(1, 2)):
        design = Design.of(schema, ["a", "b"], "y", radius=radius)
        (rows,) = rows_of(design, {"a": [-3.0], "b": [1.0], "y": [1]}, schema)
        assert float(np.linalg.norm(rows.x)) == pytest.approx(1, abs=1e-11)


def test_random_features_approximate_the_kernel_and_are_public() -> None:
    """5,000 features: the mean of cosines has a standard deviation below 0.02, so 0.1 is five and more of it."""
    waves = Fourier(5000, 0.5, 9)
    frequencies, phases = waves.draw(2)
    again = Fourier(5000, 0.5, 9).draw(2)
    assert np.array_equal(frequencies, again[0])
    assert np.array_equal(phases, again[1])
    here, there = np.array([0.3, -0.2]), np.array([-0.4, 0.5])
    made = [math.sqrt(2 / 5000) * np.cos(p @ frequencies + phases) for p in (here, there)]
    assert made[0] @ made[1] == pytest.approx(math.exp(-0.5 * float(((here - there) ** 2).sum())), abs=0.1)
    assert max(float(m @ m) for m in made) <= 2


def test_bad_declarations() -> None:
    schema = ds.Schema({**COLUMNS, "y": ds.Categories([0, 1])})
    for call in (
        lambda: Design.of(schema, [], "y"),
        lambda: Design.of(schema, ["a", "a"], "y"),
        lambda: Design.of(schema, ["y"], "y"),
        lambda: Design.of(schema, ["a"], "y", weight="c"),
        lambda: Design.of(schema, ["b"], "y", weight="a"),
        lambda: Design.of(schema, ["a"], "y", radius=Fraction(0)),
        lambda: Feature("a", 1, 1),
        lambda: Feature("a", 0, math.inf),
        lambda: Target("y", ("a",)),
        lambda: Target("y", ("a", "a")),
        lambda: Target("y", (), 2, 1),
        lambda: Weight("w", -1.0),
        lambda: Fourier(0, 1.0, 1),
        lambda: Fourier(3, 0.0, 1),
        lambda: Fourier(3, 1.0, 1, 0.0),
    ):
        with pytest.raises(InvalidRequest):
            call()  # type: ignore[no-untyped-call]
    with pytest.raises(UnknownName):
        Design.of(schema, ["nobody"], "y")


def test_a_matrix_is_read_as_its_columns_are() -> None:
    """To the bit, whether or not the columns are those of one matrix, side by side, and with missing cells as well."""
    rng = np.random.default_rng(5)
    x = rng.choice([-3.0, -1.0, 0.25, 1.0, 7.0, np.inf], (700, 40))
    x[rng.random(x.shape) < 0.0005] = np.nan
    names = [f"x{i}" for i in range(40)]
    schema = ds.Schema({n: ds.Real(-1, 2 + i) for i, n in enumerate(names)} | {"y": ds.Categories(["n", "p"])})
    lone = {n: x[:, i].copy() for i, n in enumerate(names)}
    y = rng.choice(["n", "p"], 700).tolist()
    every = [*names, "y"]
    for centred in (False, True):
        design = Design.of(schema, names, "y", centred=centred)
        apart, *others = (
            open_source(table, schema).fold(design.block, lambda a, _: a, every)
            for table in (
                lone | {"y": y},
                {n: x[:, i] for i, n in enumerate(names)} | {"y": y},
                {n: np.repeat(x, 2, axis=0)[::2, i] for i, n in enumerate(names)} | {"y": y},
                {n: np.asfortranarray(x)[:, i] for i, n in enumerate(names)} | {"y": y},
                MatrixColumns.named(x, names, {"y": np.array(y)}),
                MatrixColumns.named(np.asfortranarray(x), names, {"y": np.array(y)}),
            )
        )
        assert 0 < len(apart.x) < 700
        for other in others:
            assert np.array_equal(apart.x, other.x)
            assert np.array_equal(apart.y, other.y)


@pytest.mark.parametrize("neighbors", ["add_remove", "replace"])
@pytest.mark.parametrize("missing", [[], ["7"]])
@pytest.mark.parametrize("person", [None, "who"])
@pytest.mark.parametrize("where", [{}, {"y": 1}])
@pytest.mark.parametrize("gaps", [0.0, 0.0005])
@pytest.mark.parametrize("dated", [False, True])
def test_an_array_is_read_as_its_columns_are(
    neighbors: Any, missing: list[str], person: str | None, where: dict[str, Any], gaps: float, dated: bool
) -> None:
    """To the bit, with whatever missing numbers become, beside a date, categories and ids, and some of the rows alone."""
    rng = np.random.default_rng(6)
    names = [f"x{i}" for i in range(30)]
    x = rng.choice([-3.0, -1.0, 0.25, 1.0, 9.0], (400, 33))
    x[rng.random(x.shape) < 0.01] = 7.0
    x[:, 30], x[:, 31], x[:, 32] = rng.integers(0, 100, 400), rng.integers(0, 2, 400), np.sort(rng.integers(0, 300, 400))
    x[rng.random(x.shape) < gaps] = np.nan
    date = ds.Date("1970-01-01", "1971-01-01", "1970-06-01")
    columns = {n: ds.Real(-1, 2 + i) for i, n in enumerate(names)} | {"d": date}
    every = [*columns, "y"]
    schema = ds.Schema(
        columns | {"y": ds.Categories([0, 1])}, person, person and 2, neighbors, dialect=Dialect(missing=tuple(missing))
    )
    x = x if person else x[:, :32]
    design = Design.of(schema, [*names, "d"] if dated else names, "y", centred=True)
    apart, side, shuffled = (
        open_source(table, schema).where(**where).fold(design.block, lambda a, _: a, every)
        for table in (
            {n: x[:, i].copy() for i, n in enumerate([*every, *([person] if person else [])])},
            x,
            x[rng.permutation(len(x))],
        )
    )
    assert 0 < len(apart.x) <= 400
    assert np.array_equal(apart.x, side.x)
    assert np.array_equal(apart.y, side.y)
    assert np.array_equal(np.sort(apart.x, axis=0), np.sort(shuffled.x, axis=0))


def test_a_wide_array_is_handed_on_in_one_piece() -> None:
    x = np.random.default_rng(7).random((50, 40))
    names = [f"x{i}" for i in range(40)]
    schema = ds.Schema({n: ds.Real(0, 1) for n in names})

    (found,) = open_source(x, schema).fold(lambda b: [b.matrix(names)], list.__add__, names)
    assert np.shares_memory(found, x)
    assert not found.flags.writeable
    assert np.array_equal(found, x)
    for chosen in (names[3:9], [names[0], names[2]], names[::-1]):
        (part,) = open_source(x, schema).fold(lambda b, chosen=chosen: [b.matrix(chosen)], list.__add__, names)
        places = [names.index(name) for name in chosen]
        assert (part is None) == (places != list(range(places[0], places[0] + len(places))))
        assert part is None or np.array_equal(part, x[:, places])
