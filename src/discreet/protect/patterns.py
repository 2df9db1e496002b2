"""What identifies a person in a text: patterns of e-mail, social security and telephone numbers, dates, codes and names.

A pattern knows forms, not people: there is no list of names here. A name is found by its form, capitalised words in a row
that do not open a sentence, or after a title or a word such as "named".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

_MONTHS = "january|february|march|april|may|june|july|august|september|october|november|december"
_SHORT = "jan|feb|mar|apr|jun|jul|aug|sep|sept|oct|nov|dec"
_MONTH = rf"(?:{_MONTHS}|{_SHORT})\.?"
_LETTERS = r"(?:[^\W\d_]|['’](?!s\b))+"  # "O'Hara", and not the end of "Hara's"
_WORD = rf"[A-ZÀ-ÖØ-ÞŁŚŽŠČ]{_LETTERS}(?:-{_LETTERS})?(?!\w)"
_TITLE = r"(?:Mr|Mrs|Ms|Miss|Dr|Prof|Sir|Herr|Frau|Mme|Sra|Sr)\.?"
# Words that are written large and are nobody's name: days, months, what institutions and units are called, and the
# headings of a record.
_WRITTEN_LARGE = set(
    """
    monday tuesday wednesday thursday friday saturday sunday the a an this that he she they we it i no yes in on at by for
    from with and or but if when after before hospital clinic infirmary hospice pharmacy surgery center centre institute
    institution college school academy university church bank company society association foundation service services
    department division ward unit street avenue road lane square park bridge station airport room building floor house
    office lab laboratory city county state district region country republic kingdom union north south east west northern
    southern eastern western central new old saint mount lake river royal national international federal regional local
    general public private emergency red cross blue shield medical medicine medication medications health care nursing
    patient doctor nurse physician surgeon consultant therapist therapy blood heart type stage grade class group level phase
    pressure rate count score index scale test tests result results report summary review assessment examination diagnosis
    treatment procedure plan problem problems history family social past present current previous known unknown allergy
    allergies symptoms signs disease disorder syndrome condition intensive acute chronic primary secondary tertiary physical
    mental clinical surgical mri ct ecg eeg bp hiv dna usa uk english french german spanish italian
    """.split()  # noqa: SIM905
)
# What ends so is a noun of a field or an adjective, and hardly anybody's name.
_ENDINGS = (
    "tion", "sion", "ology", "itis", "osis", "emia", "therapy", "ectomy", "scopy", "graphy", "ical", "iatric", "ness", "ism",
)  # fmt: skip
_LARGE = {
    "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", "hospital", "clinic", "center",
    "centre", "department", "ward", "unit", "street", "avenue", "road", "university", "general", "emergency", "mri", "ct",
    "ecg", "bp", "hiv", "dna", "usa", "uk", "the", "a", "an", "this", "that", "he", "she", "they", "we", "it", "i", "no",
    "yes", "in", "on", "at", "by", "for", "from", "with", "and", "or", "but", "if", "when", "after", "before", "patient",
    "doctor", "nurse", "blood", "heart", "type", "stage", "north", "south", "east", "west", "new", "saint", "mount",
    "room", "building", "floor", "house", "office", "lab", "laboratory", "red", "cross", "city", "county", "state",
    "medical", "health", "care",
}  # fmt: skip
_LARGE = _WRITTEN_LARGE | set(f"{_MONTHS}|{_SHORT}".split("|"))

EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
SOCIAL = re.compile(r"(?<![\w-])(?!000|666|9\d\d)\d{3}([- ])(?!00)\d{2}\1(?!0000)\d{4}(?![\w-])")
DATE = re.compile(
    rf"(?<![\w/.-])(?:\d{{4}}-\d{{1,2}}-\d{{1,2}}|\d{{1,2}}[./-]\d{{1,2}}[./-](?:\d{{4}}|\d{{2}})|"
    rf"\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {_MONTH},? \d{{4}}|{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?,? \d{{4}})(?![\w/])",
    re.IGNORECASE,
)
TELEPHONE = re.compile(
    r"(?<![\w.+-])(?:\+\d{1,3}[ .-]?(?:\d[ .-])?|1[ .-])?(?:\(\d{1,5}\)[ .-]?)?\d{2,5}(?:[ ./-]\d{2,7}){1,4}(?![\w-]|\.\d)"
)
CODE = re.compile(
    r"(?<![\w-])(?:[A-Z]{1,2}\d[A-Z\d]? \d[A-Z]{2}|[A-Z]\d[A-Z] ?\d[A-Z]\d|(?<=[A-Z]{2} )\d{5}(?:-\d{4})?|"
    r"\d{5}(?= [A-ZÀ-Þ][a-zà-ÿ]{2,})|(?:(?<=[Zz]ip )|(?<=ZIP )|(?<=PLZ )|(?<=code ))\d{4,5}(?:-\d{4})?)(?![\w-])"
)
NAMED = re.compile(
    rf"(?:(?<=\b){_TITLE} |(?:named|called|name is|name:|signed by|contact|spouse|wife|husband) )"
    rf"((?:[A-Z]\. ?){{0,2}}(?:{_WORD}\s?){{1,3}})"
)
NAMES = re.compile(rf"{_WORD}(?: (?:van|von|de|der|la|di|da|al|bin|[A-Z]\.))?(?: {_WORD}){{1,2}}")


@dataclass(frozen=True)
class Match:
    """A kind of identifier and where it stands in a text."""

    kind: str
    start: int
    stop: int


def find(text: str) -> list[Match]:
    """Everything in a text that looks like an identifier, in order; no two overlap."""
    found: list[Match] = []
    left = text
    for kind, places in _PATTERNS:
        for start, stop in list(places(left)):
            found.append(Match(kind, start, stop))
            left = left[:start] + "\0" * (stop - start) + left[stop:]
    return sorted(found, key=lambda match: match.start)


Places = Callable[[str], Iterator[tuple[int, int]]]


def _of(pattern: re.Pattern[str]) -> Places:
    return lambda text: (match.span() for match in pattern.finditer(text))


def _telephones(text: str) -> Iterator[tuple[int, int]]:
    for match in TELEPHONE.finditer(text):
        if 7 <= sum(letter.isdigit() for letter in match.group()) <= 15:
            yield match.span()


def _names(text: str) -> Iterator[tuple[int, int]]:
    """Capitalised words after a title, or two and three of them in a row, without words that are written large anyway."""
    taken: list[tuple[int, int]] = []
    for match in NAMED.finditer(text):
        start, stop = match.span(1)
        words = match.group(1).split()
        if words and not _common(words[0]):
            taken.append((start, start + len(match.group(1).rstrip())))
    for match in NAMES.finditer(text):
        start, stop = match.span()
        if any(start < end and begin < stop for begin, end in taken):
            continue
        words = match.group().split()
        if _opens(text, start) and len(words) == 2 and words[0].lower() in _OPENERS:
            continue
        while words and (_common(words[0]) or words[0].lower() in _OPENERS):
            start += len(words.pop(0)) + 1
        if len(words) >= 2 and not any(_common(word) for word in words if not word.endswith(".")):
            taken.append((start, stop))
    yield from sorted(taken)


# Words that open a sentence before a word that is written large.
_OPENERS = set(
    """
    dear hello today yesterday please seen reviewed called saw met spoke admitted discharged referred told asked reports
    reported denies denied follow plan history mother father brother sister daughter son his her their our my your note took
    takes taken gave given has had was is uses used started stopped began continues needs wants wanted says said feels felt
    came went sent got wrote reads speaks lives lived works worked moved visited born allergic due likes prefers awaiting
    """.split()  # noqa: SIM905
)


def _common(word: str) -> bool:
    """Whether a word is written large and is nobody's name."""
    plain = word.lower()
    return plain in _LARGE or plain.endswith(_ENDINGS)


def _opens(text: str, start: int) -> bool:
    """Whether a place is the first of a sentence."""
    before = text[:start].rstrip()
    return not before or before[-1] in ".!?:\n"


_PATTERNS: tuple[tuple[str, Places], ...] = (
    ("e-mail", _of(EMAIL)),
    ("social security number", _of(SOCIAL)),
    ("date", _of(DATE)),
    ("postal code", _of(CODE)),
    ("telephone number", _telephones),
    ("name", _names),
)
