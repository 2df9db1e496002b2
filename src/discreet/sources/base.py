"""What every source does alike: fold, restrict, split, sample. An engine only has to deliver batches."""

from __future__ import annotations

import copy
import json
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from hashlib import blake2b
from typing import Any, Literal, Self, TypeVar

import numpy as np

from discreet.core.labels import Label, canonical, closest
from discreet.core.numbers import Number, rational
from discreet.core.random import Random, chosen
from discreet.core.schema import Categories, Column, Schema
from discreet.core.source import Source
from discreet.errors import InvalidRequest, UnknownName
from discreet.sources.batch import Batch, Rules
from discreet.sources.choosing import ALL, DEFAULT_SALT, Choice, divide, public_key
from discreet.sources.ids import Identities, Words
from discreet.sources.threads import combined

S = TypeVar("S")
BATCH_ROWS = 1 << 17  # that are held at once of a table that is read


class Selection:
    """Which records of a table a source stands for: declared categories, parts and samples. Travels to workers."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.where: tuple[tuple[str, tuple[int, ...]], ...] = ()
        self.choices: tuple[Choice, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.where or self.choices)

    def columns(self, asked: Sequence[str]) -> list[str]:
        """Everything that has to be read for these columns, each once."""
        extra = [name for name, _ in self.where]
        if any(choice.by == "values" for choice in self.choices):
            extra += sorted(self.rules.schema.stored)
        return list(dict.fromkeys([*asked, *extra]))

    def apply(self, batch: Batch) -> Batch:
        """The chosen records of a batch. A person's rows are filtered before they are counted against max_rows."""
        masks = []
        for choice in self.choices:
            inputs: Words | Identities
            if choice.by == "person":
                inputs = batch.identities()
            else:
                inputs = batch.value_hashes() if choice.by == "values" else batch.row_numbers()
            masks.append(choice.mask(inputs, 0 if choice.by == "values" else batch.stream))
        masks += [batch.within(name, wanted) for name, wanted in self.where]
        return batch.choose(reduce(np.logical_and, masks)) if masks else batch


class BaseSource(Source):
    """A table with its schema. It knows nothing of noise, budgets or algorithms.

    ``numbered`` says whether rows come in one lasting order, so that the number of a row tells it from others.
    """

    schema: Schema
    numbered = True

    def __init__(self, schema: Schema, salt: int = DEFAULT_SALT, batch_rows: int = BATCH_ROWS) -> None:
        if batch_rows < 1:
            raise InvalidRequest(f"batch_rows must be at least 1, got {batch_rows}")
        self.schema = self._as_declared = schema
        self._batch_rows = batch_rows
        self._selection = Selection(Rules(schema, salt))
        self._declared: str | None = None

    @abstractmethod
    def _content(self) -> str:
        """A word that changes whenever the table may have changed."""

    @abstractmethod
    def fold(self, map: Callable[[Batch], S], combine: Callable[[S, S], S], columns: Sequence[str]) -> S:  # noqa: A002
        """``map`` over batches with whole people in them, and the results combined.

        ``combine`` must be commutative and associative: the order of batches is not promised. A table without records
        is one empty batch. ``map`` must not write into the arrays of a batch: they may be the caller's own memory.
        """

    def where(self, **wanted: Label | Sequence[Label]) -> Self:
        """The source of the records in the given categories: ``where(sex="f", region=["north", "east"])``."""
        conditions = []
        for name, given in wanted.items():
            column = self.schema[name]
            if not isinstance(column, Categories):
                raise InvalidRequest(f"where needs a column of categories, got {name!r}, a number; declare Categories")
            labels = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else [given]
            lookup = column.lookup()
            for label in labels:
                if not isinstance(label, str | int) or canonical(label) not in lookup:
                    known = [canonical(v) for v in column.labels]
                    raise UnknownName(f"column {name!r} has no category {label!r}{closest(str(label), known)}")
            conditions.append((self.schema.name_of(name), tuple(sorted({lookup[canonical(v)] for v in labels}))))
        return self._with(where=(*self._selection.where, *conditions))

    def found(self, columns: Mapping[str, Column]) -> Self:
        """The same table with declarations that were found. Asked before any ``where``, ``split`` or ``sample``.

        Its version stays that of the declared schema: within one ledger what was found follows from that and the version of
        the table, and a question says the bounds and labels that it uses.
        """
        if self._selection:
            raise InvalidRequest("declarations are found for a whole table; find them before choosing rows")
        made = copy.copy(self)
        made.schema = replace(self.schema, columns={**self.schema.columns, **columns})
        made._selection = Selection(Rules(made.schema, self._selection.rules.salt))
        made._read_again(columns)
        return made

    def _read_again(self, columns: Iterable[str]) -> None:
        """Forget what was worked out of columns under another declaration."""

    def split(self, parts: int, seed: int | Random | None = None) -> list[Self]:
        """``parts`` sources on disjoint people that together are this one.

        With a person column, by a salted hash of the id; the relation replace keeps the ids. Without one, by the
        remainder of the row's number under replace, and by a random label for each row number otherwise, under a key
        drawn once from the system (``seed`` is for tests). See ``Choice`` for why one person is in one part.
        """
        if isinstance(parts, bool) or not isinstance(parts, int) or parts < 1:
            raise InvalidRequest(f"parts must be a whole number of at least 1, got {parts!r}")
        by = self._split_by()
        depth = len(self._selection.choices)
        public = by in ("person", "values")
        key = public_key(self._selection.rules.salt, depth) if public else chosen(seed).words(2).tobytes()
        return [self._with(choices=(*self._selection.choices, choice)) for choice in divide(by, key, parts)]

    def sample(self, rate: Number, seed: int | Random | None = None) -> Self:
        """Each person (each row, without a person column) independently with probability ``rate``.

        The key is secret, drawn anew at every call, and stays with the source it makes (``seed`` is for tests). The
        probability is rounded down to a multiple of 2**-64.
        """
        exact = rational(rate, "rate")
        if not 0 < exact <= 1:
            raise InvalidRequest(f"rate must lie in (0, 1], got {rate}")
        by: Literal["person", "row"] = "row" if self.schema.person is None else "person"
        choice = Choice(by, chosen(seed).words(2).tobytes(), 0, int(exact * ALL))
        return self._with(choices=(*self._selection.choices, choice))

    @property
    def version(self) -> str:
        """A word that changes whenever the records may have changed, or the schema, or what was chosen of them.

        It is public: a ledger keeps a digest of it, and a question asked again is free only while it stays the same.
        """
        selection = self._selection
        facts = [
            self._as_declared.as_json,
            str(selection.rules.salt),
            str(selection.where),
            *(choice.describe() for choice in selection.choices),
            # The places of labels that were found mean something only beside the labels.
            *(f"{pair}{self._found_for(pair[0])}" for pair in self.restriction if self._found_for(pair[0]) is not None),
            self._content() if self._declared is None else f"declared {self._declared}",
        ]
        return blake2b("\n".join(facts).encode(), digest_size=16).hexdigest()

    @property
    def restriction(self) -> tuple[tuple[str, tuple[Label, ...]], ...]:
        """The categories that rows were restricted to by ``where``: columns and the labels they may have."""
        found = []
        for name, codes in self._selection.where:
            column = self.schema[name]
            assert isinstance(column, Categories)
            found.append((name, tuple(column.labels[code] for code in codes)))
        return tuple(found)

    def _found_for(self, name: str) -> str | None:
        """What an expression rests on that was found, empty for a column itself; None where nothing of it was found."""
        used = self.schema.derivation.inputs(name)
        old, new = self._as_declared.columns, self.schema.columns
        found = {each: new[each] for each in used if new[each] != old[each]}
        if not found:
            return None
        return "" if name in self.schema.columns else json.dumps({k: c.to_dict() for k, c in found.items()}, sort_keys=True)

    def _split_by(self) -> Literal["person", "row", "values", "remainder"]:
        if self.schema.person is not None:
            return "person"
        if self.numbered:
            return "remainder" if self.schema.neighbors == "replace" else "row"
        if self.schema.neighbors != "add_remove":
            raise InvalidRequest(
                f"such a table without a person column must not be split under neighbors={self.schema.neighbors!r}: "
                "its rows have no lasting number; declare person= and max_rows="
            )
        return "values"

    def _needed(self, columns: Sequence[str]) -> list[str]:
        """The stored columns that have to be read for these, each once."""
        for name in columns:
            self.schema[name]
        person = [] if self.schema.person is None else [self.schema.person]
        read = [each for name in self._selection.columns(columns) for each in self.schema.derivation.inputs(name)]
        return list(dict.fromkeys([*read, *person]))

    def _empty(self, columns: Sequence[str]) -> Batch:
        return Batch(self._selection.rules, {name: np.empty(0) for name in self._needed(columns)}, 0)

    def _with(self, **changes: Any) -> Self:
        """A source on the same table with another selection; the table and what is known of it are shared."""
        made = copy.copy(self)
        made._selection = Selection(self._selection.rules)
        made._selection.where = changes.get("where", self._selection.where)
        made._selection.choices = changes.get("choices", self._selection.choices)
        return made


class LocalSource(BaseSource):
    """A source that is read in this process, batch after batch."""

    in_process = True

    @abstractmethod
    def _batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        """Batches of about ``batch_rows`` records with whole people in them, before any choice."""

    def _threads(self, columns: Sequence[str]) -> int:
        """How many threads work off batches of these stored columns. One holds a single batch of a table of any size."""
        return 1

    def fold(self, map: Callable[[Batch], S], combine: Callable[[S, S], S], columns: Sequence[str]) -> S:  # noqa: A002
        picked = self._selection
        step = (lambda batch: map(picked.apply(batch))) if picked else map
        needed = self._needed(columns)
        count, total = combined(self._batches(needed), step, combine, self._threads(needed))
        return total if count else map(self._empty(columns))


def check_columns(schema: Schema, present: Sequence[str], otherwise: str = "") -> None:
    """Refuse a schema that names columns the table does not have; ``otherwise`` is what to look at where it has none.

    Nothing is said of the table's other names: where a file has no header its first line is a person's record.
    """
    declared, there = [*schema.stored, *([] if schema.person is None else [schema.person])], set(present)
    for name in declared:
        if name not in there:
            here = ", ".join(repr(known) for known in dict.fromkeys(declared) if known in there)
            raise UnknownName(
                f"the table has no column {name!r}; of the declared columns it has {here or 'none'}; "
                f"{'' if here else otherwise}mend the schema"
            )
