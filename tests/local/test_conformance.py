"""Every registered law: all its reports enumerated, against epsilon, against its mean, against its samples."""

from __future__ import annotations

import json
import math
from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from discreet.core.random import Random
from discreet.local import LocalHash, PrivUnit, Reports, local_mechanisms
from discreet.local.frequency import FrequencyOracle
from discreet.local.scalar import ScalarLaw
from discreet.local.vector import BoxLaw

from .examples import ELSEWHERE, EXAMPLES, Example

every = pytest.mark.parametrize("example", EXAMPLES, ids=str)


def single(law: object, outputs: Reports, i: int) -> Reports:
    return Reports(law, {name: values[i : i + 1] for name, values in outputs.columns.items()})


def estimates(example: Example) -> np.ndarray:
    """What the server would say after one report, for each report there is."""
    return np.array(
        [example.law.estimate(single(example.law, example.outputs, i)).value for i in range(len(example.outputs))]
    )


def test_every_law_has_an_example() -> None:
    assert {e.law.name for e in EXAMPLES} | ELSEWHERE == set(local_mechanisms)


@pytest.mark.parametrize("name", sorted(local_mechanisms))
def test_proof_is_written(name: str) -> None:
    assert "Proof:" in (local_mechanisms[name].__doc__ or "")


@every
def test_probabilities_sum_to_one(example: Example) -> None:
    for value in example.values:
        assert example.masses(value).sum() == pytest.approx(1, abs=1e-12)


@every
def test_largest_log_ratio_is_epsilon(example: Example) -> None:
    logs = np.array([example.law.log_prob(example.outputs, value) for value in example.values])
    largest = max(np.abs(a - b).max() for a, b in combinations(logs, 2))
    assert largest == pytest.approx(float(example.law.cost().epsilon), abs=1e-12)
    # What is drawn is exact: the ratio of the rationals themselves is never above e^epsilon.
    assert float(example.law.odds) <= math.exp(example.law.epsilon) * (1 + 1e-15)


@every
def test_estimates_are_unbiased(example: Example) -> None:
    told = estimates(example)
    scale = np.abs(told).max()
    for value, target in zip(example.values, example.targets, strict=True):
        mean = example.masses(value) @ told
        np.testing.assert_allclose(mean, target, atol=1e-12 * max(scale, 1.0))


@every
def test_variance_is_the_formula(example: Example) -> None:
    told = estimates(example)
    if isinstance(example.law, FrequencyOracle):
        for i, value in enumerate(example.values):
            seen = example.masses(value) @ told**2 - np.eye(example.law.k)[i]
            formula = [float(example.law.variance(int(i == j))) for j in range(example.law.k)]
            np.testing.assert_allclose(seen, formula, rtol=1e-9)
    elif isinstance(example.law, ScalarLaw):
        for value in example.values:
            seen = example.masses(value) @ (told - value) ** 2 / example.law.half**2
            t = float(example.law.encode([value])[0])
            assert seen == pytest.approx(float(example.law.variance(t)), rel=1e-9)
            assert seen <= example.law.worst_variance * (1 + 1e-3) + 1 / getattr(example.law, "cells", 1000)
    elif isinstance(example.law, BoxLaw):
        for value in example.values:
            seen = example.masses(value) @ (told - value) ** 2 / example.law.half**2
            assert seen.max() <= example.law.worst_variance * (1 + 1e-6)


@every
def test_samples_follow_the_law(example: Example) -> None:
    """Chi-squared over 20,000 reports of one value, cells with at least 5 expected; false alarm 1e-6."""
    runs, value = 20_000, example.values[-1]
    drawn = example.law.reports([value] * runs, seed=Random(7))
    key = {row: i for i, row in enumerate(rows(example.outputs))}
    seen = np.bincount([key[row] for row in rows(drawn)], minlength=len(key)).astype(float)
    expected = example.masses(value) * runs
    big = expected >= 5
    seen, expected = np.append(seen[big], seen[~big].sum()), np.append(expected[big], expected[~big].sum())
    keep = expected > 1e-9
    assert seen[~keep].sum() == 0
    statistic = ((seen[keep] - expected[keep]) ** 2 / np.maximum(expected[keep], 1)).sum()
    assert stats.chi2.sf(statistic, keep.sum() - 1) > 1e-6


def rows(reports: Reports) -> list[tuple[int, ...]]:
    flat = [values.reshape(len(reports), -1) for values in reports.columns.values()]
    return list(map(tuple, np.concatenate(flat, axis=1).tolist()))


ALL = [*(e.law for e in EXAMPLES), LocalHash("1", 8), PrivUnit("1", 3)]
VALUES = [*(e.values[1] for e in EXAMPLES), 3, [0.1, 0.2, -0.3]]
each = pytest.mark.parametrize(("law", "value"), list(zip(ALL, VALUES, strict=True)), ids=lambda v: getattr(v, "name", ""))


@each
def test_documents_come_back(law: object, value: object) -> None:
    sent = law.reports([value] * 5, seed=1).named("abcde")
    for back in (Reports.from_json(sent.to_json()), Reports.from_arrow(sent.to_arrow())):
        assert back.mechanism == law
        assert rows(back) == rows(sent)
        assert back.people.tolist() == list("abcde")
        assert back.private is False
    assert local_mechanisms.read(json.loads(json.dumps(law.to_dict()))) == law
    assert law.report(value).private
    assert rows(law.report(value, seed=3)) == rows(law.report(value, seed=3))


@each
def test_sums_do_not_depend_on_how_reports_are_cut(law: object, value: object) -> None:
    sent = law.reports([value] * 40, seed=2)
    parts = [single(law, sent, i) for i in range(40)]
    whole, summed = law.tally(sent), law.tally(parts[0])
    for part in parts[1:]:
        summed = summed + law.tally(part)
    assert (summed.sums == whole.sums).all()
    assert summed.count == whole.count
    assert (np.asarray(law.estimate(parts).value) == np.asarray(law.estimate(sent).value)).all()


@each
def test_pure_cost(law: object, value: object) -> None:
    assert law.cost().epsilon == law.epsilon
    assert law.cost().delta == 0
