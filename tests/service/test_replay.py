"""Every kind of model that a service fits comes back fitted: the client's asks are those of the service, to the letter."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import discreet as ds
from discreet.core.random import Random
from discreet.core.release import Release
from discreet.core.runner import Desk, NoLedger, relayed
from discreet.jobs.fit_file import KINDS, STEPWISE, UNSUPERVISED
from discreet.service.limits import Limits
from discreet.service.remote import Remote
from discreet.service.remote_question import parse
from discreet.sources import open_source

PEOPLE = 60
SCHEMA = ds.Schema({
    "x": ds.Real(-1, 1), "dose": ds.Real(0, 1), "y": ds.Categories(("no", "yes")), "amount": ds.Real(0.25, 5),
    "benefit": ds.Real(0, 1), "town": ds.Categories(("A", "B", "C")),
})  # fmt: skip
TARGETS = {"softmax": "town", "linear": "amount", "poisson": "amount", "gamma": "amount", **dict.fromkeys(UNSUPERVISED)}
MORE: dict[str, dict[str, Any]] = {
    "kmeans": {"n_clusters": 2},
    "kernel": {"components": 4},
    "treatment": {"propensity": 0.5, "weight_bound": 2},
    "kernel_treatment": {"propensity": 0.5, "weight_bound": 2, "components": 4},
}


class Straight(Remote):
    """A service without a wire: what is asked is read, answered from a table and handed back as JSON."""

    def __init__(self) -> None:
        rng = np.random.default_rng(1)
        columns = {name: rng.uniform(0.3, 1, PEOPLE) for name in ("x", "dose", "amount", "benefit")}
        labels = {
            "y": rng.choice(["no", "yes"], PEOPLE),
            "town": rng.choice([*"ABC"], PEOPLE),
        }
        self.table, self.schema, self._rows = "t", SCHEMA, None
        self._source = open_source(columns | labels, SCHEMA)

    def _asked(self, text: str, digest: str) -> dict[str, Any]:
        question, releases = parse(text), list[Release]()

        def note(_: Any, answer: Any) -> None:
            releases.extend([answer] if isinstance(answer, Release) else [])

        taken = relayed(question.kind.procedure(self._source, None, Limits()), note=note)
        Desk(self._source, NoLedger(), Random(2), SCHEMA.neighbors).run(taken)
        return {"releases": [json.loads(json.dumps(each.to_dict())) for each in releases]}


@pytest.mark.parametrize("kind", sorted(set(KINDS) - set(STEPWISE)))
def test_every_kind_of_model_comes_back_fitted(kind: str) -> None:
    model = getattr(ds.models, KINDS[kind])(epsilon=5, **MORE.get(kind, {}))
    weight = "benefit" if kind.endswith("treatment") else None
    fitted = Straight().fit(model, ["x", "dose"], TARGETS.get(kind, "y"), weight=weight)
    assert fitted is model
    assert fitted.privacy_.cost.epsilon == 5
