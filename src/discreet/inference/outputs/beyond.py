"""How much of what a model believes lies beyond the bounds that values were clipped to before they were released."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.core.release import Release
from discreet.inference.models.base import DataModel
from discreet.statistics.cells import Cells

NOTICED = 0.05  # the share of people beyond the bounds from which on a reader is told
_DRAWS = 200


def beyond(model: DataModel, releases: Sequence[Release], draws: Mapping[str, npt.NDArray[Any]]) -> dict[str, float]:
    """The share of people whose value lies beyond the declared bounds, on average over draws; only shares worth telling."""
    found: dict[str, float] = {}
    columns = list(model.columns or dict.fromkeys(c for r in releases for c in r.columns))
    for release in releases:
        for query in release.queries:
            numbers = [f for f in query.factors if f.is_number] if isinstance(query, Cells) else []
            for factor in numbers:
                if factor.column not in columns:
                    continue
                flat = {name: array.reshape(-1, *array.shape[2:]) for name, array in draws.items()}
                some = {name: array[:: max(1, len(array) // _DRAWS)] for name, array in flat.items()}
                inside = model.share_within(some, columns.index(factor.column), factor.lo, factor.hi)
                if inside is not None and np.mean(1 - inside) >= NOTICED:
                    found[factor.column] = float(np.mean(1 - inside))
    return found
