"""What a release file would cost and how wrong its answers would be. It reads no rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.core.cost import Cost
from discreet.core.result import Result
from discreet.jobs import asking
from discreet.jobs.release_file import ReleaseFile
from discreet.report.numerals import plain


def planned(file: ReleaseFile) -> dict[str, Any]:
    """The plan of a release file as one document."""
    source = asking.open_table(file)
    rows = asking.guessed_rows(file)
    with asking.open_ledger(file, create=False) as ledger:
        finding = asking.prepare_finding(file, source, ledger)
        supposed = asking.with_found(file, source, asking.recalled(finding, ledger))
        prepared = finding + asking.prepare(*supposed, ledger, rows if asking.public_rows(file) else None)
        left_now, asks, so_far = ledger.remaining(), [], Cost.nothing()
        for each in prepared:
            so_far = so_far + each.due
            after = ledger.preview(so_far)
            asks.append(
                each.item.to_dict()
                | {
                    "cost": str(each.cost),
                    "price": price(each.cost),
                    **errors(asking.expected(each, rows)),
                    "known": each.known,
                    "fits": after.fits,
                    "left": str(after.remaining) if after.fits else "does not fit",
                }
            )
        after = ledger.preview(so_far)
        return {
            "kind": "plan",
            "ledger": ledger.name,
            "budget": str(ledger.budget),
            "assumed_rows": rows,
            "asks": asks,
            "cost": str(so_far),
            "price": price(so_far),
            "fits": after.fits,
            "left_now": str(left_now),
            "left_after": str(after.remaining) if after.fits else None,
            "note": asking.asked_before(file, prepared, ledger),
        }


def price(cost: Cost) -> dict[str, str | None]:
    """A cost in exact numbers, for programs."""
    doc = cost.to_dict()
    return {key: doc[key] for key in ("epsilon", "delta", "rho")}


def errors(result: Result) -> dict[str, Any]:
    """The expected error of an answer, in words and as a number: in its own unit, or in ranks for a quantile."""
    reading, releases = result.reading, result.releases
    effect = reading.seen_effect(releases)
    if effect is not None:
        return {"expected_error": f"finds an effect of {plain(effect)} with power .8", "seen_effect": float(effect)}
    error = result.expected_error
    if error is not None:
        words = f"± {plain(np.max(error))}" + (" each" if np.ndim(error) else "")
        return {"expected_error": words, "error": float(np.max(error))}
    if (people := reading.people_needed(releases)) is not None:
        return {"expected_error": f"bins of {plain(people)} people are found", "people_needed": float(people)}
    if (gap := reading.gap(releases)) is not None:
        return {"expected_error": f"labels {plain(gap)} people apart keep their order (95 %)", "gap": float(gap)}
    if (rank := reading.rank_error(releases)) is not None:
        return {"expected_error": f"± {plain(rank)} rows of rank (95 %)", "rank_error": float(rank)}
    return {"expected_error": "unknown", "error": None}
