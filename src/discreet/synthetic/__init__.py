"""Synthetic tables that tell how far they can be trusted: one to look at, several to conclude from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.lazy import lazy

if TYPE_CHECKING:
    from discreet.synthetic.combining import Combined as Combined
    from discreet.synthetic.estimates import difference as difference
    from discreet.synthetic.estimates import mean as mean
    from discreet.synthetic.estimates import regression as regression
    from discreet.synthetic.estimates import share as share
    from discreet.synthetic.released import from_releases as from_releases
    from discreet.synthetic.tables import Synthetic as Synthetic

__getattr__, __dir__, __all__ = lazy("discreet.synthetic")
