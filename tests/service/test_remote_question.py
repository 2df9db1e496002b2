"""Questions from afar: every kind is read and priced as a session would charge for it; everything else is refused."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet.audit.statistic_claims import ASKED
from discreet.audit.statistic_claims import SCHEMA as AUDITED
from discreet.core.codec import written
from discreet.errors import DiscreetError
from discreet.service import weights
from discreet.service.limits import Limits
from discreet.service.outbox import Published
from discreet.service.remote_question import parse, price
from discreet.statistics.question import names

from . import twins
from .conftest import SCHEMA, body, mean


def asked(**kind: Any) -> str:
    return json.dumps({"table": "patients", **kind})


@pytest.mark.parametrize("name", sorted(set(names()) - {"categories"}))
def test_every_registered_statistic_is_priced_as_a_session_prices_it(name: str) -> None:
    columns, options = ASKED[name]
    schema = ds.Schema(AUDITED, expected_rows=100)
    plain = {k: v for k, v in options.items() if k != "by"}
    item = {"statistic": name, "columns": list(columns), "epsilon": "0.3", "options": plain}
    question = parse(asked(ask=[item | ({"by": options["by"]} if "by" in options else {})]))
    session = ds.Session({name: np.zeros(1) for name in schema.columns}, schema, ds.Budget(epsilon=1))
    assert price(question, schema).cost == session.preview(name, *columns, epsilon="0.3", **options).cost


def test_categories_are_priced() -> None:
    schema = ds.Schema({"town": ds.Categories("private")}, expected_rows=100)
    question = parse(asked(ask=[{"statistic": "categories", "columns": ["town"], "epsilon": 1, "delta": 1e-6}]))
    assert price(question, schema).cost.epsilon == 1
    with pytest.raises(DiscreetError, match="private"):
        price(parse(asked(ask=[{"statistic": "count", "by": "town", "epsilon": 1}])), schema)


COLUMNS = {"features": ["age", "bmi", "sex"], "target": "stroke"}


@pytest.mark.parametrize(
    ("kind", "cost"),
    [
        ({"together": {"questions": [["mean", "age"], ["count"]], "epsilon": 0.2}}, ds.Budget(epsilon="0.2")),
        (
            {"together": {"questions": [["histogram", "age", {"bins": 3}], ["count"]], "epsilon": 0.2}},
            ds.Budget(epsilon="0.2"),
        ),
        ({"fit": {"kind": "logistic", "epsilon": 0.5, "intervals": True, **COLUMNS}}, ds.Budget(epsilon="0.5")),
        ({"synthesize": {"columns": ["sex", "stroke"], "epsilon": 1, "tables": 3}}, ds.Budget(epsilon=1)),
        ({"fit": {"kind": "sgd", "epsilon": 1, "delta": 1e-6, **COLUMNS}}, ds.Budget(epsilon=1, delta="1e-6")),
        (
            {"tune": {"kind": "svm", "candidates": [{"ridge": 1}, {"ridge": 9}], "epsilon": 1, **COLUMNS}},
            ds.Budget(epsilon=1),
        ),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_other_kinds_are_priced_as_asked(kind: dict[str, Any], cost: ds.Budget) -> None:
    found = price(parse(asked(**kind)), SCHEMA).cost
    assert (found.epsilon, found.delta) == (cost.epsilon, cost.delta)


@pytest.mark.parametrize("kind", ["LogisticRegression", "LinearSVC", "KernelSVC"])
def test_a_model_is_scored_by_its_design(kind: str) -> None:
    """Also by a design whose features are drawn from a key of 63 bits, which no double keeps."""
    table = {"age": [20.0, 80.0], "bmi": [20.0, 40.0], "sex": ["f", "m"], "stroke": ["no", "yes"]}
    session = ds.Session(table, SCHEMA, ds.Budget(epsilon=9), ledger="test", seed=1)
    model = session.fit(getattr(ds.models, kind)(epsilon=1), ["age", "sex"], "stroke")
    doc = {"design": written(model.fitted_.design), "theta": list(model.fitted_.theta), "epsilon": 1}
    assert price(parse(json.dumps({"table": "t", "score": doc})), SCHEMA).cost.epsilon == 1
    with pytest.raises(DiscreetError, match="theta"):
        parse(json.dumps({"table": "t", "score": doc | {"theta": [1]}}))


def test_prices_are_the_rationals_they_look_like_and_one_question_has_one_digest() -> None:
    one, other = parse(body(mean(0.1))), parse(' {"ask": [ {"epsilon":"1/10", "columns":["age"], "statistic":"mean"}],'
                                               ' "table":"patients"}')  # fmt: skip
    assert one.digest == other.digest
    assert price(one, SCHEMA).cost.epsilon == Fraction(1, 10)
    assert parse(body(mean("0.2"))).digest != one.digest


REFUSED = {
    "duplicate": '{"table": "t", "table": "t", "ask": []}',
    "nan": body(mean(0.1)).replace('"0.1"', "NaN").replace("0.1", "NaN"),
    "infinity": body(mean(0.1)).replace("0.1", "Infinity"),
    "infinite price": body(mean("inf")),
    "exponent": body(mean(0.1)).replace("0.1", "1e999999999"),
    "long exponent as text": body(mean("1e999999999")),
    "digits": body(mean(0.1)).replace("0.1", "0.1234567890123456789"),
    "long number": body(mean(0.1)).replace("0.1", "1" * 40),
    "depth": '{"table": "t", "ask": ' + "[" * 1500 + "]" * 1500 + "}",
    "brackets": '{"table": "t", "ask": ' + "[" * 40000 + "]" * 40000 + "}",
    "length": '{"table": "t", "ask": "' + "x" * 70000 + '"}',
    "control": body(mean(0.1, title="a\u001b[2J")),
    "bidi": body(mean(0.1, title="a\u202egpj")),
    "unknown key": body(mean(0.1, seed=1)),
    "unknown word": '{"table": "t", "sql": "select 1"}',
    "two kinds": '{"table": "t", "ask": [], "fit": {}}',
    "path": asked(fit={"kind": "sgd", "epsilon": 1, "delta": 1e-6, "checkpoint": "/etc/x", **COLUMNS}),
    "state": asked(fit={"kind": "logistic", "epsilon": 1, "random_state": 1, **COLUMNS}),
    "bounds": asked(fit={"kind": "logistic", "epsilon": 1, "bounds": [0, 1], **COLUMNS}),
    "cheap": body(mean("0.00001")),
    "free": body(mean(0)),
    "none": "null",
    "empty": "",
    "bytes": b"\xff\xfe",
    "bins": asked(ask=[mean() | {"statistic": "histogram", "options": {"bins": 10**9}}]),
    "draws": asked(
        ask=[{"statistic": "kruskal", "columns": ["age"], "by": "sex", "epsilon": 1, "options": {"draws": 10**9}}]
    ),
    "layers": asked(fit={"kind": "network", "epsilon": 1, "delta": 1e-6, "hidden_layer_sizes": [10**9], **COLUMNS}),
    "asks": body(*[mean()] * 21),
    "clusters": asked(fit={"kind": "kmeans", "n_clusters": 10**9, "features": ["age"], "epsilon": 1}),
}
_STRATA = {"statistic": "logrank", "columns": ["age", "stroke"], "by": "sex", "epsilon": 1}
_WIDE = [f"bins({c}, {[*range(10, 60)]})" for c in ("bmi", "age", "bmi + age")]
REFUSED_BY_SCHEMA = {
    "code": asked(ask=[{"statistic": "of_tests", "columns": ["age"], "epsilon": 1}]),
    "column": body(mean(columns=["nope"])),
    "label": body(mean(where={"sex": "x"})),
    "pattern": body(mean(where="matches(sex, 'f*')")),
    "pattern in a group": asked(ask=[{"statistic": "count", "by": "matches(sex, 'f*')", "epsilon": 1}]),
    "pattern among strata": asked(ask=[_STRATA | {"options": {"happened": "yes", "strata": "matches(stroke, 'y*')"}}]),
    "pattern of other letters": body(mean(where="\uff4datches(sex, 'f*')")),
    "pattern of the impossible": asked(synthesize={"columns": ["sex"], "impossible": ["endswith(sex,'f')"], "epsilon": 1}),
    "code in a filter": body(mean(where="__import__('os').system('x') > 0")),
    "cells": asked(ask=[{"statistic": "crosstab", "columns": _WIDE, "epsilon": 1}]),
    "steps": asked(fit={"kind": "sgd", "epsilon": 1, "delta": 1e-6, "lot_size": 1, "epochs": 9999, **COLUMNS}),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_closed_is_refused(name: str) -> None:
    with pytest.raises(DiscreetError):
        parse(REFUSED[name])


@pytest.mark.parametrize("name", REFUSED_BY_SCHEMA)
def test_what_the_schema_does_not_allow_is_refused(name: str) -> None:
    question = parse(REFUSED_BY_SCHEMA[name])
    with pytest.raises(DiscreetError):
        price(question, SCHEMA)


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
_words = st.sampled_from(
    ["statistic", "columns", "by", "where", "options", "epsilon", "delta", "rho", "kind", "features", "questions", "theta"]
)
_values = _json | st.sampled_from(
    ["mean", "age", "sex", "logistic", "0.1", ["age"], {"sex": "f"}, "age > 3", 0.5, 10**18, [[]]]
)


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(["ask", "together", "fit", "tune", "score"]),
    st.dictionaries(_words, _values, max_size=6) | _json,
    st.booleans(),
)
def test_anything_else_is_read_or_refused_in_our_own_words(kind: str, doc: Any, listed: bool) -> None:
    """Whatever JSON says, nothing but a DiscreetError comes of it."""
    try:
        question = parse(json.dumps({"table": "t", kind: [doc] if listed else doc}), Limits())
        price(question, SCHEMA)
    except DiscreetError:
        pass


EXTREMES = ("179000000e300", "-179000000e300", "1e300", "5e-300", "9" * 32, "-1", "0", "2", "0.5", '"179000000e300"')


def _numbers_of(doc: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where in a document a number stands, or a text that is one."""
    if isinstance(doc, dict | list):
        pairs = doc.items() if isinstance(doc, dict) else enumerate(doc)
        return [found for key, inner in pairs for found in _numbers_of(inner, (*path, key))]
    numeric = not isinstance(doc, bool) and isinstance(doc, int | float)
    return [path] if numeric or (isinstance(doc, str) and doc.replace(".", "").isdigit()) else []


def _with(doc: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    pairs = doc.items() if isinstance(doc, dict) else enumerate(doc)
    changed = {key: _with(inner, path[1:], value) if key == path[0] else inner for key, inner in pairs}
    return changed if isinstance(doc, dict) else list(changed.values())


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_no_number_is_too_large_or_too_small_to_be_weighed(data: st.DataObject) -> None:
    """A good question with one number changed to an extreme one is read, priced and weighed, or refused in our own words."""
    good = {"table": "patients", **data.draw(st.sampled_from(twins.GOOD))}
    path = data.draw(st.sampled_from(_numbers_of(good)))
    text = json.dumps(_with(good, path, "%")).replace('"%"', data.draw(st.sampled_from(EXTREMES)))
    try:
        question = parse(text, Limits())
        price(question, SCHEMA)
    except DiscreetError:
        return
    table = Published("patients", "clinic", SCHEMA, "1", None, True)
    assert all(part.name for part in weights.parts(question, table, 100))


def test_what_the_twins_ask_can_be_asked() -> None:
    """Every registered statistic too, so that the study of twins does not end at a rule that came later."""
    for good in twins.GOOD:
        assert price(parse(json.dumps({"table": "patients", **good})), SCHEMA, told=False).numbers >= 0
