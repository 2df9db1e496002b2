"""Where pictures are drawn."""

from __future__ import annotations

from typing import Any


def drawn_on(axes: Any) -> Any:
    """The axes given, or new ones."""
    if axes is not None:
        return axes
    from matplotlib.figure import Figure

    return Figure(figsize=(5.5, 4.5), layout="constrained").subplots()
