"""JSON that anyone may have sent: read within limits, or refused in one line.

Refused are bodies too long, nested too deep or with too many brackets; keys that stand twice, NaN and infinities; numbers
beyond 1e300, or decimals with more digits than a double keeps; and characters that a terminal or a page could be misled by.
Whole numbers are read as such, whatever they are. What is read as a double is, written again, the decimal that was sent: so
``0.1`` is exactly 1/10, and nothing is rounded unseen.
"""

from __future__ import annotations

import json
import re
import unicodedata
from decimal import Decimal
from typing import Any, NoReturn

from discreet.errors import UnsupportedFormat
from discreet.service.limits import Limits

_FARTHEST = 300
_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}  # controls, marks without width, halves of characters, line ends
_EXPONENT = re.compile(r"[^eE]*(?:[eE]([+-]?[0-9]+))?")


def read(body: bytes | str, limits: Limits) -> Any:
    """The values of a JSON text."""
    raw = body.encode("utf-8", "surrogatepass") if isinstance(body, str) else body
    if len(raw) > limits.body:
        raise UnsupportedFormat(f"a question has at most {limits.body} bytes, got {len(raw)}", remedy="ask for less at once")
    if raw.count(b"[") + raw.count(b"{") > limits.brackets:
        raise UnsupportedFormat(f"a question has at most {limits.brackets} brackets", remedy="ask for less at once")
    try:
        text = raw.decode("utf-8")
        doc = json.loads(
            text,
            object_pairs_hook=_once,
            parse_constant=_refuse_constant,
            parse_float=lambda given: _decimal(_number(given, limits)),
            parse_int=lambda given: int(_number(given, limits)),
        )
    except UnsupportedFormat:
        raise
    except (ValueError, RecursionError) as problem:
        said = " ".join(str(problem).split())[:200]
        raise UnsupportedFormat(f"not a JSON document: {said}", remedy='send {"table": "...", "ask": [...]}') from None
    _walk(doc, limits, 0)
    return doc


def plain_text(text: str, what: str, most: int) -> str:
    """A text that can be shown anywhere: not too long, and without characters that do not show."""
    if len(text) > most:
        raise UnsupportedFormat(f"{what} has at most {most} characters, got {len(text)}")
    for mark in text:
        if unicodedata.category(mark) in _HIDDEN:
            raise UnsupportedFormat(f"{what} must not contain the character U+{ord(mark):04X}", remedy="leave it out")
    return text


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise UnsupportedFormat(f"a key stands once, got {twice[:60]!a} twice")
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise UnsupportedFormat(f"a number is finite, got {name}")


def _number(text: str, limits: Limits) -> str:
    shape = _EXPONENT.fullmatch(text)
    if len(text) > limits.number or shape is None or abs(int(shape[1] or 0)) > _FARTHEST:
        raise UnsupportedFormat(
            f"a number has at most {limits.number} characters and lies within 1e{_FARTHEST}, got {text[:40]}"
        )
    return text


def _decimal(text: str) -> float:
    if Decimal(text) != Decimal(repr(float(text))):
        raise UnsupportedFormat(f"a decimal is one that a double keeps, got {text}", remedy="write fewer digits, or a text")
    return float(text)


def _walk(value: Any, limits: Limits, depth: int) -> None:
    if depth > limits.depth:
        raise UnsupportedFormat(f"a question is nested at most {limits.depth} deep", remedy="write it flatter")
    if isinstance(value, str):
        plain_text(value, "a text", limits.text)
    elif isinstance(value, dict):
        for key, inner in value.items():
            plain_text(key, "a key", limits.text)
            _walk(inner, limits, depth + 1)
    elif isinstance(value, list):
        for inner in value:
            _walk(inner, limits, depth + 1)
