"""Publishing a fitted model: one JSON file with what predicts, what it cost, who paid, and what it is not for.

Everything in the file was released or declared, so writing it costs nothing. A model of another kind joins in two steps: it
has a property ``predictor`` whose ``to_dict()`` names its ``kind``, and ``discreet.models.publish.predictor`` lists that
kind with the module that registers its reader.
"""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet import __version__
from discreet.core import whole_files
from discreet.core.codec import written
from discreet.errors import InvalidRequest
from discreet.models.publish.predictor import VERSION, read

if TYPE_CHECKING:
    from discreet.models.estimators.private_model import PrivateModel

_NOT_FOR = (
    "decisions about a person without someone who answers for them: scores carry the noise of their guarantee",
    "people unlike those of the table: values outside the bounds are clipped to them",
    "the effect of a feature on the target: coefficients describe how they go together, under a ridge",
)


def publish(model: PrivateModel, path: str | Path) -> Path:
    """Write ``document(model)`` to a file, whole or not at all."""
    target, doc = Path(path), document(model)
    text = json.dumps(doc, indent=1, allow_nan=False, ensure_ascii=False) + "\n"
    try:
        whole_files.write_text(target, text)
    except OSError as problem:
        raise InvalidRequest(
            f"a model must be published to a place that can be written, got {str(target)!r} ({problem.strerror or problem})"
        ) from None
    return target


def document(model: PrivateModel) -> dict[str, Any]:
    """Everything public about a fitted model: how it predicts, its guarantee, its ledger entries and its data card."""
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(model)
    if not hasattr(model, "predictor"):
        raise InvalidRequest(f"{type(model).__name__} has nothing that predicts to publish")
    privacy = model.privacy_
    paid = [*(r.entry for r in privacy.releases), getattr(privacy, "entry", None)]  # a descent is charged as a whole
    entries = [vars(entry).copy() for entry in paid if entry is not None and entry.number > 0]
    doc = {
        "kind": "model",
        "schema": VERSION,
        "name": type(model).__name__,
        "made": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "discreet": __version__,
        "predictor": model.predictor.to_dict(),
        "guarantee": {
            "words": str(privacy),
            "cost": privacy.cost.to_dict(),
            "neighbors": privacy.relation,
            "private": privacy.private,
        },
        "ledger": entries,
        "releases": [r.to_dict() for r in privacy.releases],
        "card": card(model),
        "intervals": _intervals(model),
    }
    read(json.loads(json.dumps(doc, allow_nan=False)))  # what is written can be read
    return doc


def card(model: PrivateModel) -> dict[str, Any]:
    """The data card: what was declared about the table, how the model was made, and what it is not for."""
    fitted = getattr(model, "fitted_", None)
    design = getattr(fitted, "design", None) or getattr(fitted, "declared", None)
    facts: dict[str, Any] = {} if design is None else {"design": written(design), "most_rows_of_a_person": design.rows}
    classes = getattr(model, "classes_", None)
    if classes is not None:
        facts["classes"] = classes.tolist()
    privacy = model.privacy_
    if not privacy.private:
        facts["warning"] = "made with a seed or without noise, for tests: this model is not private"
    if privacy.ridge is not None:
        facts |= {"ridge": privacy.ridge, "penalty": "ridge"}
    return facts | {
        "method": privacy.method,
        "missing": "rows that lack a value follow the declarations of their columns",
        "not_for": list(_NOT_FOR),
    }


def _intervals(model: Any) -> dict[str, Any] | None:
    """Intervals of 95 % where the fit paid for them."""
    if not hasattr(model, "confidence_intervals"):
        return None
    try:
        found = model.confidence_intervals(0.95)
    except InvalidRequest:  # they were not paid for
        return None
    return {
        "level": found.level,
        "names": list(found.names),
        "lower": found.lower.tolist(),
        "upper": found.upper.tolist(),
        "covers": found.covers,
    }
