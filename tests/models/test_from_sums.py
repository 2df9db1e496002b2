"""Models that are read off noisy sums: against scikit-learn without noise, neighbours by brute force, sessions, files."""

from __future__ import annotations

import json
import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn import decomposition
from sklearn.cluster import KMeans as PlainKMeans
from sklearn.datasets import load_iris
from sklearn.naive_bayes import GaussianNB as PlainNB

import discreet as ds
from discreet.core.query import RELATIONS, Relation
from discreet.errors import BudgetExceeded, InvalidRequest
from discreet.models.estimators.kmeans import first_centres
from discreet.models.queries.class_moments import ClassMoments, class_cells, moments_of_cells
from discreet.models.queries.cluster_sums import ClusterSums
from discreet.models.queries.leaf_counts import LeafCounts, RandomTrees
from discreet.sources import open_source
from discreet.statistics.bounded_rows import BoundedRows
from discreet.statistics.covariance_matrix import Scatter

m = ds.models
X, Y = load_iris(return_X_y=True)
BOUNDS = [(4, 8), (2, 5), (1, 7), (0, 3)]
INF = math.inf
NAMES = ["a", "b", "c", "d"]
COLUMNS: dict[str, Any] = {n: ds.Real(*b) for n, b in zip(NAMES, BOUNDS, strict=True)}
SPECIES = ds.Categories(["setosa", "versicolor", "virginica"])


def iris() -> dict[str, Any]:
    return dict(zip(NAMES, X.T.copy(), strict=True)) | {
        "species": np.array(SPECIES.labels)[Y],
        "person": np.arange(150) // 2,
    }


def session(**more: Any) -> ds.Session:
    schema = ds.Schema(COLUMNS | {"species": SPECIES}, **more)
    return ds.Session(iris(), schema, ledger="test", seed=1)


def test_without_noise_naive_bayes_is_scikit_learns() -> None:
    ours = m.GaussianNB(epsilon=INF, bounds=BOUNDS, classes=[0, 1, 2], pooling=0).fit(X, Y)
    plain = PlainNB().fit(X, Y)
    assert np.allclose(ours.theta_, plain.theta_, atol=1e-6)
    assert np.allclose(ours.var_, plain.var_, rtol=1e-4)
    assert np.allclose(ours.predict_proba(X), plain.predict_proba(X), atol=1e-3)
    assert (ours.predict(X) == plain.predict(X)).all()


def test_both_forms_of_the_moments_say_the_same() -> None:
    """The cells of a pure price and the moments of a Gaussian one, without noise, on messy rows."""
    table = iris()
    table["a"][3], table["b"][5], table["species"][9] = -7.0, math.inf, "lilac"
    schema = ds.Schema(COLUMNS | {"species": SPECIES}, person="person", max_rows=2)
    source = open_source(table, schema)
    bounded = BoundedRows.of(schema, NAMES, "species")
    moments = ClassMoments.of(bounded, "add_remove")
    first = moments.moments(moments.evaluate(source).value, 0.0)
    second = moments_of_cells(bounded, class_cells(bounded).evaluate(source).value, 0.0)
    for one, other in pairwise((first, second)):
        for ours, theirs in zip(one[:3], other[:3], strict=True):
            assert np.allclose(ours, theirs, atol=1e-5)
    assert first.counts.sum() == 149


def test_without_noise_principal_components_are_scikit_learns() -> None:
    ours = m.PCA(epsilon=INF, bounds=BOUNDS, n_components=2).fit(X)
    s = (X - np.mean(BOUNDS, axis=1)) / (np.diff(BOUNDS, axis=1)[:, 0] / 2)
    plain = decomposition.PCA(2).fit(s)
    assert np.allclose(np.abs(ours.components_), np.abs(plain.components_), atol=1e-3)
    assert np.allclose(ours.explained_variance_, plain.explained_variance_, rtol=1e-3)
    assert np.allclose(np.abs(ours.transform(X)), np.abs(plain.transform(s)), atol=1e-3)
    whole = m.PCA(epsilon=INF, bounds=BOUNDS).fit(X)
    assert np.allclose(whole.inverse_transform(whole.transform(X)), X, atol=1e-9)
    with pytest.raises(InvalidRequest, match="a column for each of"):
        whole.inverse_transform(whole.transform(X)[:, 1:])


def test_k_means_takes_the_steps_of_lloyd() -> None:
    ours = m.KMeans(epsilon=INF, bounds=BOUNDS, n_clusters=3, rounds=3).fit(X)
    s = (X - np.mean(BOUNDS, axis=1)) / (np.diff(BOUNDS, axis=1)[:, 0] / 2)
    centres = first_centres(3, 4)
    for _ in range(3):
        mine = ((s[:, None] - centres) ** 2).sum(-1).argmin(1)
        centres = np.array([s[mine == c].mean(0) if (mine == c).any() else centres[c] for c in range(3)])
    assert np.allclose(ours.fitted_.centres, centres, atol=1e-6)
    best = PlainKMeans(3, n_init=10, random_state=0).fit(s).inertia_
    assert (ours.transform(X).min(1) ** 2).sum() < 1.2 * best
    assert first_centres(1, 4).shape == (1, 4)


def test_a_forest_counts_by_its_public_splits() -> None:
    schema = ds.Schema({"x": ds.Real(0, 1), "c": ds.Categories(["p", "q", "r"]), "y": ds.Categories([0, 1])})
    rng = np.random.default_rng(0)
    table = {"x": rng.random(400), "c": rng.choice(["p", "q", "r"], 400), "y": rng.integers(0, 2, 400)}
    query = LeafCounts.of(schema, ["x", "c"], "y", RandomTrees(5, 3, key=3))
    counts = query.evaluate(open_source(table, schema)).counts
    assert (counts.sum((1, 2)) == 400).all()
    for tree, (column, cut) in enumerate(query.splits):
        node = np.zeros(400, int)
        for _ in range(3):
            on_x = table["x"] > cut[node]
            on_c = np.array([["p", "q", "r"].index(v) for v in table["c"]]) == cut[node]
            node = 2 * node + 1 + np.where(column[node] == 0, on_x, on_c)
        wanted = np.zeros((8, 2), int)
        np.add.at(wanted, (node - 7, table["y"]), 1)
        assert (counts[tree] == wanted).all()
    with ds.Session(table, schema, ledger="test").ledger:
        model = ds.Session(table, schema, ledger="test", seed=1).fit(
            m.RandomForestClassifier(epsilon=50, key=3, max_depth=3), ["x", "c"], "y"
        )
    rows = {"x": table["x"], "c": table["c"]}
    score = model.predictor.scores(model.predictor.rows(rows))
    rule = model.fitted_.rule
    truth, guess = rule.decide(open_source(table, schema).fold(lambda b: b, lambda a, b: a, [*rows, "y"]))
    assert (truth == table["y"]).all()
    assert (score.argmax(1) == guess).all(), "a published forest decides as the one that is judged"


def queries(relation: Relation, rows: int) -> list[Any]:
    schema = ds.Schema(
        {"x": ds.Real(-1, 3), "v": ds.Real(0, 1), "y": ds.Categories(["n", "o", "p"])},
        neighbors=relation, person="id", max_rows=rows,
    )  # fmt: skip
    plain, classes = BoundedRows.of(schema, ["x", "v"]), BoundedRows.of(schema, ["x", "v"], "y")
    clusters = ClusterSums.of(plain, 3)
    return [
        schema,
        Scatter.of(plain),
        Scatter(plain, 3),
        Scatter(plain, 1, number=False),
        Scatter(plain, 2, number=False),
        ClassMoments.of(classes, relation),
        ClassMoments.of(plain, relation),
        class_cells(classes),
        clusters.at(first_centres(3, 2)),
        LeafCounts.of(schema, ["x", "v"], "y", RandomTrees(4, 3, 1)),
    ]


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("rows", [1, 3])
def test_neighbours_by_brute_force(relation: Relation, rows: int) -> None:
    """Corners, middles, values outside and missing ones: nobody moves a sum further than it declares, and some nearly do."""
    schema, *asked = queries(relation, rows)
    rng = np.random.default_rng(rows)
    nearest = np.zeros(len(asked))

    def people(count: int) -> dict[str, list[Any]]:
        each = [rng.integers(1, rows + 2) for _ in range(count)]
        size = int(sum(each))
        return {
            "x": rng.choice([-1.0, 3.0, 1.0, 9.0, math.nan, -math.inf], size, p=[0.4, 0.4, 0.05, 0.05, 0.05, 0.05]).tolist(),
            "v": rng.choice([0.0, 1.0, 0.5, math.nan], size, p=[0.45, 0.45, 0.05, 0.05]).tolist(),
            "y": rng.choice(["n", "o", "p", "?"], size, p=[0.4, 0.3, 0.25, 0.05]).tolist(),
            "id": np.repeat(np.arange(count), each).tolist(),
        }

    for _ in range(25):
        table = people(4)
        last = [i for i, who in enumerate(table["id"]) if who == 3]
        others = [{k: [v for i, v in enumerate(vs) if i not in last] for k, vs in table.items()}]
        fresh = people(1)
        fresh["id"] = [3] * len(fresh["id"])
        replaced = {k: others[0][k] + fresh[k] for k in table}
        moved_to = {"add_remove": others, "replace": [replaced], "both": [others[0], replaced]}[relation]
        for place, query in enumerate(asked):
            here = np.ravel(query.evaluate(open_source(table, schema)).value)
            distance = query.distance(relation)
            for other in moved_to:
                apart = np.abs(here - np.ravel(query.evaluate(open_source(other, schema)).value))
                for norm, most in (
                    (apart.sum(), distance.l1),
                    (np.sqrt((apart**2).sum()), distance.l2),
                    (apart.max(), distance.linf),
                ):
                    assert norm <= float(most) * (1 + 1e-12), query.name
                nearest[place] = max(nearest[place], np.sqrt((apart**2).sum()) / float(distance.l2))
    assert (nearest > 0.55).all(), nearest


@pytest.mark.parametrize(("width", "constant"), [(1, 1), (2, 1), (3, 7), (4, 2), (5, 1)])
def test_two_rows_move_a_triangle_no_further_than_one(width: int, constant: int) -> None:
    """Hill climbing over pairs of rows reaches the maximum of the proof, which is below what one row alone can move."""
    names = [f"x{i}" for i in range(width)]
    plain = BoundedRows.of(ds.Schema(dict.fromkeys(names, ds.Real(-1, 1))), names)
    declared, without = (float(Scatter(plain, constant, number).distance("replace").l1) for number in (True, False))
    rng, best = np.random.default_rng(width), 0.0
    upper = np.triu_indices(width + 1)

    def apart(pair: Any) -> float:
        u, w = np.concatenate([np.full((2, 1), float(constant)), pair], 1)
        return float(np.abs(np.outer(u, u) - np.outer(w, w))[upper].sum())

    for _ in range(8):
        pair, size = rng.uniform(-1, 1, (2, width)), 0.5
        for _ in range(600):
            near = np.clip(pair + size * rng.normal(size=pair.shape), -1, 1)
            pair, size = (near, size) if apart(near) > apart(pair) else (pair, max(0.99 * size, 1e-3))
        best = max(best, apart(pair))
    proved = width * (constant + width + 1) ** 2 / (2 * (width + 1)) if constant <= width + 1 else 2 * constant * width
    assert 0.97 * proved < best <= proved * (1 + 1e-12) < declared
    one_row = declared - constant**2
    assert without == pytest.approx(max(proved, one_row), rel=1e-12)


@pytest.mark.parametrize(
    "model",
    [
        m.GaussianNB(epsilon=1),
        m.GaussianNB(rho=0.1),
        m.RandomForestClassifier(epsilon=1, delta=1e-6),
        m.KMeans(epsilon=1, delta=1e-6, n_clusters=3),
        m.KMeans(rho=0.1, n_clusters=2, rounds=1),
        m.PCA(epsilon=1),
        m.StandardScaler(epsilon=1, delta=1e-6),
    ],
    ids=lambda model: str(model)[:30],
)
@pytest.mark.parametrize("more", [{}, {"neighbors": "replace"}, {"person": "person", "max_rows": 2}], ids=str)
def test_sessions_pay_publish_and_refuse(model: Any, more: dict[str, Any], tmp_path: Path) -> None:
    price = model.price.cost
    budget = (
        ds.Budget(rho=model.rho)
        if model.rho is not None
        else ds.Budget(epsilon=1, delta=model.delta or 0)
        if model.delta
        else ds.Budget(epsilon=1)
    )
    schema = ds.Schema(COLUMNS | {"species": SPECIES}, **more)
    with ds.Ledger("sqlite://", budget, neighbors=schema.neighbors) as ledger:
        live = ds.Session(iris(), schema, ledger=ledger, version="1")
        target = ["species"] if model.supervised else []
        seen = live.preview_fit(model, NAMES, *target)
        assert seen.fits
        fitted = live.fit(model, NAMES, *target)
        spent = ledger.spent()
        if price.rho is not None and model.rho is not None:
            assert spent.rho == price.rho
        else:
            assert spent.epsilon == price.epsilon
            assert spent.delta in (0, price.delta), "where a pure law has less noise, delta is left unspent"
        assert fitted.privacy_.cost == seen.cost
        assert fitted.privacy_.private
        path = fitted.publish(tmp_path / "model.json")
        loaded = m.load(path)
        rows = {n: X[:, i] for i, n in enumerate(NAMES)}
        wanted = (
            fitted.transform(rows)
            if hasattr(fitted, "transform") and not hasattr(fitted, "predict")
            else fitted.predict(rows)
        )
        assert np.array_equal(loaded.predict(rows), wanted)
        document = json.loads(path.read_text())
        assert document["ledger"], "who paid"
        assert document["card"]["design"]
        with pytest.raises(BudgetExceeded):
            live.fit(
                type(model)(**model.get_params()).set_params(**({"key": 5} if "key" in model.get_params() else {})),
                NAMES[:3],
                *target,
            )


def test_one_class_an_empty_table_and_strange_labels_are_answered() -> None:
    schema = ds.Schema(COLUMNS | {"species": SPECIES})
    only = iris() | {"species": ["setosa"] * 150}
    empty = {n: [] for n in [*NAMES, "species"]}
    strange = iris() | {"species": ["lilac", None, "?"] * 50, "a": [math.nan] * 150}
    for table in (only, empty, strange):
        live = ds.Session(table, schema, ledger="test", seed=1)
        for model in (m.GaussianNB(epsilon=1), m.RandomForestClassifier(epsilon=1, key=1)):
            live.fit(model, NAMES, "species")
            shares = model.predict_proba({n: X[:, i] for i, n in enumerate(NAMES)})
            assert np.allclose(shares.sum(1), 1)
        for other in (m.KMeans(epsilon=1), m.PCA(epsilon=1), m.StandardScaler(epsilon=1)):
            live.fit(other, NAMES)
        assert np.isfinite(other.scale_).all()


def test_what_is_refused() -> None:
    live = session()
    for words, call in [
        ("needs target", lambda: live.fit(m.GaussianNB(epsilon=1), NAMES)),
        ("features alone", lambda: live.fit(m.KMeans(epsilon=1), NAMES, "species")),
        ("holds categories", lambda: live.fit(m.KMeans(epsilon=1), [*NAMES, "species"])),
        ("declared as Categories", lambda: live.fit(m.GaussianNB(epsilon=1), NAMES[:2], "c")),
        ("n_clusters", lambda: live.fit(m.KMeans(epsilon=1, n_clusters=0), NAMES)),
        ("from 1 to 2000", lambda: live.fit(m.KMeans(epsilon=1, n_clusters=10**6), NAMES)),
        ("from 1 to 1000", lambda: live.fit(m.KMeans(epsilon=1, rounds=10**9), NAMES)),
        ("n_components", lambda: live.fit(m.PCA(epsilon=1, n_components=9), NAMES)),
        ("max_depth", lambda: live.fit(m.RandomForestClassifier(epsilon=1, max_depth=2.5), NAMES, "species")),
        ("at most", lambda: live.fit(m.RandomForestClassifier(epsilon=1, max_depth=40), NAMES, "species")),
        ("epsilon", lambda: live.fit(m.StandardScaler(), NAMES)),
        ("classes", lambda: m.GaussianNB(epsilon=1, bounds=BOUNDS).fit(X, Y)),
        ("declared classes", lambda: m.GaussianNB(epsilon=1, bounds=BOUNDS, classes=[0, 1]).fit(X, Y)),
        ("public or paid", lambda: m.StandardScaler(epsilon=1, mean=0, bounds=BOUNDS).fit(X)),
        ("takes no 'ridge'", lambda: m.KMeans(epsilon=1, ridge=1)),
    ]:  # fmt: skip
        with pytest.raises(InvalidRequest, match=words):
            call()


def test_a_public_scaler_costs_nothing() -> None:
    scaler = m.StandardScaler(bounds=BOUNDS).fit(X)
    assert np.allclose(scaler.bounds_, [(-1, 1)] * 4)
    assert scaler.privacy_.cost.epsilon == 0
    assert np.allclose(scaler.inverse_transform(scaler.transform(X)), np.clip(X, *np.transpose(BOUNDS)))
    given = m.StandardScaler(bounds=BOUNDS, mean=[6, 3, 4, 1], scale=2).fit(X)
    assert np.allclose(given.transform(X)[:, 3], (X[:, 3] - 1) / 2)


def test_decisions_are_paid_for() -> None:
    with ds.Ledger("test", ds.Budget(epsilon=10)) as ledger:
        model = m.GaussianNB(epsilon=1, bounds=BOUNDS, classes=["s", "v", "w"], ledger=ledger, random_state=1)
        names = np.array(["s", "v", "w"])[Y]
        model.fit(X, names)
        share = model.paid_score(X, names, epsilon=2)
        assert ledger.spent().epsilon == 3
        assert abs(float(share) - model.public_score(X, names)) < 0.2
        found = m.confusion_matrix(model, X, names, epsilon=3)
        assert ledger.spent().epsilon == 6
        truth = np.array([[((names == a) & (model.predict(X) == b)).sum() for b in "svw"] for a in "svw"])
        assert np.abs(found.counts - truth).max() < 20
    live = session(person="person", max_rows=2)
    forest = live.fit(m.RandomForestClassifier(epsilon=5, key=1), NAMES, "species")
    assert 0 <= float(live.score(forest, epsilon=5)) <= 1
    assert m.confusion_matrix(forest, live, epsilon=5).classes == SPECIES.labels
    other = ds.Session(iris(), ds.Schema({**COLUMNS, "a": ds.Real(0, 9), "species": SPECIES}), ledger="test")
    with pytest.raises(InvalidRequest, match="declared as it was"):
        other.score(forest, epsilon=1)


@pytest.mark.parametrize(
    ("features", "price", "trees"),
    [
        (4, {"epsilon": 1}, 4), (4, {"epsilon": "0.01"}, 3), (64, {"epsilon": 1}, 10), (64, {"rho": 2}, 14),
        (64, {"epsilon": 5, "delta": 1e-6}, 20), (5, {"rho": "0.5"}, 5), (64, {"epsilon": 1e6}, 20),
        (2, {"epsilon": math.inf}, 20),
    ],
)  # fmt: skip
def test_a_forest_has_as_many_trees_as_its_price_bears(features: int, price: dict[str, Any], trees: int) -> None:
    x = np.random.default_rng(1).uniform(0, 1, (40, features))
    forest = m.RandomForestClassifier(bounds=(0, 1), classes=[0, 1], **price).fit(x, (x[:, 0] > 0.5) * 1)
    assert len(forest.fitted_.leaves) == trees
