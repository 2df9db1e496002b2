"""Java's object serialization stream as plain data: read strictly, and written.

The grammar is chapter 6 of the Java Object Serialization Specification. An object is a record of its fields, class by class:
no class is looked up, nothing is constructed and nothing is run, whatever a stream names. What the grammar has beyond
objects, arrays, enumerations and strings (proxies, class objects, exceptions, resets, external forms) is refused.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from discreet.errors import UnsupportedFormat

_MAGIC = b"\xac\xed\x00\x05"
_NULL, _REFERENCE, _CLASS, _OBJECT, _STRING, _ARRAY = 0x70, 0x71, 0x72, 0x73, 0x74, 0x75
_BLOCK, _END, _LONG_BLOCK, _LONG_STRING, _ENUM = 0x77, 0x78, 0x7A, 0x7C, 0x7E
_FIRST_HANDLE = 0x7E0000
_WRITES, _SERIALIZABLE, _IS_ENUM = (
    1,
    2,
    16,
)  # flags of a class: it writes more than its fields; it may be written; it is an enum
_DEEPEST = 100  # objects within objects
_PRIMITIVES = {"B": ">b", "C": ">H", "D": ">d", "F": ">f", "I": ">i", "J": ">q", "S": ">h", "Z": ">?"}


@dataclass(frozen=True)
class JavaClass:
    """A class as a stream describes it: its name, the number of its version, and its fields as (type, name)."""

    name: str
    uid: int
    fields: tuple[tuple[str, str], ...] = ()
    parent: JavaClass | None = None
    flags: int = _SERIALIZABLE

    @property
    def line(self) -> list[JavaClass]:
        """This class and those above it, the highest first: the order in which fields are written."""
        return [*(self.parent.line if self.parent else []), self]


@dataclass(eq=False)
class JavaObject:
    """The fields of an object by class, and what its classes wrote beyond them: bytes and values."""

    kind: JavaClass
    fields: dict[str, dict[str, Any]] = field(default_factory=dict)
    written: dict[str, list[Any]] = field(default_factory=dict)


@dataclass(eq=False)
class JavaArray:
    """The elements of an array."""

    kind: JavaClass
    items: list[Any] = field(default_factory=list)


@dataclass(frozen=True)
class JavaEnum:
    """A constant of an enumeration."""

    kind: JavaClass
    name: str


def read(data: bytes) -> Any:
    """The one value that a stream holds; refuses a stream that is cut, has more, or uses what is not known here."""
    if not data.startswith(_MAGIC):
        raise UnsupportedFormat("not a stream of Java objects: it does not begin with AC ED 00 05")
    reader = _Reader(data)
    try:
        value = reader.value(0)
    except (struct.error, IndexError):
        raise UnsupportedFormat("the stream of Java objects ends too early") from None
    if reader.place != len(data):
        raise UnsupportedFormat("the stream of Java objects holds more than one value")
    return value


def write(value: Any) -> bytes:
    """The stream that holds a value made of the nouns above, texts and None; ``read`` gives it back."""
    writer = _Writer()
    writer.value(value)
    return _MAGIC + bytes(writer.out)


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data, self.place = data, len(_MAGIC)
        self.handles: list[Any] = []

    def take(self, many: int) -> bytes:
        if not 0 <= many <= len(self.data) - self.place:
            raise IndexError
        self.place += many
        return self.data[self.place - many : self.place]

    def number(self, form: str) -> Any:
        return struct.unpack(form, self.take(struct.calcsize(form)))[0]

    def text(self, form: str = ">H") -> str:
        raw = self.take(self.number(form)).replace(b"\xc0\x80", b"\0")
        try:
            return raw.decode("utf-8", "surrogatepass").encode("utf-16", "surrogatepass").decode("utf-16")
        except UnicodeError:
            raise UnsupportedFormat("the stream of Java objects holds a text that is not one") from None

    def value(self, depth: int) -> Any:
        """The next value; containers take their handle before what they hold, which may refer to them."""
        if depth > _DEEPEST:
            raise UnsupportedFormat(f"the stream of Java objects goes deeper than {_DEEPEST} objects")
        mark = self.number(">B")
        if mark == _NULL:
            return None
        if mark == _REFERENCE:
            return self.handles[self._handle()]
        if mark in (_STRING, _LONG_STRING):
            self.handles.append(self.text(">H" if mark == _STRING else ">Q"))
            return self.handles[-1]
        if mark == _OBJECT:
            return self.object(depth)
        if mark == _ARRAY:
            return self.array(depth)
        if mark == _ENUM:
            kind, place = self.described(depth), self._reserve()
            self.handles[place] = JavaEnum(kind, self.word(depth))
            return self.handles[place]
        raise UnsupportedFormat(f"the stream of Java objects uses what is not known here (mark {mark:#x})")

    def object(self, depth: int) -> JavaObject:
        made = JavaObject(self.described(depth))
        self.handles.append(made)
        for part in made.kind.line:
            if part.flags & ~(_WRITES | _SERIALIZABLE) or not part.flags & _SERIALIZABLE:
                raise UnsupportedFormat(f"{part.name} is written in a form of its own, which is not known here")
            made.fields[part.name] = {name: self.cell(kind, depth) for kind, name in part.fields}
            if part.flags & _WRITES:
                made.written[part.name] = self.until_end(depth)
        return made

    def array(self, depth: int) -> JavaArray:
        made = JavaArray(self.described(depth))
        self.handles.append(made)
        many, kind = self.number(">i"), made.kind.name[1:]
        if not made.kind.name.startswith("[") or not 0 <= many <= len(self.data) - self.place:
            raise IndexError
        made.items.extend(self.cell(kind, depth) for _ in range(many))
        return made

    def cell(self, kind: str, depth: int) -> Any:
        return self.number(_PRIMITIVES[kind]) if kind in _PRIMITIVES else self.value(depth + 1)

    def until_end(self, depth: int) -> list[Any]:
        found: list[Any] = []
        while (mark := self.data[self.place]) != _END:
            if mark in (_BLOCK, _LONG_BLOCK):
                self.place += 1
                found.append(self.take(self.number(">B" if mark == _BLOCK else ">I")))
            else:
                found.append(self.value(depth + 1))
        self.place += 1
        return found

    def described(self, depth: int) -> JavaClass:
        found = self.description(depth)
        if found is None:
            raise UnsupportedFormat("the stream of Java objects holds an object without a class")
        return found

    def description(self, depth: int) -> JavaClass | None:
        if depth > _DEEPEST:
            raise UnsupportedFormat(f"the stream of Java objects goes deeper than {_DEEPEST} classes")
        mark = self.number(">B")
        if mark == _NULL:
            return None
        if mark == _REFERENCE:
            known = self.handles[self._handle()]
            if not isinstance(known, JavaClass):
                raise UnsupportedFormat("the stream of Java objects names something as a class that is none")
            return known
        if mark != _CLASS:
            raise UnsupportedFormat(f"the stream of Java objects uses a class that is not known here (mark {mark:#x})")
        name, uid, place = self.text(), self.number(">q"), self._reserve()
        flags, many = self.number(">B"), self.number(">H")
        fields = tuple(self.field(depth) for _ in range(many))
        self.until_end(depth)
        self.handles[place] = JavaClass(name, uid, fields, self.description(depth + 1), flags)
        made: JavaClass = self.handles[place]
        return made

    def field(self, depth: int) -> tuple[str, str]:
        kind, name = chr(self.number(">B")), self.text()
        if kind in _PRIMITIVES:
            return kind, name
        return self.word(depth), name

    def word(self, depth: int) -> str:
        found = self.value(depth + 1)
        if not isinstance(found, str):
            raise UnsupportedFormat("the stream of Java objects has something else where a name should be")
        return found

    def _reserve(self) -> int:
        self.handles.append(None)
        return len(self.handles) - 1

    def _handle(self) -> int:
        place: int = self.number(">i") - _FIRST_HANDLE
        if not 0 <= place < len(self.handles):
            raise UnsupportedFormat("the stream of Java objects refers to what did not come before")
        return place


class _Writer:
    def __init__(self) -> None:
        self.out = bytearray()
        self.handles: dict[Any, int] = {}

    def put(self, form: str, value: Any) -> None:
        self.out += struct.pack(form, value)

    def text(self, text: str) -> bytes:
        units = text.encode("utf-16-be", "surrogatepass")
        plain = "".join(chr(u) for (u,) in struct.iter_unpack(">H", units)).encode("utf-8", "surrogatepass")
        return plain.replace(b"\0", b"\xc0\x80")

    def name(self, text: str) -> None:
        raw = self.text(text)
        self.put(">H", len(raw))
        self.out += raw

    def once(self, key: Any, write: Callable[[], None]) -> None:
        """A reference to what was written already, or what ``write`` writes."""
        if key in self.handles:
            self.put(">B", _REFERENCE)
            self.put(">i", _FIRST_HANDLE + self.handles[key])
        else:
            write()

    def value(self, value: Any) -> None:
        if value is None:
            self.put(">B", _NULL)
        elif isinstance(value, str):
            self.once(("text", value), lambda: self.string(value))
        elif isinstance(value, JavaEnum):
            self.once(("enum", value), lambda: self.constant(value))
        else:
            self.once(("at", id(value)), lambda: self.array(value) if isinstance(value, JavaArray) else self.object(value))

    def string(self, text: str) -> None:
        raw, self.handles["text", text] = self.text(text), len(self.handles)
        short = len(raw) < 1 << 16
        self.put(">B", _STRING if short else _LONG_STRING)
        self.put(">H" if short else ">Q", len(raw))
        self.out += raw

    def constant(self, value: JavaEnum) -> None:
        self.put(">B", _ENUM)
        self.description(value.kind)
        self.handles["enum", value] = len(self.handles)
        self.value(value.name)

    def array(self, value: JavaArray) -> None:
        self.put(">B", _ARRAY)
        self.description(value.kind)
        self.handles["at", id(value)] = len(self.handles)
        self.put(">i", len(value.items))
        for item in value.items:
            self.cell(value.kind.name[1:], item)

    def object(self, value: JavaObject) -> None:
        self.put(">B", _OBJECT)
        self.description(value.kind)
        self.handles["at", id(value)] = len(self.handles)
        for part in value.kind.line:
            for kind, name in part.fields:
                self.cell(kind, value.fields[part.name][name])
            if part.flags & _WRITES:
                for item in value.written[part.name]:
                    if isinstance(item, bytes):
                        self.put(">B", _BLOCK)
                        self.put(">B", len(item))
                        self.out += item
                    else:
                        self.value(item)
                self.put(">B", _END)

    def cell(self, kind: str, value: Any) -> None:
        if kind in _PRIMITIVES:
            self.put(_PRIMITIVES[kind], value)
        else:
            self.value(value)

    def description(self, kind: JavaClass | None) -> None:
        if kind is None:
            self.put(">B", _NULL)
        else:
            self.once(("class", kind), lambda: self.describe(kind))

    def describe(self, kind: JavaClass) -> None:
        self.put(">B", _CLASS)
        self.name(kind.name)
        self.put(">q", kind.uid)
        self.handles["class", kind] = len(self.handles)
        self.put(">B", kind.flags)
        self.put(">H", len(kind.fields))
        for of, name in kind.fields:
            self.put(">B", ord(of[0]))
            self.name(name)
            if of not in _PRIMITIVES:
                self.value(of)
        self.put(">B", _END)
        self.description(kind.parent)
