"""Poisoning: whatever is sent in the name of a report, the server takes only what the law can emit."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from discreet.errors import DiscreetError, UnsupportedFormat
from discreet.local import LocalHash, LocalMechanism, PrivUnit, Reports, local_mechanisms
from discreet.local.priv_unit import _GRID, _MARGIN

from .examples import EXAMPLES

LAWS: list[LocalMechanism] = [e.law for e in EXAMPLES] + [LocalHash("1", 12), LocalHash("4", 5)]
LAWS += [PrivUnit("1", 2), PrivUnit("4", 7, "1.5"), PrivUnit("2", 300)]
every = pytest.mark.parametrize("law", LAWS, ids=lambda law: f"{law.name}-{str(law.to_dict())[:50]}")


def pull(law: LocalMechanism, reports: Reports) -> float:
    """How far one report can pull the mean of n: n times, since every estimate is an average over reports."""
    value = np.atleast_1d(np.asarray(law.estimate(reports).value, np.float64))
    return float(np.linalg.norm(value) if isinstance(law, PrivUnit) else np.abs(value).max())


@cache
def extreme(law: LocalMechanism) -> float:
    """The furthest that a client half can pull: over all its reports, or by formula where they are too many."""
    for example in EXAMPLES:
        if example.law is law:
            columns = example.outputs.columns
            rows = [{name: values[i : i + 1] for name, values in columns.items()} for i in range(len(example.outputs))]
            return max(pull(law, Reports(law, row)) for row in rows)
    if isinstance(law, PrivUnit):
        return float(law.radius) * (1 + _MARGIN / _GRID) / law.cap.mean
    p, q = float(law.keep), float(law.stray)  # type: ignore[attr-defined]
    return max(1 - q, q) / (p - q)


def test_every_law_is_attacked() -> None:
    assert {law.name for law in LAWS} == set(local_mechanisms)


@every
@settings(max_examples=25, deadline=None)
@given(st.data())
def test_no_forged_report_moves_further_than_an_honest_one(law: LocalMechanism, data: st.DataObject) -> None:
    """Columns of numbers near and beyond the range: refused, or no further than the extreme and possible for someone."""
    forged: dict[str, Any] = {}
    for name, column in law.columns.items():
        inside = st.integers(column.low, column.high)
        wild = st.sampled_from([column.low - 1, column.high + 1, -(2**31), 2**31 - 1, 2**62, -(2**62)])
        if column.width:
            one = st.one_of(inside, wild) if data.draw(st.booleans()) else st.sampled_from([column.low, column.high])
            few = data.draw(st.lists(one, min_size=1, max_size=12))
            forged[name] = np.resize(np.array(few, np.int64), (1, column.width))
        else:
            forged[name] = [data.draw(st.one_of(inside, inside, wild))]
    try:
        sent = Reports(law, forged)
    except UnsupportedFormat:
        return
    assert pull(law, sent) <= extreme(law) * (1 + 1e-9)
    values = next((e.values for e in EXAMPLES if e.law is law), None)
    if values is not None:
        assert any(np.isfinite(law.log_prob(sent, [v])).all() for v in values)


@every
def test_wrong_shapes_and_types_are_refused(law: LocalMechanism) -> None:
    """Values, containers and lengths that no report has; each column in turn, the others honest."""
    honest = json.loads(_some(law, 2).to_json())
    for name, column in law.columns.items():
        cells = honest["columns"][name]
        bad: list[Any] = [
            "01", {"0": 1}, None, 3, b"\0\1", [cells], [cells[0]], [*cells, cells[0]], [None, cells[1]], [True, cells[1]],
            [[cells[0]], cells[1]], [{}, cells[1]], [1.0, cells[1]], ["x", cells[1]], [math.nan, cells[1]],
            [Decimal("0.5"), cells[1]], np.zeros((2, 2, 2)), np.zeros(2), np.zeros(2, bool),
        ]  # fmt: skip
        if column.width:
            size = len(cells[0])
            bad += [[cells[0] + cells[1], ""], [cells[0][:-2], cells[1] + "00"], [cells[0] + "00"] * 2, [5, 5], [2**40, 0]]
            bad += [
                [bytes(size // 2 + 1)] * 2,
                np.zeros(2 * column.width, column.dtype),
                np.zeros((1, 2 * column.width), int),
            ]
        for values in bad:
            if len(law.columns) == 1 and isinstance(values, list) and (values == [cells[0]] or values == [*cells, cells[0]]):
                continue  # another number of reports is no forgery where nothing else says how many there are
            with pytest.raises(DiscreetError):
                Reports(law, {**honest["columns"], name: values})


@every
def test_bits_after_the_last_are_refused(law: LocalMechanism) -> None:
    for name, column in law.columns.items():
        if column.marks % 8 == 0:
            continue
        rows = _some(law, 3).columns[name].copy()
        rows[1, -1] |= 1 << (column.marks % 8)
        with pytest.raises(UnsupportedFormat, match="bits"):
            Reports(law, {name: rows})


@pytest.mark.parametrize("dimension", [2, 3, 10, 200, 1000])
def test_a_vector_of_impossible_length_is_refused(dimension: int) -> None:
    """The report that moved a mean 2 sqrt(d) times as far as an honest one, and every other outside the shell."""
    law = PrivUnit(4, dimension)
    honest = law.reports(np.tile(np.eye(1, dimension), (200, 1)), seed=1)
    assert Reports(law, honest.columns).columns["vector"].shape == (200, dimension)
    unit = np.eye(1, dimension)
    for length in (0.0, 0.5, 0.87, 1.13, 1.5, 2.0, 64.0):
        with pytest.raises(UnsupportedFormat):
            Reports(law, {"vector": np.rint(unit * length * _GRID).astype(np.int64)})
    with pytest.raises(UnsupportedFormat):
        Reports(law, {"vector": np.full((1, dimension), law.columns["vector"].high)})
    for length in (0.88, 1.0, 1.12):
        assert len(Reports(law, {"vector": np.rint(unit * length * _GRID).astype(np.int64)})) == 1


def test_an_honest_vector_is_next_to_never_replaced() -> None:
    """The tail that the proof of PrivUnit states, up to d = 256; beyond, its two parts."""
    worst = max(stats.gamma.sf(31.9 * math.ceil(math.sqrt(d)), d) for d in range(2, 257))
    assert worst < 2.0**-70
    assert 2.0**14 * math.exp(-190) + math.exp(-257 * (4 - math.log(5))) < 2.0**-250


def test_a_vector_outside_becomes_the_first_axis(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a device lets out is possible, also where the dither is out of all proportion."""
    law = PrivUnit(4, 5)
    monkeypatch.setitem(vars(law), "_dither", type(law._dither)(1 << 14, grid=1))
    sent = law.reports(np.tile(np.eye(1, 5), (300, 1)), seed=2)
    assert len(Reports(law, sent.columns)) == 300
    replaced = (sent.columns["vector"] == np.eye(1, 5) * _GRID).all(1)
    assert 100 < replaced.sum() < 300


def _some(law: LocalMechanism, count: int) -> Reports:
    for example in EXAMPLES:
        if example.law is law:
            return law.reports([example.values[0]] * count, seed=3)
    return law.reports(np.ones((count, law.dimension)) if isinstance(law, PrivUnit) else [1] * count, seed=3)
