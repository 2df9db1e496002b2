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
from discreet.jobs.fit import arguments_of, check_affordable, session_of
from discreet.jobs.fit_file import FitJob, settings
from discreet.jobs.output import folder_for
from discreet.jobs.plan import price
from discreet.jobs.release import Working
from discreet.models.publish.document import document

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


def planned(wanted: FitJob, candidates: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What a tuning would cost, once for all of it, and whether it fits, as one document. Reads no rows, makes no ledger."""
    asking.open_table(wanted.base)
    with asking.open_ledger(wanted.base, create=False) as ledger:
        seen = session_of(wanted, ledger).preview_tune(_models(wanted, candidates), **arguments_of(wanted))
        return {
            "kind": "tuning plan", "model": wanted.kind, "tried": [dict(one) for one in candidates],
            "ledger": ledger.name, "budget": str(ledger.budget), "cost": str(seen.cost), "price": price(seen.cost),
            "fits": seen.fits, "left_now": str(ledger.remaining()),
            "left_after": str(seen.remaining) if seen.fits else None, "note": None,
        }  # fmt: skip


def _models(wanted: FitJob, candidates: Sequence[Mapping[str, Any]]) -> list[Any]:
    return [replace(wanted, parameters={**wanted.parameters, **one}).model() for one in candidates]


def tuned(
    wanted: FitJob, candidates: Sequence[Mapping[str, Any]], working: Working = lambda words: nullcontext()
) -> dict[str, Any]:
    """Check everything, pay once, fit and choose, publish; what was done, as one document."""
    models = _models(wanted, candidates)
    with folder_for(wanted.out.parent, [wanted.out.name], [wanted.base.table]) as write:
        asking.open_table(wanted.base)
        with asking.open_ledger(wanted.base, create=False) as trial:
            seen = session_of(wanted, trial).preview_tune(models, **arguments_of(wanted))
            check_affordable(seen, trial, "tuning")
        with asking.open_ledger(wanted.base, create=True) as ledger:
            with working("reading the table"):
                best = session_of(wanted, ledger).tune(models, **arguments_of(wanted))
            published = document(best)
            write(wanted.out.name, json.dumps(published, indent=1, allow_nan=False, ensure_ascii=False) + "\n")
            return {
                "kind": "tuning", "model": wanted.kind, "tried": [dict(one) for one in candidates],
                "chosen": best.tuning_.chosen, "cost": str(best.tuning_.cost), "guarantee": published["guarantee"]["words"],
                "spent": str(ledger.spent()), "remaining": str(ledger.remaining()), "written": str(wanted.out),
            }  # fmt: skip
