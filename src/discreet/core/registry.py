"""Closed registries: a document names what it holds by a short word, never by an import path.

What is registered here feeds the documents (JSON both ways), the conformance suites, the command line and the
documentation. A word that is not registered is refused; nothing is ever imported because a file says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any, ClassVar, Generic, Self, TypeVar

from discreet.core.codec import fields_written, read_as
from discreet.core.documents import reading
from discreet.core.labels import closest
from discreet.errors import UnknownName, UnsupportedFormat
from discreet.manifest import homes

SCHEMA_VERSION = 1


class Named:
    """A frozen dataclass that can be written into a document, as its registered name and its fields.

    ``registry`` is the registry of its kind: a field of this type is read by it.
    """

    name: ClassVar[str]
    registry: ClassVar[Registry[Any]]

    def to_dict(self) -> dict[str, Any]:
        """The name and the fields, in what JSON can say."""
        return {"name": self.name} | fields_written(self)

    @classmethod
    def from_fields(cls, values: dict[str, Any]) -> Self:
        """From the fields of ``to_dict``, each read as its type says; the constructor checks them."""
        return read_as(cls, values)


T = TypeVar("T", bound=Named)


class Registry(Generic[T]):
    """Words and the classes they stand for; those that the manifest lists under ``kind`` are loaded when first needed."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._elsewhere = homes(kind)
        self._known: dict[str, type[T]] = {}

    def __call__(self, name: str) -> Callable[[type[T]], type[T]]:
        """A decorator: ``@registry("word")`` on a class."""

        def keep(cls: type[T]) -> type[T]:
            if name in self._known:
                raise UnknownName(f"the {self.kind} {name!r} is registered twice; choose another word")
            cls.name = name
            self._known[name] = cls
            return cls

        return keep

    def __iter__(self) -> Iterator[str]:
        return iter(self.homes())

    def homes(self) -> dict[str, str]:
        """Every word with the module that its class lies in, those of modules that are not loaded yet included."""
        return self._elsewhere | {word: cls.__module__ for word, cls in self._known.items()}

    def __getitem__(self, name: str) -> type[T]:
        load(name, self._known, self._elsewhere, self.kind)
        return self._known[name]

    def read(self, doc: Any) -> T:
        """The object a document describes."""
        if not isinstance(doc, dict) or "name" not in doc:
            raise UnsupportedFormat(f"a {self.kind} is an object with a name, got {doc!r}")
        cls = self[doc["name"]]
        with reading(f"the {self.kind} {doc['name']!r}"):
            return cls.from_fields({k: v for k, v in doc.items() if k != "name"})


def load(name: Any, known: Mapping[str, Any], elsewhere: Mapping[str, str], kind: str) -> None:
    """Import the module in which a word is registered; refuse a word that is neither known nor listed."""
    if not isinstance(name, str) or (name not in known and name not in elsewhere):
        raise UnknownName(f"no {kind} is called {name!r}{closest(str(name), sorted({*known, *elsewhere}))}")
    if name not in known:
        import_module(elsewhere[name])


def check_version(doc: Any, kind: str) -> None:
    """Refuse a document of another kind or of a schema newer than this package knows."""
    if not isinstance(doc, dict) or doc.get("kind") != kind:
        raise UnsupportedFormat(
            f"expected a document of kind {kind!r}, got {doc if not isinstance(doc, dict) else doc.get('kind')!r}"
        )
    version = doc.get("schema")
    if not isinstance(version, int) or version < 1:
        raise UnsupportedFormat(f"a document needs a schema version of at least 1, got {version!r}")
    if version > SCHEMA_VERSION:
        raise UnsupportedFormat(
            f"the document has schema version {version} and this package reads up to {SCHEMA_VERSION}; upgrade discreet"
        )
