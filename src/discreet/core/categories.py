"""Columns of labels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, ClassVar

from discreet.core.declaring import PRIVATE, Currencies, check_formula, read_price, written
from discreet.core.labels import Label, canonical, closest, fold
from discreet.core.query import Relation
from discreet.errors import InvalidRequest
from discreet.expressions import KnownColumn

OTHER = "(other)"  # the label of values that were not found, where none is declared


@dataclass(frozen=True)
class Categories:
    """One of a public list of labels (text, whole numbers or true/false), compared by their canonical text.

    ``other`` is the label of every undeclared value; without it an undeclared value counts as missing. ``missing`` is
    None (belongs to no category; to ``other`` under replace where that is declared), a declared label, or ``"drop"``
    (belongs to no category; not under replace).

    ``aliases`` are other spellings of a label, ``{"north": ["North", "n"]}``; with ``fold=True`` letter case and spaces
    around a text do not matter.

    ``Categories("private")`` has labels that nobody knows: a session finds those of enough people for the ``price``
    (``{"epsilon": 0.1, "delta": 1e-6}``), and ``other``, ``"(other)"`` by default, is the label of all the rest.
    """

    values: tuple[Label, ...]
    other: Label | None = None
    missing: Label | None = None
    price: Currencies | Mapping[str, Any] | None = field(default=None, kw_only=True)
    minimum: int | None = field(default=None, kw_only=True)
    aliases: Mapping[str, Sequence[str]] = field(default_factory=dict, kw_only=True)
    fold: bool = field(default=False, kw_only=True)
    formula: str | None = field(default=None, kw_only=True)
    type: ClassVar[str] = "category"

    def __post_init__(self) -> None:
        check_formula(self.formula)
        if isinstance(self.values, str) and self.values == PRIVATE:
            self._declare_private()
            return
        if self.price is not None or self.minimum is not None:
            raise InvalidRequest(
                "price and minimum are for labels to be found; leave them out, or write values='private'", key="price"
            )
        if isinstance(self.values, str) or not isinstance(self.values, Iterable):
            raise InvalidRequest(f"categories must be a list of labels, got {self.values!r}; write ['f', 'm']", key="values")
        object.__setattr__(self, "values", tuple(self.values))
        if not self.values:
            raise InvalidRequest("categories must name at least one label, got none; list the public labels", key="values")
        self._check_labels()
        self._check_aliases()
        texts = [canonical(v) for v in self.values]
        if twice := sorted({t for t in texts if texts.count(t) > 1}):
            raise InvalidRequest(f"categories must differ as text, got {twice[0]!r} twice; remove one", key="values")
        if self.missing == "drop" and "drop" in self.lookup():
            raise InvalidRequest(
                "missing='drop' is not clear where 'drop' is a category; rename the category", key="missing"
            )
        if self.missing is not None and self.missing != "drop" and canonical(self.missing) not in self.lookup():
            raise InvalidRequest(
                f"missing must be a declared category, got {self.missing!r}{closest(canonical(self.missing), texts)}",
                key="missing",
            )

    def _check_aliases(self) -> None:
        """Refuse an alias of a label that is not there, and a spelling that would mean two labels."""
        if not isinstance(self.fold, bool):
            raise InvalidRequest(f"fold must be true or false, got {self.fold!r}", key="fold")
        if not isinstance(self.aliases, Mapping):
            raise InvalidRequest(
                f"aliases must be a table such as {{north = ['North', 'n']}}, got {self.aliases!r}", key="aliases"
            )
        known = {canonical(label) for label in self.labels}
        spellings: dict[str, tuple[str, ...]] = {}
        for label, given in self.aliases.items():
            if canonical(label) not in known:
                raise InvalidRequest(
                    f"aliases must be of a declared label, got {label!r}{closest(canonical(label), known)}", key="aliases"
                )
            words = [given] if isinstance(given, str | int) else given
            if not isinstance(words, Sequence) or not all(isinstance(word, str | int) and word != "" for word in words):
                raise InvalidRequest(f"aliases of {label!r} must be a list of spellings, got {given!r}", key="aliases")
            spellings[canonical(label)] = tuple(canonical(word) for word in words)
        object.__setattr__(self, "aliases", spellings)
        meaning: dict[str, str] = {}
        for label in (canonical(each) for each in self.labels):
            for spelling in (label, *spellings.get(label, ())):
                text = fold(spelling) if self.fold else spelling
                if not text or meaning.setdefault(text, label) != label:
                    both = f"{meaning.get(text)!r} and {label!r}"
                    raise InvalidRequest(f"aliases must mean one label each, got {spelling!r} for {both}", key="aliases")

    def _check_labels(self) -> None:
        for label in (*self.values, *(x for x in (self.other, self.missing) if x is not None)):
            if not isinstance(label, str | int):
                raise InvalidRequest(f"a category must be text, a whole number or true/false, got {label!r}", key="values")
            if label == "":
                raise InvalidRequest(
                    "a category must not be the empty text: empty cells are missing; use missing=", key="values"
                )

    def _declare_private(self) -> None:
        price = read_price(self.price, "an epsilon and a delta, such as {'epsilon': 0.1, 'delta': 1e-6}")
        if price is not None and [key for key, _ in price] != ["delta", "epsilon"]:
            raise InvalidRequest(f"price must be an epsilon and a delta to find labels, got {dict(price)!r}", key="price")
        if self.minimum is not None and (
            isinstance(self.minimum, bool) or not isinstance(self.minimum, Integral) or self.minimum < 1
        ):
            raise InvalidRequest(f"minimum must be a whole number of at least 1, got {self.minimum!r}", key="minimum")
        object.__setattr__(self, "values", ())
        object.__setattr__(self, "other", OTHER if self.other is None else self.other)
        object.__setattr__(self, "price", price)
        self._check_labels()

    @property
    def private(self) -> bool:
        """Whether its labels are yet to be found."""
        return not self.values

    def found(self, labels: Iterable[str]) -> Categories:
        """The declaration with labels that were found; never without any, there is always ``other``."""
        assert self.other is not None
        missing = None if self.missing == "drop" else self.missing
        known = dict.fromkeys(labels)
        if missing is not None and canonical(missing) not in known:
            known[canonical(missing)] = None
        return Categories(tuple(known) or (self.other,), self.other, None if missing is None else canonical(missing))

    @property
    def known(self) -> KnownColumn:
        """What an expression knows of it; refuses labels that are yet to be found."""
        if self.private:
            raise InvalidRequest("the labels of a column that an expression reads are yet to be found; use discover() first")
        return KnownColumn("label", tuple(canonical(label) for label in self.labels), self.lookup(), self.fold)

    @property
    def labels(self) -> tuple[Label, ...]:
        """Every label a code can stand for: the declared values, then ``other`` where it is not one of them."""
        known = {canonical(v): v for v in self.values}
        for extra in (self.other, self.missing if self.private and self.missing != "drop" else None):
            if extra is not None:
                known.setdefault(canonical(extra), extra)
        return tuple(known.values())

    def lookup(self) -> dict[str, int]:
        """From a spelling of a label to its code; ``True`` and ``TRUE`` are other spellings of a declared true.

        Where texts are folded, folded spellings have a code as well.
        """
        codes = {canonical(label): code for code, label in enumerate(self.labels)}
        for code, label in enumerate(self.labels):
            spellings = list(self.aliases.get(canonical(label), ()))
            if isinstance(label, bool):
                spellings += [canonical(label).capitalize(), canonical(label).upper()]
            for spelling in spellings:
                codes.setdefault(spelling, code)
        return codes | {fold(text): code for text, code in codes.items()} if self.fold else codes

    def fill(self, relation: Relation) -> int:
        """The code of a missing value; -1 where it belongs to no category."""
        if self.missing is not None and self.missing != "drop":
            return self.lookup()[canonical(self.missing)]
        return self.lookup()[canonical(self.other)] if self.other is not None and relation == "replace" else -1

    def stray(self, relation: Relation) -> int:
        """The code of an undeclared value: ``other``, or as a missing one."""
        return self.fill(relation) if self.other is None else self.lookup()[canonical(self.other)]

    def to_dict(self) -> dict[str, Any]:
        """What TOML and JSON hold."""
        rest: dict[str, Any] = {"other": self.other, "missing": self.missing, "minimum": self.minimum}
        rest |= {"aliases": {k: list(v) for k, v in self.aliases.items()} or None, "fold": self.fold or None}
        rest |= {"formula": self.formula}
        rest["price"] = None if self.price is None else written(self.price)
        values = PRIVATE if self.private else list(self.values)
        return {"type": self.type, "values": values, **{k: v for k, v in rest.items() if v is not None}}
