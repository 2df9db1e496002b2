"""Maps for the tests. They are made inside functions so that Spark carries them to its workers by value."""

from __future__ import annotations

from typing import Any


def everything(columns: list[str], person: bool = True) -> tuple[Any, Any, list[str]]:
    """Counts of kept (person, codes), the people of every batch, and whether a person was met in two batches."""

    def look(batch: Any) -> Any:
        from collections import Counter

        codes = [batch.grid(name).tolist() for name in sorted(columns)]
        who = batch.identities()[1].tolist() if person else [0] * batch.size
        kept = batch.kept(columns)
        rows = list(zip(who, *codes, strict=True))
        if kept is not None:
            assert len(kept) == batch.size == len(batch.people)
            assert len(set(zip(who, batch.people.tolist(), strict=True))) == len(set(who)) == len(set(batch.people.tolist()))
            rows = [row for row, keep in zip(rows, kept.tolist(), strict=True) if keep]
        return Counter(rows), set(who), False

    def join(left: Any, right: Any) -> Any:
        return left[0] + right[0], left[1] | right[1], left[2] or right[2] or bool(left[1] & right[1])

    return look, join, columns
