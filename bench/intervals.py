"""Coverage and length of private confidence intervals, against the algorithms as published, on the same samples.

Samples of 15,000 rows are drawn with replacement from the complete rows of Adult (simulated at its size where it cannot be
fetched), which so is a population whose regularised minimiser is known. Six coefficients (age, education, hours, sex,
married, constant) on rows of norm at most 1, ridge 30 (0.001 for the square of a coefficient, in the mean form).

As published (Wang, Kifer and Lee 2019), as we read it: the noise of Chaudhuri, Monteleoni and Sarwate, which pays the
Jacobian twice, for objectives (under zCDP at sqrt(2 rho), whose pure guarantee implies it); sensitivities of both matrices
twice the longest row's, not sqrt(2) times; shares .65/.175/.175, .8/.1/.1 and .9/.05/.05; eigenvalues of both matrices
lifted to that of the ridge. Quantiles are exact for both; theirs were simulated.

Hard tables: few rows, columns that nearly say the same, the ridge that a fit has when none is asked for. There the noise of
the curvature is larger than the curvature itself in some directions, and what is measured is whether intervals know it.
"""

from __future__ import annotations

import math
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np

from bench.protect import adult
from discreet.models import LinearSVC, LogisticRegression
from discreet.models.intervals.noise_quantiles import quantiles
from discreet.models.losses import HuberHinge, Logistic, Loss

ROWS, RIDGE, REPETITIONS, LEVEL = 15_000, 30.0, 1000, 0.95
HARD_REPETITIONS = 300
SHARES = {
    "epsilon objective": (0.65, 0.175),
    "epsilon output": (0.8, 0.1),
    "rho objective": (0.9, 0.05),
    "rho output": (0.9, 0.05),
}
PRICES = {"epsilon": 1.0, "rho": 0.5}
# Lengths of the improved algorithms on a study like this one (logistic), recorded: not measured here.
RECORDED = {"epsilon objective": 0.824, "epsilon output": 1.08, "rho objective": 0.320, "rho output": 0.392}


def population() -> tuple[Any, Any, bool]:
    """Rows of norm at most 1, targets of -1 and 1, and whether they are Adult's."""
    table, real = adult()
    if not real:
        rng = np.random.default_rng(0)
        age, school, hours = (
            rng.gamma(9, 4.3, 30_162) / 90,
            rng.normal(10, 2.5, 30_162) / 16,
            rng.normal(41, 12, 30_162) / 99,
        )
        sex, married = rng.random(30_162) < 0.67, rng.random(30_162) < 0.47
        x = np.column_stack([np.clip(age, 0, 1), np.clip(school, 0, 1), np.clip(hours, 0, 1), sex, married, np.ones(30_162)])
        chance = 1 / (1 + np.exp(-(x @ np.array([2.5, 5.0, 3.0, 0.4, 2.2, -8.0]))))
        return x / math.sqrt(6), np.where(rng.random(30_162) < chance, 1.0, -1.0), False
    numeric = [("age", 90), ("education-num", 16), ("hours-per-week", 99)]
    columns = [np.array(table[name], float) / top for name, top in numeric]
    columns += [np.array(table["sex"]) == "Male", np.array(table["marital-status"]) == "Married-civ-spouse"]
    y = np.where(np.array(table["income"]) == ">50K", 1.0, -1.0)
    return np.column_stack([*columns, np.ones(len(y))]) / math.sqrt(6), y, True


def minimiser(x: Any, y: Any, loss: Loss, linear: Any, ridge: float, factor: float = 1.0) -> Any:
    """Of factor * (sum of losses) + linear . theta + ridge / 2 |theta|^2, by Newton's method with halving."""
    theta = np.zeros(x.shape[1])

    def value(at: Any) -> float:
        return float(factor * loss.value(x @ at, y).sum() + linear @ at + ridge / 2 * at @ at)

    now = value(theta)
    for _ in range(60):
        first, second = loss.both(x @ theta, y)
        gradient = factor * (x.T @ first) + linear + ridge * theta
        if np.linalg.norm(gradient) < 1e-7 * factor * len(y):
            break
        step = np.linalg.solve(factor * (x * second[:, None]).T @ x + ridge * np.eye(len(theta)), gradient)
        size = 1.0
        while (after := value(theta - size * step)) > now and size > 1e-6:
            size /= 2
        theta, now = theta - size * step, after
    return theta


def spherical(rng: Any, scale: float, size: int) -> Any:
    direction = rng.normal(size=size)
    return direction / np.linalg.norm(direction) * rng.gamma(size, scale)


def lifted(matrix: Any, least: float) -> Any:
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * np.maximum(values, least)) @ vectors.T


def published(x: Any, y: Any, loss: Loss, what: str, rng: Any) -> tuple[Any, Any]:
    """The released coefficients and half lengths of their intervals."""
    kind, method = what.split()
    d, n = x.shape[1], len(y)
    curvature, budget, (first, rest) = float(loss.curvature), PRICES[kind], SHARES[what]
    pure = first * budget if kind == "epsilon" else math.sqrt(2 * first * budget)
    ridge, deviation, scale = RIDGE, 0.0, 0.0
    if method == "objective":
        left = pure - 2 * math.log1p(curvature / ridge)
        if left <= 0:
            ridge = max(ridge, curvature / math.expm1(pure / 4))
            left = pure / 2
        scale = 2 / left
        theta = minimiser(x, y, loss, spherical(rng, scale, d), ridge)
    else:
        theta = minimiser(x, y, loss, np.zeros(d), ridge)
        if kind == "epsilon":
            scale = 2 / ridge / pure
            theta = theta + spherical(rng, scale, d)
        else:
            deviation = 2 / ridge / math.sqrt(2 * first * budget)
            theta = theta + deviation * rng.normal(size=d)
    slope, bend = loss.both(x @ theta, y)
    steepest = 1 / (1 + math.exp(-np.linalg.norm(theta))) if isinstance(loss, Logistic) else 1.0
    sums = []
    for weight, most in ((bend, curvature), (slope**2, steepest**2)):
        upper = np.triu_indices(d)
        size = len(upper[0])
        if kind == "epsilon":
            noise = spherical(rng, 2 * most / (rest * budget), size)
        else:
            noise = 2 * most / math.sqrt(2 * rest * budget) * rng.normal(size=size)
        made = np.zeros((d, d))
        made[upper] = noise / np.where(upper[0] == upper[1], 1.0, math.sqrt(2))
        sums.append((x * weight[:, None]).T @ x + made + np.triu(made, 1).T)
    inverse = np.linalg.inv(lifted(sums[0] + ridge * np.eye(d), ridge))
    spread = lifted(sums[1] - ridge**2 / n * np.outer(theta, theta), ridge)
    variance = np.diag(inverse @ spread @ inverse) + deviation**2
    laplace = scale * np.sqrt((inverse**2).sum(1)) if method == "objective" else np.full(d, scale)
    return theta, quantiles(0.5 + LEVEL / 2, variance, laplace, d)


def tables() -> dict[str, tuple[Any, Any, Any, int]]:
    """Features, classes, bounds of a population, and the rows of a sample from it."""
    from sklearn.datasets import load_breast_cancer

    rng = np.random.default_rng(1)
    x, y = load_breast_cancer(return_X_y=True)
    made = {"breast cancer, 569 rows": (x[:, :5], y, [(5, 30), (5, 40), (40, 200), (100, 2600), (0, 0.2)], 569)}
    z = rng.uniform(-1, 1, 50_000)
    five = np.clip(0.8 * z[:, None] + 0.1 * rng.normal(size=(len(z), 5)), -1, 1)
    says = (rng.random(len(z)) < 1 / (1 + np.exp(-3 * z))).astype(int)
    for rows in (569, 2000, 5000):
        made[f"correlated, {rows} rows"] = (five, says, (-1, 1), rows)
    near = np.column_stack([z, z + 0.02 * rng.normal(size=len(z)), 0.5 * z + 0.5 * rng.uniform(-1, 1, len(z))])
    near = np.clip(near, -1, 1)
    chance = 1 / (1 + np.exp(-(near @ np.array([2.0, -1.0, 1.0]))))
    made["nearly collinear, 8000 rows"] = (near, (rng.random(len(z)) < chance).astype(int), (-1, 1), 8000)
    return made


HARD: dict[str, dict[str, Any]] = {
    "epsilon 1": {"epsilon": 1},
    "epsilon 1, replace": {"epsilon": 1, "neighbors": "replace"},
    "rho 0.1": {"rho": 0.1},
    "rho 0.5, replace": {"rho": 0.5, "neighbors": "replace"},
    "epsilon 1, output": {"epsilon": 1, "method": "output"},
}


def hard(repetitions: int, seed: int = 0) -> dict[str, dict[str, float]]:
    """Coverage of logistic regression on hard tables: the mean over coefficients, that of the worst, and the mean length."""
    rng = np.random.default_rng(seed)
    found = {}
    for name, (x, y, bounds, rows) in tables().items():
        for price, asked in HARD.items():
            model = LogisticRegression(**asked, bounds=bounds, classes=[0, 1], intervals=True)
            truth, hits, lengths = None, [], []
            for _ in range(repetitions):
                chosen = rng.integers(0, len(x), rows)
                ends = model.fit(x[chosen], y[chosen]).confidence_intervals(LEVEL)
                if truth is None:
                    whole = LogisticRegression(epsilon=math.inf, bounds=bounds, classes=[0, 1],
                                               ridge=model.ridge_ * len(x) / rows).fit(x, y)  # fmt: skip
                    truth = np.append(whole.coef_[0], whole.intercept_)
                hits.append((ends.lower <= truth) & (truth <= ends.upper))
                lengths.append(ends.lengths * model.fitted_.design.units)
            found[f"{name}, {price}"] = {
                "coverage": float(np.mean(hits)),
                "coverage of the worst coefficient": float(np.mean(hits, 0).min()),
                "length": float(np.mean(lengths)),
            }
    return found


def study(repetitions: int, seed: int = 0) -> dict[str, dict[str, float]]:
    """Coverage and mean length of both, for each loss, guarantee and method."""
    x, y, _ = population()
    rng = np.random.default_rng(seed)
    losses: list[tuple[str, Loss, Any]] = [("logistic", Logistic(), LogisticRegression), ("SVM", HuberHinge(), LinearSVC)]
    truths = {name: minimiser(x, y, loss, np.zeros(6), RIDGE, ROWS / len(y)) for name, loss, _ in losses}
    seen: dict[str, list[Any]] = {}
    for _ in range(repetitions):
        chosen = rng.integers(0, len(y), ROWS)
        sample, targets = x[chosen], y[chosen]
        for name, loss, kind in losses:
            for what in SHARES:
                price, method = what.split()
                model = kind(**{price: PRICES[price]}, bounds=(-1, 1), classes=[-1, 1], radius=1, fit_intercept=False,
                             ridge=RIDGE, neighbors="replace", method=method, intervals=True)  # fmt: skip
                ends = model.fit(sample, targets).confidence_intervals(LEVEL)
                theta, half = published(sample, targets, loss, what, rng)
                truth = truths[name]
                inside = (ends.lower <= truth) & (truth <= ends.upper)
                seen.setdefault(f"{name}, {what}", []).append(
                    (inside.mean(), ends.lengths.mean(), (np.abs(theta - truth) <= half).mean(), 2 * half.mean())
                )
    words = ("coverage", "length", "coverage as published", "length as published")
    found = {case: dict(zip(words, np.mean(rows, 0).tolist(), strict=True)) for case, rows in seen.items()}
    for row in found.values():
        row["length over published"] = row["length"] / row["length as published"]
    return found


def run() -> dict[str, Any]:
    with ProcessPoolExecutor(2) as pool:
        halves = [pool.submit(study, REPETITIONS // 2, seed) for seed in (0, 1)]
        tried = pool.submit(hard, HARD_REPETITIONS)
        one, two = (half.result() for half in halves)
    cases = {case: {word: (row[word] + two[case][word]) / 2 for word in row} for case, row in one.items()}
    for row in cases.values():
        row["length over published"] = row["length"] / row["length as published"]
    return {
        "rows": ROWS,
        "repetitions": REPETITIONS,
        "real data": population()[2],
        "cases": cases,
        "repetitions of hard tables": HARD_REPETITIONS,
        "hard tables": tried.result(),
    }


def checks(result: dict[str, Any]) -> list[tuple[str, float, str, float]]:
    rows = []
    for case, seen in result["cases"].items():
        loss, what = case.split(", ")
        # A rounded hinge bends up to four times more than the logistic loss, and its matrices need more noise.
        hinge = loss == "SVM" and what.startswith("epsilon")
        rows.append((f"{case}: coverage of 95 %", seen["coverage"], ">=", 0.93))
        rows.append((f"{case}: coverage of 95 %", seen["coverage"], "<=", 0.975 if hinge else 0.98))
        bound = 0.95 if hinge else 0.85
        rows.append((f"{case}: length over that of the published algorithm", seen["length over published"], "<=", bound))
        if loss == "logistic" and result["real data"]:
            rows.append((f"{case}: length", seen["length"], "<=", RECORDED[what]))
    for case, seen in result["hard tables"].items():
        rows.append((f"{case}: coverage of 95 %", seen["coverage"], ">=", 0.93))
    return rows
