"""Several candidate models, the best of them chosen and fitted privately, and published."""

from __future__ import annotations

import itertools
import json
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

from discreet.errors import InvalidRequest
from discreet.jobs import asking
from discreet.jobs.fit_file import FitJob, settings
from discreet.jobs.output import folder_for
from discreet.jobs.release import Working
from discreet.models.publish.document import document
from discreet.session import Session

_MOST = 64


def grid(tries: Sequence[str]) -> list[dict[str, Any]]:
    """Every combination of ``name=value,value`` lists."""
    lists: dict[str, list[Any]] = {}
    for each in tries:
        name, equals, values = each.partition("=")
        if not equals or not name.strip() or not values.strip():
            raise InvalidRequest(f"--try is name=value,value, as in ridge=1,10,100, got {each!r}")
        lists[name.strip()] = _values(values)
    made = [dict(zip(lists, values, strict=True)) for values in itertools.product(*lists.values())]
    if not lists or len(made) < 2 or len(made) > _MOST:
        raise InvalidRequest(f"tuning takes from 2 to {_MOST} candidates, got {len(made) if lists else 0}; give --try")
    return made


def _values(text: str) -> list[Any]:
    """``1,10`` or ``[4],[8,8]`` as TOML has them, else words with commas between."""
    try:
        return list(tomllib.loads(f"x = [{text}]")["x"])
    except tomllib.TOMLDecodeError:
        return [settings([f"x={value}"])["x"] for value in text.split(",")]


def tuned(
    wanted: FitJob, candidates: Sequence[Mapping[str, Any]], working: Working = lambda words: nullcontext()
) -> dict[str, Any]:
    """Check everything, pay once, fit and choose, publish; what was done, as one document."""
    if wanted.target is None:
        raise InvalidRequest(f"tuning is for models with a target, got {wanted.kind!r}; use `discreet fit`")
    models = [replace(wanted, parameters={**wanted.parameters, **one}).model() for one in candidates]
    with (
        folder_for(wanted.out.parent, [wanted.out.name], [wanted.base.table]) as write,
        asking.open_ledger(wanted.base, create=True) as ledger,
    ):
        asking.open_table(wanted.base)
        session = Session(wanted.base.table, wanted.base.schema, ledger=ledger, version=wanted.base.version)
        with working("reading the table"):
            best = session.tune(
                models, list(wanted.features), wanted.target, weight=wanted.weight, propensity=wanted.propensity,
                where=dict(wanted.where) or None,
            )  # fmt: skip
        published = document(best)
        write(wanted.out.name, json.dumps(published, indent=1, allow_nan=False, ensure_ascii=False) + "\n")
        return {
            "kind": "tuning", "model": wanted.kind, "tried": [dict(one) for one in candidates],
            "chosen": best.tuning_.chosen, "cost": str(best.tuning_.cost), "guarantee": published["guarantee"]["words"],
            "spent": str(ledger.spent()), "remaining": str(ledger.remaining()), "written": str(wanted.out),
        }  # fmt: skip
