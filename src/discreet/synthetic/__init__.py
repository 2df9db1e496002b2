"""Synthetic tables that tell how far they can be trusted: one to look at, several to conclude from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.lazy import lazy

if TYPE_CHECKING:
    from discreet.synthetic.analyses import difference as difference
    from discreet.synthetic.analyses import mean as mean
    from discreet.synthetic.analyses import regression as regression
    from discreet.synthetic.analyses import share as share
    from discreet.synthetic.combining import Combined as Combined
    from discreet.synthetic.released import from_releases as from_releases
    from discreet.synthetic.tables import Synthetic as Synthetic

_HOMES = {
    "Combined": "discreet.synthetic.combining",
    "Synthetic": "discreet.synthetic.tables",
    "difference": "discreet.synthetic.analyses",
    "from_releases": "discreet.synthetic.released",
    "mean": "discreet.synthetic.analyses",
    "regression": "discreet.synthetic.analyses",
    "share": "discreet.synthetic.analyses",
}

__all__ = list(_HOMES)

__getattr__, __dir__ = lazy("discreet.synthetic", _HOMES)
