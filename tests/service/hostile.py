"""Rows that a hostile front might write: every type in every place, and questions bent in every way."""

from __future__ import annotations

import json
import random
from typing import Any

from .test_remote_question import REFUSED, REFUSED_BY_SCHEMA


def _bent(seed: int) -> Any:
    """A good question with some of it replaced."""
    dice = random.Random(seed)
    doc: Any = {"table": "patients", "ask": [{"statistic": "mean", "columns": ["age"], "epsilon": "0.1"}]}
    odd = [
        None,
        True,
        -1,
        10**18,
        1e-300,
        "",
        "x" * 300,
        "age",
        "sex",
        [],
        {},
        [[]],
        {"sex": "f"},
        "age > 3",
        "\u0000",
        "1e999",
    ]
    place: Any = doc if dice.random() < 0.3 else doc["ask"][0]
    place[dice.choice([*place, "where", "by", "options", "of", "mechanism", "title", "fit"])] = dice.choice(odd)
    return json.dumps(doc)


def rows(count: int, seed: int = 0) -> list[tuple[Any, Any]]:
    """Tokens and bodies."""
    dice = random.Random(seed)
    known = [*REFUSED.values(), *(v for k, v in REFUSED_BY_SCHEMA.items() if k != "steps")]
    made: list[tuple[Any, Any]] = []
    for number in range(count):
        kind = dice.randrange(6)
        body: Any = [dice.choice(known), _bent(seed + number), b"\xff\x00", 7, "", "[" * dice.randrange(3000)][kind]
        if isinstance(body, str):
            body = body.replace('"table": "t"', '"table": "patients"')
        token: Any = dice.choice([2, 2, 2, 0, -5, 10**15, "1", b"x", 1.5])
        made.append((token, body))
    return made


ROWS = rows(300)
