"""Which synthetic tables are to be made, of which table and at whose cost: a file in TOML."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.errors import UnsupportedFormat
from discreet.jobs import release_file
from discreet.jobs.release_file import ReleaseFile

FORMATS = ("csv", "parquet")
_NUMBER = (int, float, str)
_KEYS: dict[str, tuple[type, ...]] = {
    "columns": (list,),
    "bins": (dict,),
    "rows": (int,),
    "tables": (int,),
    "impossible": (list,),
    "workload": (list,),
    "where": (dict, str),
    "epsilon": _NUMBER,
    "delta": _NUMBER,
    "rho": _NUMBER,
    "format": (str,),
    "write_tables": (bool,),
}
_OUTPUT = ("format", "write_tables")


@dataclass(frozen=True)
class SynthesizeFile:
    """``base`` says which table, schema and ledger; ``options`` are those of ``Session.synthesize``."""

    base: ReleaseFile
    options: Mapping[str, Any]
    format: str
    write_tables: bool
    place: str


def read(path: Path) -> SynthesizeFile:
    """The file at ``path``. Paths in it are taken from where it lies."""
    base, doc, place = release_file.read_with(path, {"synthetic": (dict,)}, "synthesize file")
    given = doc.get("synthetic")
    if not given:
        raise UnsupportedFormat(
            f"{place()}a synthesize file needs a table [synthetic], got none; write columns and epsilon, or rho"
        )
    release_file.check_keys(given, _KEYS, place, "synthetic")
    if not any(key in given for key in ("epsilon", "rho")):
        raise UnsupportedFormat(
            f"{place('synthetic')}synthetic tables need epsilon, epsilon and delta, or rho, got none; give a releases.json "
            "instead of this file to make them for nothing"
        )
    kind = given.get("format", "csv")
    if kind not in FORMATS:
        raise UnsupportedFormat(f"{place('synthetic', 'format')}format must be one of {', '.join(FORMATS)}, got {kind!r}")
    options = {key: value for key, value in given.items() if key not in _OUTPUT}
    return SynthesizeFile(base, options, kind, given.get("write_tables", False), place("synthetic"))
