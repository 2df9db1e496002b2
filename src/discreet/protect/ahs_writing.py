"""Hierarchies as the Java objects that ARX loads: names, versions and fields of its classes, and what is put into them."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from fractions import Fraction
from itertools import groupby
from typing import Any

from discreet.errors import InvalidRequest
from discreet.protect.ahs import HOME, beyond
from discreet.protect.hierarchies import Hierarchy
from discreet.protect.java_stream import JavaClass, JavaEnum, JavaObject
from discreet.protect.numbered import Numbered
from discreet.protect.prefixes import Prefixes

_MOST = 100_000  # intervals or values: more make a file that is not read back
_FIELD = "Lorg/deidentifier/arx/aggregates/{};".format
_TYPE = "Lorg/deidentifier/arx/DataType;"
_LIST, _MAP, _OBJECT, _TEXT = "Ljava/util/List;", "Ljava/util/Map;", "Ljava/lang/Object;", "Ljava/lang/String;"
_ENUM = JavaClass("java.lang.Enum", 0, flags=18)
_NUMBER = JavaClass("java.lang.Number", -8742448824652078965)
_BOXES = {
    int: JavaClass("java.lang.Integer", 1360826667806852920, (("I", "value"),), _NUMBER),
    Fraction: JavaClass("java.lang.Long", 4290774380558885855, (("J", "value"),), _NUMBER),
    float: JavaClass("java.lang.Double", -9172774392245257468, (("D", "value"),), _NUMBER),
}
_ARRAY_LIST = JavaClass("java.util.ArrayList", 8683452581122892189, (("I", "size"),), flags=3)
_HASH_MAP = JavaClass("java.util.HashMap", 362498820763181265, (("F", "loadFactor"), ("I", "threshold")), flags=3)
_DATA_TYPE = JavaClass("org.deidentifier.arx.DataType", -4380267779210935078)
_FORMATTED = (("Ljava/text/DecimalFormat;", "format"), ("Ljava/util/Locale;", "locale"), (_TEXT, "string"))
_TYPES = {
    "integer": JavaClass("org.deidentifier.arx.DataType$ARXInteger", -631163546929231044, _FORMATTED, _DATA_TYPE),
    "decimal": JavaClass("org.deidentifier.arx.DataType$ARXDecimal", 7293446977526103610, _FORMATTED, _DATA_TYPE),
    "string": JavaClass("org.deidentifier.arx.DataType$ARXString", 903334212175979691, (), _DATA_TYPE),
}
_FUNCTION = JavaClass(HOME + "AggregateFunction", 3803318906010996154, ((_TYPE, "type"),))
_TOLD = JavaClass(HOME + "AggregateFunction$AggregateFunctionWithParameter", 1, (), _FUNCTION)
_CONSTANT = JavaClass(HOME + "AggregateFunction$GenericConstant", -8995068916108125096, ((_TEXT, "value"),), _TOLD)
_BUILDER = JavaClass(HOME + "HierarchyBuilder", -4182364711973630816, ((_FIELD("HierarchyBuilder$Type"), "type"),))
_GROUPING = JavaClass(
    HOME + "HierarchyBuilderGroupingBased",
    3208791665131141362,
    ((_TYPE, "datatype"), (_FIELD("AggregateFunction"), "function"), (_MAP, "groups")),
    _BUILDER,
)
_LEVEL = JavaClass(
    HOME + "HierarchyBuilderGroupingBased$Level",
    1410005675926162598,
    (("I", "level"), (_FIELD("HierarchyBuilderGroupingBased"), "builder"), (_LIST, "list")),
)
_GROUP = JavaClass(
    HOME + "HierarchyBuilderGroupingBased$Group",
    -5767501048737045793,
    (("I", "size"), (_FIELD("AggregateFunction"), "function")),
)
_RANGE = JavaClass(
    HOME + "HierarchyBuilderIntervalBased$Range",
    -5385139177770612960,
    ((_OBJECT, "labelBound"), (_OBJECT, "repeatBound"), (_OBJECT, "snapBound")),
)
_INTERVALS = JavaClass(
    HOME + "HierarchyBuilderIntervalBased",
    3663874945543082808,
    (
        (_LIST, "intervals"),
        (_FIELD("HierarchyBuilderIntervalBased$Range"), "lowerRange"),
        (_FIELD("HierarchyBuilderIntervalBased$Range"), "upperRange"),
    ),
    _GROUPING,
)
_INTERVAL = JavaClass(
    HOME + "HierarchyBuilderIntervalBased$Interval",
    5985820929677249525,
    (
        (_FIELD("HierarchyBuilderGroupingBased"), "builder"),
        (_FIELD("AggregateFunction"), "function"),
        ("Ljava/lang/Boolean;", "lower"),
        (_OBJECT, "max"),
        (_OBJECT, "min"),
    ),
    JavaClass(HOME + "HierarchyBuilderGroupingBased$AbstractGroup", -7657969446040078411, ((_TEXT, "label"),)),
)
_ORDER = JavaClass(
    HOME + "HierarchyBuilderOrderBased", -2749758635401073668, (("Ljava/util/Comparator;", "comparator"),), _GROUPING
)
_COMPARATOR = JavaClass(
    HOME + "HierarchyBuilderOrderBased$2",
    8016783606581696832,
    ((_FIELD("HierarchyBuilderOrderBased"), "this$0"), (_MAP, "val$map")),
    JavaClass(HOME + "HierarchyBuilderOrderBased$SerializableComparator", 3851134667082727602),
)
_REDACTION = JavaClass(
    HOME + "HierarchyBuilderRedactionBased",
    3625654600380531803,
    (
        ("C", "paddingCharacter"),
        ("C", "redactionCharacter"),
        (_FIELD("HierarchyBuilderRedactionBased$Order"), "aligmentOrder"),
        ("Ljava/lang/Double;", "alphabetSize"),
        ("Ljava/lang/Double;", "domainSize"),
        ("Ljava/lang/Double;", "maxValueLength"),
        (_FIELD("HierarchyBuilderRedactionBased$Order"), "redactionOrder"),
    ),
    _BUILDER,
)


def builder_of(hierarchy: Hierarchy, values: Sequence[str]) -> JavaObject:
    """The builder of a hierarchy: by values where they are given, or where nothing else says it."""
    if not values and isinstance(hierarchy, Numbered) and hierarchy.height > 1:
        return _numbers(hierarchy)
    if not values and isinstance(hierarchy, Prefixes) and hierarchy.height == hierarchy.length:
        return _prefixes(hierarchy)
    listed = list(values) or hierarchy.listed()
    if not listed:
        raise InvalidRequest(f"ARX cannot build a hierarchy of {hierarchy.kind} by itself; pass values=[...] to write them")
    return _values(hierarchy, listed)


def _object(kind: JavaClass, written: list[Any] | None = None, /, **fields: Any) -> JavaObject:
    """An object with all fields of its classes, None or nothing where not said."""
    made = JavaObject(kind)
    for part in kind.line:
        made.fields[part.name] = {name: fields.get(name, None if of[0] in "L[" else 0) for of, name in part.fields}
        if written is not None:
            made.written[part.name] = written
    return made


def _box(value: int | float | Fraction) -> JavaObject:
    """A number in a box: a Fraction stands for a long one."""
    kind = _BOXES[type(value)]
    made = _object(kind)
    made.fields[kind.name]["value"] = int(value) if isinstance(value, Fraction) else value
    return made


def _list(items: Sequence[Any]) -> JavaObject:
    return _object(_ARRAY_LIST, [struct.pack(">i", len(items)), *items], size=len(items))


def _map(items: dict[Any, Any]) -> JavaObject:
    buckets = 16
    while buckets * 3 < len(items) * 4:
        buckets *= 2
    pairs = [part for item in items.items() for part in item]
    written = [struct.pack(">ii", buckets, len(items)), *pairs]
    return _object(_HASH_MAP, written, loadFactor=0.75, threshold=buckets * 3 // 4)


def _kind(name: str) -> JavaEnum:
    return JavaEnum(JavaClass(HOME + "HierarchyBuilder$Type", 0, (), _ENUM, 18), name)


def _word(text: str, of: JavaObject) -> JavaObject:
    """The function that gives a group this word."""
    return _object(_CONSTANT, value=text, type=of)


def _grouped(builder: JavaObject, of: JavaObject, levels: Sequence[Sequence[tuple[int, str]]]) -> None:
    """Give a builder its groups: how many make one, and the word for it."""
    made = {}
    for number, groups in enumerate(levels):
        parts = [_object(_GROUP, size=size, function=_word(word, of)) for size, word in groups]
        made[_box(number)] = _object(_LEVEL, level=number, builder=builder, list=_list(parts))
    builder.fields[_GROUPING.name] |= {"datatype": of, "function": _word("*", of), "groups": _map(made)}


def _numbers(hierarchy: Numbered) -> JavaObject:
    """Every cell of the first level as an interval, and the other levels as groups of cells.

    ARX leaves an end out, so the last interval ends just above ``hi``: at the next whole number, or a few doubles on. It
    finds the outermost interval by dividing, which decimals round: a bound in the middle of it is on no edge.
    """
    inner = range(1, hierarchy.height)
    if (many := hierarchy.cells(1)) > _MOST:
        raise InvalidRequest(f"a level must have at most {_MOST:,} cells to be written, got {many:,}; take wider ones")
    rows = [[hierarchy.cell(level, i) for i in range(hierarchy.cells(level))] for level in inner]
    whole = all(end.denominator == 1 for cell in rows[0] for end in cell)
    if whole and max(abs(end) for end in (Fraction(hierarchy.lo), Fraction(hierarchy.hi))) >= 1 << 62:
        raise InvalidRequest("bounds must lie within 2**62 for ARX's integers; take narrower ones")

    def end(value: Fraction) -> JavaObject:
        return _box(value if whole else float(value))

    above = Fraction(hierarchy.hi) + 1 if whole else Fraction(beyond(float(Fraction(hierarchy.hi)), math.inf)[-1])
    of = _object(_TYPES["integer" if whole else "decimal"])
    top = (
        {}
        if whole
        else {"repeatBound": end((rows[0][-1][0] + above) / 2), "snapBound": end(above), "labelBound": end(above)}
    )
    ranges = {"lowerRange": _object(_RANGE), "upperRange": _object(_RANGE, **top)}
    builder = _object(_INTERVALS, type=_kind("INTERVAL_BASED"), **ranges)
    intervals = []
    for i, (low, high) in enumerate(rows[0]):
        text = hierarchy.word(1, i)
        ends = {"min": end(low), "max": end(above if i == many - 1 else high)}
        intervals.append(_object(_INTERVAL, builder=builder, function=_word(text, of), label=text, **ends))
    builder.fields[_INTERVALS.name]["intervals"] = _list(intervals)
    levels = []
    for level in inner[1:]:
        inside = [hierarchy.index(low, level) for low, _ in rows[level - 2]]
        levels.append([(len(list(same)), hierarchy.word(level, i)) for i, same in groupby(inside)])
    _grouped(builder, of, levels)
    return builder


def _prefixes(hierarchy: Prefixes) -> JavaObject:
    orders = JavaClass(HOME + "HierarchyBuilderRedactionBased$Order", 0, (), _ENUM, 18)
    sizes = {"alphabetSize": hierarchy.alphabet, "maxValueLength": hierarchy.length}
    return _object(
        _REDACTION,
        type=_kind("REDACTION_BASED"),
        paddingCharacter=ord("*"),
        redactionCharacter=ord("*"),
        aligmentOrder=JavaEnum(orders, "LEFT_TO_RIGHT"),
        redactionOrder=JavaEnum(orders, "RIGHT_TO_LEFT"),
        domainSize=_box(float(hierarchy.alphabet) ** hierarchy.length),
        **{name: _box(float(size)) for name, size in sizes.items()},
    )


def _values(hierarchy: Hierarchy, values: Sequence[str]) -> JavaObject:
    """Values branch by branch, and every level counted off along the one before it."""
    if len(values) > _MOST:
        raise InvalidRequest(f"at most {_MOST:,} values can be written, got {len(values):,}; write them by to_csv")
    ordered = sorted(values, key=hierarchy.place)
    ways = [hierarchy.path(value) for value in ordered]
    levels = []
    for level in range(1, hierarchy.height + 1):
        runs = [list(same) for _, same in groupby(dict.fromkeys(way[level - 1 :] for way in ways), lambda way: way[1])]
        levels.append([(len(run), run[0][1]) for run in runs])
    of = _object(_TYPES["string"])
    builder = _object(_ORDER, type=_kind("ORDER_BASED"))
    ranks = {value: _box(place) for place, value in enumerate(ordered)}
    builder.fields[_ORDER.name]["comparator"] = _object(_COMPARATOR, **{"this$0": builder, "val$map": _map(ranks)})
    _grouped(builder, of, levels)
    return builder
