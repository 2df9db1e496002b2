"""Partial results as bytes, for engines that move bytes only: numbers, texts, arrays, and what holds these.

A parcel is written and read by a closed list of kinds. Records of a class of ours (dataclasses, named tuples) are read as a
class that a sample of the same result holds: no name in a parcel is ever imported, and nothing in it is run.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.errors import InvalidRequest

_HOLDERS: dict[str, type[Any]] = {"tuple": tuple, "list": list, "set": set, "frozenset": frozenset}


def pack(value: Any) -> bytes:
    """A value as bytes: a line of JSON that says what it is, then the arrays one after another."""
    arrays: list[bytes] = []
    words = json.dumps(_written(value, arrays)).encode()
    return len(words).to_bytes(8, "little") + words + b"".join(arrays)


def unpack(parcel: bytes, sample: Any) -> Any:
    """The value of a parcel; ``sample`` is a value of the same make."""
    length = int.from_bytes(parcel[:8], "little")
    known = {type(each).__qualname__: type(each) for each in _records(sample)}
    return _read(json.loads(parcel[8 : 8 + length]), memoryview(parcel)[8 + length :], known)


def _written(value: Any, arrays: list[bytes]) -> Any:
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, np.generic):
        return {"is": "scalar", "of": _written(np.asarray(value), arrays)}
    if isinstance(value, int):
        return {"is": "int", "of": str(value)}
    if isinstance(value, float):
        return {"is": "float", "of": value.hex()}
    if isinstance(value, Fraction):
        return {"is": "fraction", "of": str(value)}
    if isinstance(value, bytes):
        return {"is": "bytes", "of": value.hex()}
    if isinstance(value, np.ndarray):
        return _array(value, arrays)
    if is_dataclass(value) and not isinstance(value, type):
        members = {f.name: _written(getattr(value, f.name), arrays) for f in fields(value) if f.init}
        return {"is": "record", "name": type(value).__qualname__, "of": members}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        members = {name: _written(getattr(value, name), arrays) for name in value._fields}
        return {"is": "record", "name": type(value).__qualname__, "of": members}
    if isinstance(value, dict):
        pairs = [[_written(k, arrays), _written(v, arrays)] for k, v in value.items()]
        return {"is": "counter" if isinstance(value, Counter) else "dict", "of": pairs}
    name = type(value).__name__
    if _HOLDERS.get(name) is type(value):
        return {"is": name, "of": [_written(each, arrays) for each in value]}
    raise InvalidRequest(f"a partial result must be made of numbers, texts and arrays, got {type(value).__qualname__}")


def _array(value: Any, arrays: list[bytes]) -> Any:
    if value.dtype == object:  # Python's whole numbers, which no array of bytes holds
        return {"is": "objects", "shape": value.shape, "of": [_written(each, arrays) for each in value.ravel().tolist()]}
    start = sum(map(len, arrays))
    arrays.append(np.ascontiguousarray(value).tobytes())
    return {"is": "array", "kind": value.dtype.str, "shape": value.shape, "start": start, "size": len(arrays[-1])}


def _read(word: Any, data: memoryview, known: dict[str, type[Any]]) -> Any:
    if word is None or isinstance(word, bool | str):
        return word
    kind, of = word["is"], word.get("of")
    match kind:
        case "int":
            return int(of)
        case "float":
            return float.fromhex(of)
        case "fraction":
            return Fraction(of)
        case "bytes":
            return bytes.fromhex(of)
        case "scalar":
            return _read(of, data, known)[()]
        case "array":
            flat = np.frombuffer(data[word["start"] : word["start"] + word["size"]], np.dtype(word["kind"]))
            return flat.reshape(word["shape"]).copy()
        case "objects":
            made = np.empty(len(of), object)
            made[:] = [_read(each, data, known) for each in of]
            return made.reshape(word["shape"])
        case "record":
            return known[word["name"]](**{name: _read(each, data, known) for name, each in of.items()})
        case "dict" | "counter":
            pairs = {_read(k, data, known): _read(v, data, known) for k, v in of}
            return Counter(pairs) if kind == "counter" else pairs
    return _HOLDERS[kind](_read(each, data, known) for each in of)


def _records(value: Any) -> Iterator[Any]:
    """The records of a class of ours within a value."""
    if (is_dataclass(value) and not isinstance(value, type)) or hasattr(value, "_fields"):
        yield value
        names = [f.name for f in fields(value)] if is_dataclass(value) else value._fields
        for name in names:
            yield from _records(getattr(value, name))
    elif isinstance(value, dict):
        for each in value.values():
            yield from _records(each)
    elif isinstance(value, tuple | list | set | frozenset):
        for each in value:
            yield from _records(each)
