"""What an identifying text is before it becomes a pseudonym: one declared form, and no letter that only looks like another.

Two spellings of one person must give one token, and two people must not be told apart by a letter nobody can see.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, get_args

from discreet.core.labels import closest
from discreet.errors import InvalidRequest

Case = Literal["keep", "fold"]
Blanks = Literal["keep", "trim", "one", "none"]

# Letters of other scripts that print like Latin ones, the cases met in practice: for names of partners and tables.
_LOOK_ALIKES = str.maketrans(
    "аеорсухіјѕԁһԛԝАВЕКМНОРСТУХІЈЅΑΒΕΖΗΙΚΜΝΟΡΤΥΧοϲνɑɡıⅼ",
    "aeopcyxijsdhqwABEKMHOPCTYXIJSABEZHIKMNOPTYXocvagil",
)
VAULT = "discreet vault"
_MIXING = {"LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU"}
# Unicode 16, Default_Ignorable_Code_Point: shown as nothing at all. And the Braille cell without dots.
_IGNORABLE = (
    (0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x200B, 0x200F),
    (0x202A, 0x202E), (0x2060, 0x206F), (0x2800, 0x2800), (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF),
)  # fmt: skip
_UNSEEN = ("Cc", "Cf", "Co", "Cn", "Cs", "Zl", "Zp")
_BLANK_CONTROLS = "\t\n\v\f\r"


@dataclass(frozen=True)
class Field:
    """An identifying column and its canonical form.

    ``case``: "keep", or "fold" to ignore it. ``blanks``: "keep", "trim" the ends, leave "one" between words, or "none"
    at all. ``date``: the format of a date in this column, such as "%d.%m.%Y"; it becomes ISO. Then Unicode NFKC. A word
    that mixes scripts, or holds a character that cannot be seen, is refused unless ``look_alikes="allow"``.
    """

    name: str
    case: Case = "fold"
    blanks: Blanks = "one"
    date: str | None = None
    look_alikes: Literal["refuse", "allow"] = "refuse"

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise InvalidRequest(f"a field needs the name of its column, got {self.name!r}")
        choices = (("case", get_args(Case)), ("blanks", get_args(Blanks)), ("look_alikes", ("refuse", "allow")))
        for what, known in choices:
            if getattr(self, what) not in known:
                raise InvalidRequest(
                    f"{what} of field {self.name!r} must be {' or '.join(known)}, got {getattr(self, what)!r}"
                )

    @staticmethod
    def of(given: str | Field | dict[str, Any]) -> Field:
        """A field from its name, from the keys of a TOML table, or as it is."""
        if isinstance(given, Field):
            return given
        if isinstance(given, dict):
            known = list(Field.__dataclass_fields__)
            for key in given:
                if key not in known:
                    raise InvalidRequest(f"a field has no key {key!r}{closest(key, known)}")
            return Field(**given) if "name" in given else Field("")
        return Field(given)

    def canonical(self, text: str | None) -> str:
        """The one form of a cell; refuses a missing one."""
        if text and self.date is not None:
            text = self._iso(text)
        plain = text is None or text.isascii()
        if text and not plain:
            text = unicodedata.normalize("NFKC", text)
        if text and self.look_alikes == "refuse" and not (plain and text.isprintable()):
            check_letters(self._without_blanks(text), f"field {self.name!r}")
        if text and self.blanks != "keep":
            text = text.strip() if self.blanks == "trim" else self._joint.join(text.split())
        if text and self.case == "fold":
            # Folding can undo the normal form, so it is made again.
            text = text.lower() if plain else unicodedata.normalize("NFKC", text.casefold())
        if not text:
            raise InvalidRequest(f"field {self.name!r} must not be missing: a person needs an identity; complete the row")
        return text

    def _without_blanks(self, text: str) -> str:
        """The text without those tabs and line ends that the canonical form will not have."""
        if self.blanks in ("one", "none"):
            return text.translate(dict.fromkeys(map(ord, _BLANK_CONTROLS), " "))
        return text.strip(_BLANK_CONTROLS + " ") if self.blanks == "trim" else text

    @property
    def _joint(self) -> str:
        return "" if self.blanks == "none" else " "

    def _iso(self, text: str) -> str:
        try:
            return datetime.strptime(text.strip(), self.date or "").date().isoformat()
        except ValueError:
            raise InvalidRequest(f"field {self.name!r} must hold dates written as {self.date!r}; correct the row") from None


def fields(given: Sequence[str | Field | dict[str, Any]] | str | Field) -> tuple[Field, ...]:
    """Fields from names or declarations; at least one, each once."""
    made = tuple(Field.of(one) for one in ([given] if isinstance(given, str | Field | dict) else given))
    names = [field.name for field in made]
    if not made or len(set(names)) != len(names):
        raise InvalidRequest(f"an identity needs at least one field, each once, got {names}")
    return made


def check_letters(text: str, where: str) -> None:
    """Refuse characters that cannot be seen, and words whose letters come from scripts that look alike.

    The text itself is not in the message: it is somebody's name.
    """
    for letter in text:
        if unicodedata.category(letter) in _UNSEEN or any(low <= ord(letter) <= high for low, high in _IGNORABLE):
            raise InvalidRequest(
                f"{where} must hold letters that can be seen, got U+{ord(letter):04X}; remove it or pass look_alikes='allow'"
            )
    for word in text.split():
        scripts = {script for letter in word if letter.isalpha() and (script := _script(letter)) in _MIXING}
        if len(scripts) > 1:
            raise InvalidRequest(
                f"{where} must not mix {' and '.join(sorted(s.title() for s in scripts))} letters in one word: they look "
                "alike and are not; type it again in one script, or pass look_alikes='allow'"
            )


def _script(letter: str) -> str:
    return unicodedata.name(letter, "").split(" ")[0]


def public_name(text: Any, what: str) -> str:
    """The name of a partner, a data set or a table: short, visible, in one script, already in its normal form."""
    if not isinstance(text, str) or not text or len(text) > 200 or text != text.strip():
        raise InvalidRequest(f"{what} must be a name of 1 to 200 characters without blanks around it, got {text!r}")
    check_letters(text, what)
    if unicodedata.normalize("NFKC", text) != text:
        raise InvalidRequest(f"{what} must be in normal form, got {text!r}; write {unicodedata.normalize('NFKC', text)!r}")
    return text


def partner_name(text: Any) -> str:
    """The name of a partner; refuses the one that people have in the log of a vault, whose tokens nobody else may make."""
    if skeleton(public_name(text, "partner")) == VAULT:
        raise InvalidRequest(f"partner must not be {VAULT!r}: a vault's log names people by those tokens; choose another")
    return str(text)


def skeleton(name: str) -> str:
    """What a name looks like: equal for names that a person cannot tell apart."""
    return unicodedata.normalize("NFKC", name).translate(_LOOK_ALIKES).casefold()


def check_new(name: str, known: Iterable[str], what: str) -> None:
    """Refuse a name that exists already, or that looks like one that does."""
    for other in known:
        if other == name:
            raise InvalidRequest(f"{what} must be registered once, got {name!r} again; choose another name")
        if skeleton(other) == skeleton(name):
            raise InvalidRequest(f"{what} {name!r} looks like {other!r}, which is registered; choose another name")
