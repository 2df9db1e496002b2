"""Made-up notes that are hard to read: names after titles, initials and possessives, and much that is written large or in
digits and identifies nobody.

The words were chosen after those of the scanner; a phrase of words that it does not know counts as a false alarm.
"""

from __future__ import annotations

import calendar

import numpy as np

FIRST = [
    "Temperance", "Giorgos", "Hyun-woo", "Ottilie", "Bartholomew", "Siobhan", "Yaw", "Leocadia", "Hamza", "Thandiwe",
    "Ruaridh", "Ingeborg", "Aleksander", "Noor",
]  # fmt: skip
LAST = [
    "D'Angelo", "Oyelaran", "Featherstone", "Kovalenko", "Winterbourne", "Tanaka", "Sørensen", "MacGregor", "Papadakis",
    "Eszterházy", "Delacroix", "Whitcombe",
]  # fmt: skip
NUMBERS = [
    "SpO2 97 % on air", "eats 3-4 meals", "potassium 4.1, sodium 139", "pain 6/10 on stairs", "BMI 24.9", "FEV1 2.9",
    "takes 75 mcg at dawn", "bed 14 by the window", "slept 5.5 hours", "steps 8500 a day", "PEFR 410 l/min",
    "grew 2 cm since spring", "urine clear", "wound 3 x 4 cm", "ROM 0-110 degrees", "sample 4471 sent",
    "batch AB12345 used",
]  # fmt: skip
LARGE = [
    "Glasgow Coma Scale 15", "Body Mass Index was high", "Hepatitis B is excluded", "Lives in South Wales",
    "speaks Welsh only", "Left Hip replaced", "Bank Holiday clinic", "Vitamin C and zinc", "Lumbar Puncture done",
    "Christmas dinner upset her", "Occupational Therapy asked", "Covid vaccine refused", "Urinary Tract Infection again",
    "Liver Function Tests fine", "Bell palsy on the right", "Meals on Wheels arranged",
]  # fmt: skip


def hard_note(rng: np.random.Generator) -> tuple[str, list[tuple[str, str]]]:
    """A note of five sentences and what identifies a person in it, by kind."""

    def some(words: list[str]) -> str:
        return words[int(rng.integers(len(words)))]

    def digits(many: int) -> str:
        return "".join(map(str, rng.integers(1, 9, many)))

    first, last = some(FIRST), some(LAST)
    whole = f"{first} {last}"
    y, m, d = int(rng.integers(1931, 2024)), int(rng.integers(1, 13)), int(rng.integers(1, 29))
    month = calendar.month_name[m]
    forms = {
        "name": [
            ("{} walked in without a stick", whole), ("kind regards, {}", whole), ("copied to Dr {}", f"{first[0]}. {last}"),
            ("Ms. {} refused the needle", last), ("we rang {} twice", whole), ("carer is {} from next door", whole),
            ("brought by his neighbour {}", whole), ("{}'s wound is dry", whole), ("attn: {}", whole),
            ("the twins of {} are well", whole),
        ],
        "date": [
            ("fell {}", f"{d}/{m}/{y}"), ("seen again {}", f"{month} {d} {y}"), ("cast off {}", f"{d} {month} {y}"),
            ("DOB {}", f"{y}-{m:02}-{d:02}"), ("home by {}", f"{d}.{m}.{y % 100:02}"),
            ("x-rayed {}", f"{month[:3]} {d}, {y}"),
        ],
        "telephone number": [
            ("phone: {}", f"0{digits(2)} {digits(4)} {digits(4)}"), ("fax {}", f"{digits(3)}-{digits(3)}-{digits(4)}"),
            ("text her on {}", f"07{digits(3)} {digits(6)}"), ("pager {}", f"{digits(3)}-{digits(4)}"),
            ("abroad: {}", f"+{digits(2)} {digits(1)} {digits(4)} {digits(4)}"),
            ("or {} at work", f"1-{digits(3)}-{digits(3)}-{digits(4)}"),
        ],
        "e-mail": [
            ("mail {}", f"{first.lower()}@{last.lower().replace(chr(39), '')}.net"),
            ("results to {}", f"{digits(3)}.{first.lower()}@uni-{digits(1)}.ac.jp"),
        ],
        "social security number": [
            ("number on file {}", f"{some(['2', '5'])}{digits(2)}-{digits(2)}-{digits(4)}"),
            ("social {}", f"{some(['3', '7'])}{digits(2)} {digits(2)} {digits(4)}"),
        ],
        "postal code": [
            ("flat at {}", "EH8 9YL"), ("farm near Bozeman, MT {}", f"5{digits(4)}"), ("cottage, {}", "K1A 0B1"),
            ("zip {}", digits(5)),
        ],
    }  # fmt: skip
    pool = [(kind, *ways[int(rng.integers(len(ways)))]) for kind, ways in forms.items()]
    pool += [("", some(words), "") for words in (NUMBERS, NUMBERS, LARGE, LARGE)]
    chosen = [pool[place] for place in rng.permutation(len(pool))[:5]]
    said, expected = [], []
    for kind, form, value in chosen:
        sentence = form.replace("{}", value)
        large = rng.random() < 0.5
        said.append(sentence[:1].upper() + sentence[1:] if large else sentence)
        if kind:
            expected.append((kind, value[:1].upper() + value[1:] if large and form.startswith("{}") else value))
    return ". ".join(said) + ".", expected
