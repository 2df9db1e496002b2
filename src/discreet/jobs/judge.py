"""A published classifier judged on a table: its rates with intervals, paid for by the ledger, and a better threshold."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.core.cost import Cost
from discreet.errors import InvalidRequest
from discreet.jobs import asking
from discreet.jobs.output import folder_for
from discreet.jobs.release import Working
from discreet.jobs.release_file import ReleaseFile
from discreet.models import confusion_matrix, load, roc_curve
from discreet.models.evaluate.roc import Threshold, check_costs
from discreet.models.publish.predictor import read
from discreet.session import Session


@dataclass(frozen=True)
class JudgeJob:
    """What is judged, on which table, at what price; ``best`` is where a copy with the best threshold is published."""

    base: ReleaseFile
    model: Path
    price: Mapping[str, Any]
    curve: bool = False
    level: float = 0.95
    best: Path | None = None
    false_yes: float = 1.0
    false_no: float = 1.0


def judged(wanted: JudgeJob, working: Working = lambda words: nullcontext()) -> dict[str, Any]:
    """Check everything, pay, count; what was found, as one document."""
    model = load(wanted.model)
    if not wanted.price:
        raise InvalidRequest("judging a model costs what you say, got no price; give --epsilon or --rho")
    if not 0 < wanted.level < 1:
        raise InvalidRequest(f"--level must lie strictly between 0 and 1, got {wanted.level}")
    check_costs(wanted.false_yes, wanted.false_no)
    place = wanted.best or wanted.model
    with (
        folder_for(place.parent, [place.name], [wanted.base.table]) as write,
        asking.open_ledger(wanted.base, create=True) as ledger,
    ):
        asking.open_table(wanted.base)
        session = Session(wanted.base.table, wanted.base.schema, ledger=ledger, version=wanted.base.version)
        with working("reading the table"):
            ask: Any = roc_curve if wanted.curve or wanted.best is not None else confusion_matrix
            found: Any = ask(model, session, **wanted.price)
        doc: dict[str, Any] = {"kind": "judgement", "schema": 1, "model": str(wanted.model), "cost": str(found.cost)}
        if ask is confusion_matrix:
            doc |= {"classes": list(found.classes), "counts": found.counts.tolist(), "accuracy": found.accuracy}
            doc["rates"] = found.rates().table(wanted.level, "population") if len(found.classes) == 2 else []
        else:
            best = found.best(wanted.false_yes, wanted.false_no)
            doc |= {"area": found.area, "area_interval": list(found.area_interval(wanted.level, "population"))}
            doc |= {"threshold": best.score, "rates": best.rates.table(wanted.level, "population")}
            if wanted.best is not None:
                write(
                    wanted.best.name, json.dumps(with_threshold(model.document, best), indent=1, ensure_ascii=False) + "\n"
                )
                doc["written"] = str(wanted.best)
        return doc | {"level": wanted.level, "spent": str(ledger.spent()), "remaining": str(ledger.remaining())}


def with_threshold(document: Mapping[str, Any], best: Threshold) -> dict[str, Any]:
    """A published model with another threshold; what finding it cost is added to what the model cost."""
    whole: dict[str, Any] = json.loads(json.dumps(document))
    cost = Cost.from_dict(whole["guarantee"]["cost"]) + best.cost
    relation = whole["guarantee"]["neighbors"]
    whole["guarantee"] |= {
        "words": f"{cost} under {relation}, the threshold included",
        "cost": cost.to_dict(),
        "private": bool(whole["guarantee"]["private"]) and best.release.private,
    }
    whole["predictor"]["threshold"] = best.score
    whole["releases"] = [*whole.get("releases", []), best.release.to_dict()]
    entry = best.release.entry
    whole["ledger"] = [*whole.get("ledger", []), *([vars(entry).copy()] if entry is not None and entry.number > 0 else [])]
    read(whole)  # what is written can be read
    return whole
