"""The table of what a document can name: complete, and enough to read every document in a fresh process."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import discreet as ds
from discreet.audit import exams, local_claims
from discreet.core.ask import Ask
from discreet.manifest import HOMES
from discreet.statistics.question import Table, build
from tests.descriptive.test_statistics import EVERY, schema
from tests.mechanisms.examples import EXAMPLES

PACKAGE = Path(ds.__file__).parent
REGISTRIES = {
    "mechanism": "discreet.core.mechanism:mechanisms:read",
    "query": "discreet.core.query:queries:read",
    "reading": "discreet.core.result:readings:read",
    "local mechanism": "discreet.local.law:local_mechanisms:read",
}
# Asked of people with several rows, of labels nobody declared, and of a function of somebody's own.
ELSEWHERE = {"count_of_tests", "people_by_key", "person_cells", "person_gradients"}

# The answers come first: what they name is loaded for them, and nothing else is.
READER = """
import importlib, json, sys
for where, doc in json.load(sys.stdin):
    module, name, reader = where.split(":")
    read = getattr(getattr(importlib.import_module(module), name), reader)
    assert json.loads(json.dumps(read(json.dumps(doc) if reader == 'from_json' else doc).to_dict())) == doc, doc
"""


def test_every_registration_in_the_source_is_in_the_table() -> None:
    texts = {".".join(path.relative_to(PACKAGE).with_suffix("").parts): path.read_text() for path in PACKAGE.rglob("*.py")}
    kinds = {"statistic": "statistic", "register": "predictor"}
    for text in texts.values():
        kinds |= dict(re.findall(r'^(\w+): Registry\[\w+\] = Registry\("([^"]+)"\)', text, re.MULTILINE))
    found: dict[str, dict[str, str]] = {kind: {} for kind in kinds.values()}
    for module, text in texts.items():
        for maker, word in re.findall(r'^@(\w+)\("([^"]+)"\)', text, re.MULTILINE):
            if maker in kinds:
                found[kinds[maker]][word] = module
    assert found == HOMES


def documents() -> list[tuple[str, dict[str, Any]]]:
    """A document of every law and query that an example or an audit has, of many readings, and of answers together."""
    named: list[tuple[str, Any]] = [("mechanism", e.law) for e in EXAMPLES]
    named += [("local mechanism", law) for law, _, _ in local_claims.LOCAL]
    named += [("query", a.query) for exam in exams.EXAMS for a in exam.requests if isinstance(a, Ask) and a.query.described]
    for relation in ("add_remove", "replace"):
        for name, args, kwargs in EVERY:
            asked = build(name, Table(schema(relation), 60 if relation == "replace" else None), *args, **kwargs)
            named += [("query", asked.query), ("reading", asked.reading)]
    each = {(kind, made.name): (REGISTRIES[kind], made.to_dict()) for kind, made in named}
    assert {word for kind, word in each if kind == "query"} | {"bundle"} | ELSEWHERE == set(HOMES["query"])
    answers = ds.together([0.5], ["mean", "variance"], bounds=(0, 1), epsilon=1, seed=1)
    return [*(("discreet.core.result:Result:from_json", answer.to_dict()) for answer in answers), *each.values()]


def test_every_document_is_read_in_a_fresh_process() -> None:
    """Sent through a pipe to a process that has loaded nothing of the package."""
    sent = json.dumps(documents())
    done = subprocess.run([sys.executable, "-c", READER], check=False, input=sent, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
