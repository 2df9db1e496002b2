"""What a copy did to each column, and to the identifiers of HIPAA's safe harbour that its table holds.

The table is scanned by form, as ``scan`` does; that a copy treats what was found is no proof that nothing else identifies
anyone, and a column that was found and is copied unchanged is said to be.
"""

from __future__ import annotations

from discreet.protect.anonymous import Anonymized
from discreet.protect.local_recoding import LocalCopy
from discreet.protect.scanning import looked_at

UNTOUCHED = "copied unchanged"
_LOCAL = {"mondrian": "replaced by the stretch of its class", "microaggregation": "replaced by the middle of its class"}


def treatment(copy: Anonymized | LocalCopy) -> dict[str, str]:
    """For every column of the table what the copy shows of it."""
    done = dict.fromkeys(copy.source.columns, UNTOUCHED) | dict.fromkeys(copy.dropped, "left out")
    for name in copy.columns:
        if isinstance(copy, LocalCopy):
            done[name] = _LOCAL[copy.method]
        elif copy.levels[name] > 0:
            top = copy.levels[name] == copy.hierarchies[name].height
            done[name] = "one word for all" if top else f"generalized: {copy.level_names[name]}"
    return done


def safe_harbour(copy: Anonymized | LocalCopy) -> list[tuple[str, str, str]]:
    """The eighteen identifiers: identifier, columns found in the table, and what the copy did to each of them."""
    return looked_at(copy.source).safe_harbour(treatment(copy))
