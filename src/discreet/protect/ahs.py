"""Specifications of hierarchies by ARX (``.ahs``), which are Java objects, read as plain data.

ARX stores how a hierarchy is built and applies it to the values of a table. Here a hierarchy is declared before a table is
looked at, so what ARX would take from the table is taken from the file or from the caller. Cells keep ARX's words where a
person chose them; intervals are written as they are everywhere here.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import date
from fractions import Fraction
from itertools import cycle, pairwise
from pathlib import Path
from typing import Any, NamedTuple

from discreet.errors import DiscreetError, UnsupportedFormat
from discreet.protect import java_stream
from discreet.protect.hierarchies import TOP, Hierarchy
from discreet.protect.java_stream import JavaArray, JavaEnum, JavaObject
from discreet.protect.numbered import plain
from discreet.sources.cell_meaning import label

HOME = "org.deidentifier.arx.aggregates."
_LARGEST = 1 << 22  # bytes of a file
_MOST = 100_000  # values or cells of a level
_STEPS = {
    "DAY_MONTH_YEAR": "day",
    "MONTH_YEAR": "month",
    "QUARTER_YEAR": "quarter",
    "YEAR": "year",
    "DECADE": "decade",
    "CENTURY": "century",
}


class _Asked(NamedTuple):
    """What the caller says where the file leaves it to the table."""

    values: list[str] | None
    length: int | None
    first: date | str | None
    last: date | str | None


def read(
    path: Path, values: Sequence[Any] | None, length: int | None, first: date | str | None, last: date | str | None
) -> Hierarchy:
    """The hierarchy of a file; every refusal is one line that begins with its name."""
    if values is not None and (isinstance(values, str) or not isinstance(values, Sequence)):
        raise UnsupportedFormat(f"{path}: values must be a list, got {values!r}")
    try:
        with path.open("rb") as file:
            data = file.read(_LARGEST + 1)
    except OSError as problem:
        raise UnsupportedFormat(f"{path}: the hierarchy cannot be read ({problem}); check the path") from None
    texts = None if values is None else [text for value in values if (text := label(value)) is not None]
    try:
        if len(data) > _LARGEST:
            raise UnsupportedFormat(f"a specification must have at most {_LARGEST:,} bytes; write the hierarchy as CSV")
        builder = java_stream.read(data)
        for name, (uid, build) in _BUILDERS.items():
            if isinstance(builder, JavaObject) and (builder.kind.name, builder.kind.uid) == (HOME + name, uid):
                return build(builder, _Asked(texts, length, first, last))
        raise UnsupportedFormat("it holds no builder of hierarchies that is known here; write the hierarchy as CSV in ARX")
    except DiscreetError as problem:
        raise UnsupportedFormat(f"{path}: {problem}") from None
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        raise UnsupportedFormat(f"{path}: its fields do not hold what its builder needs; save it again in ARX") from None


def write(hierarchy: Hierarchy, path: Path, values: Iterable[Any]) -> Path:
    """A new file with a hierarchy."""
    from discreet.protect.ahs_writing import builder_of
    from discreet.protect.writing import write_whole

    texts = [text for value in values if (text := label(value)) is not None]
    write_whole(path, java_stream.write(builder_of(hierarchy, list(dict.fromkeys(texts)))))
    return path


def _part(of: Any, name: str, key: str) -> Any:
    """A field of an object, of one of ARX's classes; None where it has none."""
    return of.fields.get(HOME + name, {}).get(key) if isinstance(of, JavaObject) else None


def _listed(of: Any) -> list[Any]:
    """The elements of one of Java's lists, which are written after its size."""
    found = of.written.get("java.util.ArrayList", []) if isinstance(of, JavaObject) else []
    return [item for item in found if not isinstance(item, bytes)]


def _mapped(of: Any) -> dict[Any, Any]:
    """A map from texts or numbers, which is written as its size and then key by key."""
    found = of.written.get("java.util.HashMap", []) if isinstance(of, JavaObject) else []
    items = [_boxed(item) for item in found if not isinstance(item, bytes)]
    if len(items) % 2 or not all(isinstance(key, str | int) for key in items[::2]):
        raise UnsupportedFormat("a map in it has keys that are neither texts nor numbers")
    return dict(zip(items[::2], items[1::2], strict=True))


def _boxed(of: Any) -> Any:
    """The number, the truth or the character in one of Java's boxes; anything else as it is."""
    if isinstance(of, JavaObject) and "value" in (fields := of.fields.get(of.kind.name, {})):
        return chr(fields["value"]) if of.kind.name == "java.lang.Character" else fields["value"]
    return of


def _simple(of: Any) -> str:
    """The last part of the name of an object's class."""
    return of.kind.name.rpartition("$")[2].rpartition(".")[2] if isinstance(of, JavaObject) else "nothing"


Group = tuple[int, Any]  # how many values or intervals are one, and the function that names them


def _levels(builder: Any) -> list[list[Group]]:
    """The groups of each level, from the first."""
    found = _mapped(_part(builder, "HierarchyBuilderGroupingBased", "groups"))
    levels = []
    for number in range(len(found)):
        groups = _listed(_part(found.get(number), "HierarchyBuilderGroupingBased$Level", "list"))
        name = "HierarchyBuilderGroupingBased$Group"
        levels.append([(_part(group, name, "size"), _part(group, name, "function")) for group in groups])
        if any(not isinstance(size, int) or size < 1 for size, _ in levels[-1]):
            raise UnsupportedFormat(f"a group must hold at least one value, and on level {number} one does not")
    while levels and not levels[-1]:
        levels.pop()
    if not all(levels) or len(levels) > _MOST:
        raise UnsupportedFormat("every level must have groups, and one has none")
    return levels


def _constant(function: Any) -> str | None:
    """The word that a person chose for a group, where one did."""
    if _simple(function) != "GenericConstant":
        return None
    word = _part(function, "AggregateFunction$GenericConstant", "value")
    return word if isinstance(word, str) else None


# Intervals


class _Cell(NamedTuple):
    low: Fraction
    high: Fraction
    function: Any


def _intervals(builder: JavaObject, asked: _Asked) -> Hierarchy:
    """Cells of each level between the outer bounds.

    ARX repeats the declared intervals up to the bound for repeating, stretches the outermost to the bound for snapping, and
    writes one word for what lies between that and the outer bound, on every level.
    """
    name = "HierarchyBuilderIntervalBased"
    kind = _simple(_part(builder, "HierarchyBuilderGroupingBased", "datatype"))
    if kind not in ("ARXInteger", "ARXDecimal"):
        raise UnsupportedFormat(f"intervals must be of integers or decimals, got {kind}; write the hierarchy as CSV in ARX")
    cells = []
    for one in _listed(_part(builder, name, "intervals")):
        low, high = (_number(_part(one, f"{name}$Interval", end)) for end in ("min", "max"))
        cells.append(_Cell(low, high, _part(one, f"{name}$Interval", "function")))
    _check_row(cells)
    lower = _outer(_part(builder, name, "lowerRange"), cells[0].low)
    upper = _outer(_part(builder, name, "upperRange"), cells[-1].high)
    if not lower[2] <= lower[1] <= lower[0] <= upper[0] <= upper[1] <= upper[2]:
        raise UnsupportedFormat("the bounds of the intervals must be in order, and they are not")
    edges: list[list[Fraction]] = []
    words: list[list[str]] = []
    for groups in [None, *_levels(builder)]:
        cells = cells if groups is None else _merged(cells, groups)
        row = _repeated(cells, lower[0], upper[0])
        row = [_Cell(lower[1], row[0].high, row[0].function), *row[1:]]
        row = [*row[:-1], _Cell(row[-1].low, upper[1], row[-1].function)]
        told = [_constant(cell.function) for cell in row]
        ends = [*([lower[2]] if lower[2] < lower[1] else []), *(cell.low for cell in row), upper[1]]
        told = [*([f"<{plain(lower[1])}"] if lower[2] < lower[1] else []), *told]
        if upper[1] < upper[2]:
            ends, told = [*ends, upper[2]], [*told, f">={plain(upper[1])}"]
        if len(ends) > 2 and (not edges or len(ends) - 2 < len(edges[-1])):
            edges.append(ends[1:-1])
            words.append(_told(told, [f"[{plain(a)}, {plain(b)})" for a, b in pairwise(ends)]))
    top = _closed(upper[2], whole=kind == "ARXInteger")
    return Hierarchy.cuts(lower[2], top, edges, words if any(map(_chosen, words)) else None)


def _chosen(words: list[str]) -> bool:
    return any(not word.startswith("[") for word in words)


def _told(chosen: Sequence[str | None], plainly: Sequence[str]) -> list[str]:
    """The words that were chosen, and the intervals of the cells that have none or share one."""
    times = Counter(chosen)
    return [words[0] if words[0] and times[words[0]] == 1 else words[1] for words in zip(chosen, plainly, strict=True)]


def _check_row(cells: Sequence[_Cell]) -> None:
    if not 0 < len(cells) <= _MOST:
        raise UnsupportedFormat(f"there must be 1 to {_MOST:,} intervals, got {len(cells):,}")
    if any(cell.low >= cell.high for cell in cells) or any(a.high != b.low for a, b in pairwise(cells)):
        raise UnsupportedFormat("each interval must begin where the one before it ends, and one does not")


def _number(boxed: Any) -> Fraction:
    value = _boxed(boxed)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise UnsupportedFormat("the ends of intervals must be numbers, and one is not")
    return Fraction(repr(value))


def _outer(bounds: Any, end: Fraction) -> tuple[Fraction, Fraction, Fraction]:
    """Where repeating, snapping and labelling end; each ends where the one before it does, where it is not said."""
    found = [end]
    for key in ("repeatBound", "snapBound", "labelBound"):
        said = _part(bounds, "HierarchyBuilderIntervalBased$Range", key)
        found.append(found[-1] if said is None else _number(said))
    return found[1], found[2], found[3]


def _repeated(cells: Sequence[_Cell], first: Fraction, last: Fraction) -> list[_Cell]:
    """The intervals, repeated with their period, that meet the stretch from first to last."""
    period = cells[-1].high - cells[0].low
    start, stop = ((end - cells[0].low) / period for end in (first, last))
    if (math.ceil(stop) - math.floor(start)) * len(cells) > _MOST:
        raise UnsupportedFormat(f"a level must have at most {_MOST:,} intervals; take wider ones")
    found: list[_Cell] = []
    for turn in range(math.floor(start), max(math.ceil(stop), math.floor(start) + 1)):
        for low, high, function in cells:
            if high + turn * period > first and (low + turn * period < last or not found):
                found.append(_Cell(low + turn * period, high + turn * period, function))
    return found


def _merged(cells: Sequence[_Cell], groups: Sequence[Group]) -> list[_Cell]:
    """The intervals of the next level: groups of intervals, which go on with the period where groups want more of them."""
    wanted = sum(size for size, _ in groups)
    if wanted > _MOST:
        raise UnsupportedFormat(f"groups must merge at most {_MOST:,} intervals, got {wanted:,}")
    period, many = cells[-1].high - cells[0].low, max(len(cells), wanted)
    row = [
        _Cell(
            cells[i % len(cells)].low + i // len(cells) * period, cells[i % len(cells)].high + i // len(cells) * period, None
        )
        for i in range(many)
    ]
    found: list[_Cell] = []
    place = 0
    for size, function in cycle(groups):
        if place >= many:
            break
        part = row[place : place + size]
        found.append(_Cell(part[0].low, part[-1].high, function))
        place += size
    return found


def beyond(value: float, towards: float) -> list[float]:
    """A double and the four next to it in a direction."""
    found = [value]
    for _ in range(4):
        found.append(math.nextafter(found[-1], towards))
    return found


def _closed(end: Fraction, *, whole: bool) -> Fraction:
    """The largest value below an end that ARX leaves out: of decimals, the one of the next few that is written shortest."""
    return end - 1 if whole else Fraction(min(map(repr, beyond(float(end), -math.inf)), key=len))


# Redaction, dates, orders and priorities


def _redaction(builder: JavaObject, asked: _Asked) -> Hierarchy:
    """Characters that are hidden one by one: prefixes, or a tree of given values where it is not the end that is hidden."""
    name = "HierarchyBuilderRedactionBased"
    orders = [_part(builder, name, key) for key in ("aligmentOrder", "redactionOrder")]
    if not all(isinstance(one, JavaEnum) for one in orders):
        raise UnsupportedFormat("a redaction must say its two orders, and this one does not")
    aligned, redacted = (one.name == "LEFT_TO_RIGHT" for one in orders)
    if asked.values is None:
        told = _boxed(_part(builder, name, "maxValueLength"))
        length = asked.length or (int(told) if isinstance(told, float) and told.is_integer() else None)
        if length is None or not aligned or redacted:
            raise UnsupportedFormat("a redaction that hides the end needs length=, any other one values=; give it")
        size = _boxed(_part(builder, name, "alphabetSize"))
        return Hierarchy.prefixes(length, alphabet=max(2, round(size)) if isinstance(size, float) and size < _MOST else 10)
    pad, hidden = (chr(_part(builder, name, key) or 42) for key in ("paddingCharacter", "redactionCharacter"))
    longest = max(map(len, asked.values), default=0)
    ways = {}
    for value in asked.values:
        text = value.ljust(longest, pad) if aligned else value.rjust(longest, pad)
        hiding = range(1, longest + 1)
        ways[value] = [hidden * n + text[n:] if redacted else text[: longest - n] + hidden * n for n in hiding]
    return Hierarchy.tree(ways)


def _dates(builder: JavaObject, asked: _Asked) -> Hierarchy:
    """Periods of the calendar; cells are days in ISO form here, however ARX's table wrote them."""
    found = _part(builder, "HierarchyBuilderDate", "granularities")
    names = [one.name for one in found.items if isinstance(one, JavaEnum)] if isinstance(found, JavaArray) else []
    if strange := [name for name in names if name not in _STEPS]:
        raise UnsupportedFormat(
            f"dates by {strange[0]} do not nest in those here, which are by {', '.join(_STEPS.values())}"
        )
    if any(_part(builder, "HierarchyBuilderDate", key) is not None for key in ("topCoding", "bottomCoding")):
        raise UnsupportedFormat("dates with one word for all before or after a day are not known here; write CSV in ARX")
    if asked.first is None or asked.last is None:
        raise UnsupportedFormat("a specification of dates has no bounds; give first= and last=")
    return Hierarchy.dates(asked.first, asked.last, [_STEPS[name] for name in names])


def _orders(builder: JavaObject, asked: _Asked) -> Hierarchy:
    """Values in an order, counted off into groups, and groups into larger ones."""
    kind = _part(builder, "HierarchyBuilderGroupingBased", "datatype")
    values = _ordered(_part(builder, "HierarchyBuilderOrderBased", "comparator"), kind, asked.values)
    if not 0 < len(values) <= _MOST:
        raise UnsupportedFormat(f"there must be 1 to {_MOST:,} values, got {len(values):,}; list them in values=")
    ways: dict[str, list[str]] = {value: [] for value in values}
    row = [[value] for value in values]
    for groups in _levels(builder):
        if len(row) == 1:
            break
        merged, place = [], 0
        times: Counter[str] = Counter()  # ARX tells groups of one name apart by numbers
        for size, function in cycle(groups):
            if place >= len(row):
                break
            merged.append([value for part in row[place : place + size] for value in part])
            place += size
            word = _name(function, merged[-1], kind)
            for value in merged[-1]:
                ways[value].append(f"{word}-{times[word]}" if times[word] else word)
            times[word] += 1
        row = merged
    if len(row) > 1:
        for way in ways.values():
            way.append(TOP)
    return Hierarchy.tree(ways)


def _ordered(comparator: Any, kind: Any, values: list[str] | None) -> list[str]:
    """The values in the order of the file, all that it lists or those that are given."""
    if comparator is None:
        return values or []
    order = comparator.fields.get(comparator.kind.name, {}) if isinstance(comparator, JavaObject) else {}
    ranks = _mapped(order["val$map"]) if "val$map" in order else None
    if ranks is None and "val$type" not in order:
        raise UnsupportedFormat(
            "its order is a program of its own, which is not run here; write the hierarchy as CSV in ARX"
        )
    if ranks is None and _simple(kind) == "ARXOrderedString":
        ranks = _mapped(kind.fields.get(kind.kind.name, {}).get("order")) or None
    if ranks is None:
        return sorted(values or [], key=lambda value: _key(value, kind))
    ranks = _ranks(ranks)
    if strange := [value for value in values or [] if value not in ranks]:
        raise UnsupportedFormat(f"a value must be in the file's order, got {strange[0]!r}")
    return sorted(ranks if values is None else values, key=lambda value: ranks[value])


def _ranks(found: dict[Any, Any]) -> dict[str, int]:
    if not all(isinstance(key, str) and isinstance(rank, int) for key, rank in found.items()):
        raise UnsupportedFormat("an order must number texts, and this one does not")
    return found


def _key(value: str, kind: Any) -> Any:
    """What ARX's types put values in order by."""
    name = _simple(kind)
    try:
        if name in ("ARXInteger", "ARXDecimal"):
            return float(value)
        if name in ("ARXString", "ARXOrderedString"):
            return value.encode("utf-16-be", "surrogatepass")
    except ValueError:
        raise UnsupportedFormat(f"values must be numbers, got {value!r}") from None
    raise UnsupportedFormat(f"the order of {name} is not known here; write the hierarchy as CSV in ARX")


def _name(function: Any, values: Sequence[str], kind: Any) -> str:
    """What an aggregate function of ARX writes for values."""
    name, home = _simple(function), f"AggregateFunction${_simple(function)}"
    if (word := _constant(function)) is not None:
        return word
    if name == "GenericSet":
        return "{" + ", ".join(values) + "}"
    if name == "GenericBounds":
        return f"[{values[0]}, {values[-1]}]"
    if name == "GenericInterval":
        opens, closes = (_part(function, home, f"{end}Included") for end in ("lower", "upper"))
        low, high = (end(values, key=lambda value: _key(value, kind)) for end in (min, max))
        return f"{'[' if opens else ']'}{low}, {high}{']' if closes else '['}"
    if name == "GenericSetOfPrefixes":
        return "-".join(value[: _part(function, home, "length")] for value in values)
    if name == "GenericCommonPrefix":
        same = next((n for n, here in enumerate(zip(*values, strict=False)) if len(set(here)) > 1), min(map(len, values)))
        hidden = _boxed(_part(function, home, "redaction")) or ""
        return values[0][:same] + hidden * (max(map(len, values)) - same)
    raise UnsupportedFormat(f"its groups are named by {name}, which is not known here; write the hierarchy as CSV in ARX")


def _priorities(builder: JavaObject, asked: _Asked) -> Hierarchy:
    """Values that disappear one after another, from the lowest priority to the highest."""
    name = "HierarchyBuilderPriorityBased"
    ranks, kind = _part(builder, name, "priorities"), _part(builder, name, "type")
    way, most = _part(builder, name, "priority"), _part(builder, name, "maxLevels")
    if not isinstance(way, JavaEnum) or not isinstance(most, int) or most < 1:
        raise UnsupportedFormat("priorities need a direction and at least one level")
    if kind is not None:
        values = sorted(asked.values or [], key=lambda v: _key(v, kind), reverse=way.name == "HIGHEST_TO_LOWEST")
    else:
        known = _ranks(_mapped(ranks))
        values = sorted(
            asked.values or known, key=lambda value: known.get(value, 0), reverse=way.name == "HIGHEST_TO_LOWEST"
        )
    if not 0 < len(values) <= _MOST or not all(isinstance(value, str) for value in values):
        raise UnsupportedFormat(f"there must be 1 to {_MOST:,} values, got {len(values):,}; list them in values=")
    levels = min(len(values), most, 1000)
    goes = [levels - place * levels // len(values) for place in range(len(values))]
    return Hierarchy.tree(
        {value: [TOP if at <= n else value for n in range(1, levels + 1)] for value, at in zip(values, goes, strict=True)}
    )


_BUILDERS = {
    "HierarchyBuilderIntervalBased": (3663874945543082808, _intervals),
    "HierarchyBuilderOrderBased": (-2749758635401073668, _orders),
    "HierarchyBuilderRedactionBased": (3625654600380531803, _redaction),
    "HierarchyBuilderDate": (6294885577802586286, _dates),
    "HierarchyBuilderPriorityBased": (4823242603368546852, _priorities),
}
