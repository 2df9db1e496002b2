"""Arrays in JSON, no digit lost: base64 of little-endian numbers, of a few kinds only."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.errors import UnsupportedFormat

_KINDS = ("<f8", "<f4", "<i8", "<i4", "|b1")


def packed(array: npt.NDArray[Any]) -> dict[str, Any]:
    """An array as what JSON can say; kinds that are not known become doubles."""
    kind = array.dtype.newbyteorder("<").str if array.dtype.kind != "b" else "|b1"
    made = array if kind in _KINDS else array.astype(np.float64)
    kind = kind if kind in _KINDS else "<f8"
    whole = np.ascontiguousarray(made, dtype=kind)
    return {"dtype": kind, "shape": list(array.shape), "base64": base64.b64encode(whole.tobytes()).decode("ascii")}


def unpacked(doc: Any) -> npt.NDArray[Any]:
    """The array that ``packed`` wrote."""
    if doc["dtype"] not in _KINDS:
        raise UnsupportedFormat(f"an array's dtype must be one of {', '.join(_KINDS)}, got {doc['dtype']!r}")
    try:
        flat = np.frombuffer(base64.b64decode(doc["base64"], validate=True), doc["dtype"])
        return flat.reshape([int(n) for n in doc["shape"]]).copy()
    except ValueError as problem:
        raise UnsupportedFormat(f"an array does not fit its shape {doc['shape']!r}: {problem}") from problem
