"""Categories and their ancestors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from typing import Any, ClassVar

from discreet.core.labels import closest
from discreet.errors import InvalidRequest
from discreet.protect.hierarchies import Hierarchy
from discreet.sources.cell_meaning import label


@dataclass(frozen=True)
class Tree(Hierarchy):
    """Declared values, each with its ancestors up to one common top.

    An ancestor may repeat itself from one level to the next (a branch that is shorter than others); apart from that a
    word has one place in the tree. ``paths`` holds each value with its ancestors.
    """

    paths: tuple[tuple[str, ...], ...]
    levels: tuple[str, ...]
    kind: ClassVar[str] = "tree"

    @classmethod
    def of(cls, paths: Mapping[Any, Sequence[Any]], names: Sequence[str] | None = None) -> Tree:
        """A tree from ``{value: [ancestors...]}``; refuses gaps, cycles, levels that do not nest and more than one top."""
        if not isinstance(paths, Mapping) or not paths:
            raise InvalidRequest(
                f"a tree must map values to their ancestors, got {paths!r}; write {{'flu': ['lungs', '*']}}"
            )
        rows = tuple(tuple(_words(value, ancestors)) for value, ancestors in paths.items())
        longest = max(map(len, rows))
        for row in rows:
            if len(row) != longest:
                raise InvalidRequest(
                    f"every value must have an ancestor on each of {longest - 1} levels, got {len(row) - 1} for {row[0]!r}; "
                    "repeat an ancestor where a branch is shorter"
                )
        if longest == 1:
            raise InvalidRequest("a tree needs at least one level above the values, got none; end each list with '*'")
        if twice := [value for value, times in Counter(row[0] for row in rows).items() if times > 1]:
            raise InvalidRequest(f"values must differ as text, got {twice[0]!r} twice; remove one")
        _check_nesting(rows)
        _check_cycles(rows)
        tops = sorted({row[-1] for row in rows})
        if len(tops) > 1:
            raise InvalidRequest(f"every value must reach one top, got {tops[:4]}; end each list with the same word, '*'")
        levels = tuple(names) if names is not None else ("value", *(f"level {i}" for i in range(1, longest - 1)), "top")
        if len(levels) != longest or len(set(levels)) != longest:
            raise InvalidRequest(f"a tree of {longest} levels needs as many different names, got {list(levels)}")
        return cls(rows, levels)

    @cached_property
    def _rows(self) -> dict[str, tuple[str, ...]]:
        return {row[0]: row for row in self.paths}

    @cached_property
    def _leaves(self) -> list[Counter[str]]:
        return [Counter(row[level] for row in self.paths) for level in range(len(self.levels))]

    @property
    def top(self) -> str:
        return self.paths[0][-1]

    def path(self, value: str) -> tuple[str, ...]:
        try:
            return self._rows[value]
        except KeyError:
            raise InvalidRequest(
                f"every value must have a place in the tree, got {value!r}{closest(value, list(self._rows)[:200])}; add it"
            ) from None

    def listed(self) -> list[str]:
        return list(self._rows)

    def loss(self, value: str, level: int) -> float:
        below = self._leaves[level][self.path(value)[level]]
        return 0.0 if below == 1 and level < self.height else below / len(self.paths)

    def share(self, many: int) -> float:
        return many / len(self.paths)

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "paths": {row[0]: list(row[1:]) for row in self.paths}, "names": list(self.levels)}


def _words(value: Any, ancestors: Sequence[Any]) -> Iterator[str]:
    if isinstance(ancestors, str) or not isinstance(ancestors, Sequence):
        raise InvalidRequest(f"the ancestors of {value!r} must be a list, got {ancestors!r}")
    for word in (value, *ancestors):
        text = label(word)
        if text is None:
            raise InvalidRequest(f"a tree must have no gaps, got an empty word on the way of {value!r}; name that level")
        yield text


def _check_nesting(rows: Sequence[tuple[str, ...]]) -> None:
    above: dict[tuple[int, str], tuple[str, str]] = {}
    for row in rows:
        for level, (word, parent) in enumerate(pairwise(row)):
            known, first = above.setdefault((level, word), (parent, row[0]))
            if known != parent:
                raise InvalidRequest(
                    f"levels must nest, and {word!r} on level {level} lies under {known!r} for {first!r} and under "
                    f"{parent!r} for {row[0]!r}; give each word one parent"
                )


def _check_cycles(rows: Sequence[tuple[str, ...]]) -> None:
    graph: dict[str, set[str]] = {}
    for row in rows:
        for word, parent in pairwise(row):
            if word != parent:
                graph.setdefault(word, set()).add(parent)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as problem:
        ring = " -> ".join(reversed(problem.args[1]))
        raise InvalidRequest(f"a tree must have no cycle, got {ring}; a word must not lie above itself") from None
    for word, parents in graph.items():
        if len(parents) > 1:
            raise InvalidRequest(
                f"a word must have one place in the tree, and {word!r} has the parents {sorted(parents)}; rename one"
            )
