"""Hierarchies: what a value becomes when it is made coarser, level by level, up to one word for everything.

Level 0 is the value itself and the last level is the top, ``"*"``. Levels nest: two values that are alike at one level
are alike at every level above it, which is what lets a search conclude from a node about all its generalisations.
A missing cell stays missing until the top.
"""

from __future__ import annotations

import csv
import io
import tomllib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from discreet.core.labels import closest
from discreet.core.numbers import Number
from discreet.errors import DiscreetError, InvalidRequest, UnsupportedFormat

if TYPE_CHECKING:
    from discreet.protect.cuts import Cuts
    from discreet.protect.dates import Dates
    from discreet.protect.intervals import Intervals
    from discreet.protect.prefixes import Prefixes
    from discreet.protect.trees import Tree

TOP = "*"
MOST_LISTED = 5  # values that a word lists, before it says their common ancestor
Floats = npt.NDArray[np.float64]


class Hierarchy(ABC):
    """Every value's way to the top.

    Made by ``intervals``, ``cuts``, ``prefixes``, ``dates``, ``tree``, ``from_csv``, ``from_ahs``, ``from_toml``.

    ``levels`` names the levels from the value itself (0) to the top (``height``).
    """

    levels: tuple[str, ...]
    kind: ClassVar[str]
    measured: ClassVar[bool] = False  # whether values are numbers or days, so that there is a middle between two

    @abstractmethod
    def path(self, value: str) -> tuple[str, ...]:
        """The value at every level, given as the text of a cell; refuses a value that the hierarchy does not cover."""

    @abstractmethod
    def loss(self, value: str, level: int) -> float:
        """The share of the whole range that the value stands for at a level: 0 by itself, 1 at the top.

        This is the normalised certainty penalty of Xu et al. (2006): (hi - lo) / (HI - LO) for numbers and dates, the
        share of leaves below the node otherwise.
        """

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """What TOML holds for it; ``from_dict`` reads it back."""

    def place(self, value: str) -> Any:
        """What values are put in order by: branch by branch, from the top down."""
        return self.path(value)[::-1]

    def positions(self, values: Sequence[str]) -> list[float]:
        """How far along the range each of the ordered values lies, from 0 to 1: evenly, where there is no measure."""
        return [place / max(1, len(values) - 1) for place in range(len(values))]

    def ends(self, value: str, level: int) -> tuple[float, float]:
        """The stretch of the range from 0 to 1 that a value stands for at a level, where values are measured."""
        return 0.0, 1.0

    def cover(self, values: Sequence[str], low: int, high: int, positions: Floats) -> tuple[str, float]:
        """One word for the ordered values from one place to another and the share of the range it stands for.

        It is their lowest common ancestor, or up to five values themselves where these say more. Proof: values are ordered
        by their ways from the top down, so all between two values share whatever the two share from the top down.
        """
        first, last = self.path(values[low]), self.path(values[high])
        level = next(level for level in range(self.height + 1) if first[level] == last[level])
        many, loss = high - low + 1, self.loss(values[low], level)
        share = self.share(many)
        if many <= MOST_LISTED and share < loss:
            return "{" + ", ".join(values[low : high + 1]) + "}", share
        return first[level], loss

    def share(self, many: int) -> float:
        """The share of the whole range that so many values are; 1 where values are not counted."""
        return 1.0

    def centre(self, mean: float, frequent: str) -> str:
        """What stands for values with this mean position and this most frequent one."""
        return frequent

    def apart(self, value: str, values: Sequence[str], positions: Floats) -> Floats:
        """The squared distance from one value to others: the share of levels on which they differ, squared."""
        way = self.path(value)
        ways = [self.path(other) for other in values]
        return np.array([(sum(a != b for a, b in zip(way, other, strict=True)) / self.height) ** 2 for other in ways])

    @property
    def height(self) -> int:
        """The number of the top level."""
        return len(self.levels) - 1

    @property
    def top(self) -> str:
        """The one word for everything."""
        return TOP

    @property
    def missing(self) -> tuple[str | None, ...]:
        """The way of a missing value: it stays missing below the top."""
        return (*([None] * self.height), self.top)

    def level(self, which: int | str) -> int:
        """The number of a level, given by number or by name."""
        if isinstance(which, str) and which in self.levels:
            return self.levels.index(which)
        if isinstance(which, bool) or not isinstance(which, int) or not 0 <= which <= self.height:
            raise InvalidRequest(f"level must be 0 to {self.height} or one of {', '.join(self.levels)}, got {which!r}")
        return which

    def generalize(self, values: Iterable[Any], level: int | str) -> list[Any]:
        """The values at a level, as text; level 0 gives them back as they are. A missing value stays so below the top."""
        from discreet.sources.cell_meaning import label

        wanted = self.level(level)
        given = list(values)
        if wanted == 0:
            return given
        known: dict[str | None, str | None] = {None: self.top if wanted == self.height else None}
        out = []
        for value in given:
            text = label(value)
            if text is not None and text not in known:
                known[text] = self.path(text)[wanted]
            out.append(known[text])
        return out

    @staticmethod
    def intervals(lo: Number, hi: Number, widths: Sequence[Number]) -> Intervals:
        """Numbers in [lo, hi]: themselves, then in intervals of each width counted from ``lo``, then the top.

        Each width must be a multiple of the one before it: intervals of 2 do not fit into intervals of 3.
        """
        from discreet.protect.intervals import Intervals

        return Intervals(lo, hi, tuple(widths))

    @staticmethod
    def cuts(
        lo: Number, hi: Number, edges: Sequence[Sequence[Number]], labels: Sequence[Sequence[str]] | None = None
    ) -> Cuts:
        """Numbers in [lo, hi]: themselves, then between the edges of each level, then the top.

        The edges of a level must be among those of the one before it; ``labels`` gives the cells of each level words:
        ``cuts(0, 110, [[18, 40, 65], [18]], [["child", "young", "old", "oldest"], ["child", "grown"]])``.
        """
        from discreet.protect.cuts import Cuts

        return Cuts(lo, hi, edges, labels)  # type: ignore[arg-type]

    @staticmethod
    def prefixes(length: int, keep: Sequence[int] | None = None, alphabet: int = 10) -> Prefixes:
        """Texts of ``length`` characters, such as postal codes, cut from the right: 13053, 1305*, 130**, ..., the top.

        ``keep`` lists how many characters stay at each level (one fewer each time unless said); ``alphabet`` is how
        many different characters a hidden place may hold, for the loss only.
        """
        from discreet.protect.prefixes import Prefixes

        return Prefixes(length, None if keep is None else tuple(keep), alphabet)

    @staticmethod
    def dates(first: date | str, last: date | str, steps: Sequence[str] = ("month", "year", "decade")) -> Dates:
        """Days from ``first`` to ``last``: themselves, then by each step, then the top.

        Steps are day, month, quarter, half, year, decade, century, each coarser than the one before it. There are no
        weeks: they do not fit into months or years.
        """
        from discreet.protect.dates import Dates

        return Dates(first, last, tuple(steps))

    @staticmethod
    def tree(paths: Mapping[Any, Sequence[Any]], names: Sequence[str] | None = None) -> Tree:
        """Categories with their ancestors, nearest first: ``{"flu": ["lungs", "*"], "asthma": ["lungs", "*"], ...}``."""
        from discreet.protect.trees import Tree

        return Tree.of(paths, names)

    @staticmethod
    def from_csv(path: str | Path, delimiter: str | None = None, *, header: bool = False) -> Tree:
        """A tree from a file with one row for each value: the value, then its ancestors up to the top.

        Without a ``delimiter`` a semicolon in the first row decides for semicolons, else commas. ``header`` says that
        the first row names the levels.
        """
        from discreet.protect.trees import Tree

        try:
            with Path(path).open(encoding="utf-8-sig", newline="") as lines:
                first = lines.readline()
                lines.seek(0)
                rows = [row for row in csv.reader(lines, delimiter=delimiter or (";" if ";" in first else ",")) if row]
        except (OSError, UnicodeDecodeError, csv.Error) as problem:
            raise UnsupportedFormat(f"{path}: the hierarchy cannot be read ({problem}); give a CSV file in UTF-8") from None
        names = rows.pop(0) if header and rows else None
        paths: dict[str, list[str]] = {}
        for number, row in enumerate(rows, 2 if header else 1):
            if row[0] in paths:
                raise UnsupportedFormat(f"{path}, row {number}: a value must have one row, got {row[0]!r} twice; remove one")
            paths[row[0]] = row[1:]
        try:
            return Tree.of(paths, names)
        except InvalidRequest as problem:
            raise UnsupportedFormat(f"{path}: {problem}") from None

    def to_csv(self, path: str | Path, values: Iterable[Any] = (), delimiter: str = ";") -> Path:
        """A new file with one row for each value, itself and then its way to the top: what ``from_csv`` and ARX read.

        A tree writes its own values; of the others, ``values`` says which to write.
        """
        from discreet.protect.writing import write_whole
        from discreet.sources.cell_meaning import label

        texts = [text for value in values if (text := label(value)) is not None]
        listed = list(dict.fromkeys(texts)) or self.listed()
        if not listed:
            raise InvalidRequest(f"a hierarchy of {self.kind} has no list of values; pass values=[...] to write them")
        out = io.StringIO(newline="")
        csv.writer(out, delimiter=delimiter, lineterminator="\n").writerows(map(self.path, listed))
        write_whole(Path(path), out.getvalue())
        return Path(path)

    @staticmethod
    def from_ahs(
        path: str | Path,
        values: Sequence[Any] | None = None,
        *,
        length: int | None = None,
        first: date | str | None = None,
        last: date | str | None = None,
    ) -> Hierarchy:
        """The hierarchy that a specification of ARX (``.ahs``) describes; it is read as data, and nothing of it is run.

        Intervals become ``cuts``; redaction becomes ``prefixes`` of ``length`` characters; dates become ``dates`` from
        ``first`` to ``last``. Orders and priorities become a tree of the values that the file lists. ARX takes values from
        its table where the file has none: list them in ``values`` then.
        """
        from discreet.protect.ahs import read

        return read(Path(path), values, length, first, last)

    def to_ahs(self, path: str | Path, values: Iterable[Any] = ()) -> Path:
        """A new file that ARX loads as a specification of this hierarchy (``.ahs``).

        Numbers and whole prefixes need no values. Others are written as groups of the listed values, which ARX counts off
        along the values of its table: list those in ``values``, or write the table of ways by ``to_csv`` instead.
        """
        from discreet.protect.ahs import write

        return write(self, Path(path), values)

    def listed(self) -> list[str]:
        """The values that are declared one by one; none where they are not."""
        return []

    @staticmethod
    def from_dict(doc: Any, folder: Path | None = None) -> Hierarchy:
        """From what ``to_dict`` gives: ``kind`` and the arguments of the builder of that name."""
        if not isinstance(doc, dict) or doc.get("kind") not in _BUILDERS:
            kind = doc.get("kind") if isinstance(doc, dict) else doc
            raise UnsupportedFormat(f"a hierarchy needs a kind, got {kind!r}{closest(str(kind), _BUILDERS)}")
        given = {key: value for key, value in doc.items() if key != "kind"}
        if doc["kind"] in ("csv", "ahs") and folder is not None and isinstance(given.get("path"), str):
            given["path"] = folder / given["path"]
        try:
            return _BUILDERS[doc["kind"]](**given)
        except DiscreetError:
            raise
        except TypeError as problem:
            raise UnsupportedFormat(f"a hierarchy of kind {doc['kind']!r} does not fit its builder: {problem}") from None

    @staticmethod
    def from_toml(source: str | Path) -> dict[str, Hierarchy]:
        """The hierarchies of a TOML file, or of its text, by column: a table ``[age]`` with ``kind = "intervals"``."""
        folder = None
        if isinstance(source, Path) or ("\n" not in source and "=" not in source):
            folder = Path(source).parent
            try:
                source = Path(source).read_text(encoding="utf-8")
            except (OSError, ValueError) as problem:
                raise UnsupportedFormat(f"the hierarchies cannot be read ({problem}); check the path") from None
        try:
            doc = tomllib.loads(source)
        except tomllib.TOMLDecodeError as problem:
            raise UnsupportedFormat(f"hierarchies: not valid TOML: {problem}") from None
        return read_columns(doc, folder)


@contextmanager
def covering(column: str) -> Iterator[None]:
    """A refusal of a cell that its hierarchy does not cover, without the cell: nobody is shown what a record holds."""
    try:
        yield
    except InvalidRequest:
        raise InvalidRequest(
            f"column {column!r}: every value must be covered by its hierarchy, and some are not; widen it, or clean them"
        ) from None


def read_columns(doc: Mapping[str, Any], folder: Path | None = None) -> dict[str, Hierarchy]:
    """One hierarchy for each key; a refusal says the column."""
    made = {}
    for column, facts in doc.items():
        try:
            made[column] = Hierarchy.from_dict(facts, folder)
        except DiscreetError as problem:
            raise problem.at(f"hierarchy of {column!r}: ") from None
    return made


_BUILDERS: dict[str, Callable[..., Hierarchy]] = {
    "intervals": Hierarchy.intervals,
    "cuts": Hierarchy.cuts,
    "prefixes": Hierarchy.prefixes,
    "dates": Hierarchy.dates,
    "tree": Hierarchy.tree,
    "csv": Hierarchy.from_csv,
    "ahs": Hierarchy.from_ahs,
}
