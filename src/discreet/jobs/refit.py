"""After erasures: which answers remain, which models were fitted with the erased rows, and fitting those anew.

What an erasure touches is told from public records alone: the vault's receipts say which tables lost rows and which ledgers
paid for answers from them, and a fit file says which table its model was fitted to. Nothing tells whether a person's row
was in an answer in particular, and a private answer barely depends on it; a model that was fitted before is no longer one
of the table as it is.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from discreet.core.cost import Cost
from discreet.errors import BudgetExceeded, InvalidRequest
from discreet.jobs import asking
from discreet.jobs import fit as fits
from discreet.jobs.fit_file import FitJob, from_file
from discreet.jobs.protect import Job
from discreet.jobs.release import Working


def touched(source: str | Path, files: Sequence[Path]) -> dict[str, Any]:
    """Which answers remain after erasures, which of these models they touch, and what refitting those would cost.

    Reads no rows and pays nothing.
    """
    found, _ = _touched(source, files)
    return found


def refitted(source: str | Path, files: Sequence[Path], working: Working = lambda words: nullcontext()) -> dict[str, Any]:
    """Fit the touched models anew, each paid for by its ledger; refused as a whole where one ledger cannot pay for its part.

    What was released before stays released, and both fits count: the price is that of one more answer.
    """
    found, wanted = _touched(source, files)
    by_ledger: dict[tuple[str, str | None], list[FitJob]] = {}
    for job in wanted.values():
        by_ledger.setdefault((job.base.ledger, job.base.name), []).append(job)
    for jobs in by_ledger.values():
        with asking.open_ledger(jobs[0].base, create=False) as ledger:
            cost = sum(map(fits.cost_of, jobs), Cost.nothing())
            if not ledger.preview(cost).fits:
                raise BudgetExceeded(
                    f"refitting asks for {cost}, and of the ledger {ledger.name!r} {ledger.remaining()} is left; name fewer "
                    "fit files. Nothing was charged"
                )
    for one in found["models"]:
        if one["file"] in wanted:
            done = fits.fitted(wanted[one["file"]], working)
            one["refitted"] = done["paid"]
            one["words"] = f"refitted for {done['cost']}, in {done['written']}" if done["paid"] else _SAME
    return found


_SAME = "NOT refitted: its version is one that was fitted before; write another word for version, as rows are gone"


def _touched(source: str | Path, files: Sequence[Path]) -> tuple[dict[str, Any], dict[str, FitJob]]:
    with Job.read(source).only("vault", "identity").vault() as vault:
        receipts = [one for one in vault.receipts() if one.about in ("erasure", "retention")]
        if not receipts:
            raise InvalidRequest("refitting follows erasures, and this vault has no receipt of one; erase first")
        tables = {name: {str(path) for path in vault.paths(name)} for one in receipts for name, n in one.tables.items() if n}
    ledgers = {one["ledger"]: one for receipt in receipts for one in receipt.releases}
    models, wanted, cost = [], {}, Cost.nothing()
    for file in dict.fromkeys(files):
        job = from_file(file, None)
        given = [job.base.table] if isinstance(job.base.table, str) else job.base.table
        here = {os.path.realpath(path) for path in given}
        names = [name for name, paths in tables.items() if paths & here]
        last = max((one.document["erased"] for one in receipts if any(one.tables.get(name) for name in names)), default="")
        one: dict[str, Any] = {"file": str(file), "tables": names, "refitted": False, "cost": None}
        if not job.out.exists():
            one["words"] = f"not published yet: there is no {job.out}"
        elif not last or datetime.fromtimestamp(job.out.stat().st_mtime, UTC).isoformat() > last:
            one["words"] = "not touched: no row of its table was erased since it was fitted"
        else:
            plan = fits.planned(job)
            one |= {"cost": plan["cost"], "fits": plan["fits"]}
            one["words"] = f"fitted before the erasure of {last[:10]}; refitting costs {plan['cost']}"
            if plan["free"]:
                one["words"] = _SAME
            else:
                wanted[str(file)] = job
                cost = cost + fits.cost_of(job)
        models.append(one)
    return {"kind": "refit", "ledgers": list(ledgers.values()), "models": models, "cost": str(cost)}, wanted
