"""What to write in a TOML file to put a refusal right: the library's own words speak of Python."""

from __future__ import annotations

import re

_ADDED = (
    (r"bounds must be two numbers \[lo, hi\], got .*", "declare the public range, as in bounds = [0, 100]"),
    (r"values must be a list of labels, .*got .*", 'list the public labels, as in values = ["a", "b"]'),
    (r"(epsilon|rho) must be .*", r"write a number such as \1 = 0.1"),
    (r"delta must .*", "write a number such as delta = 1e-6"),
)
_NEW = re.compile(r"(a new ledger needs a budget, and there is none called .* yet[^;]*); .*")


def with_remedy(text: str) -> str:
    """A refusal and, where it had none, what to write instead."""
    text = re.sub(r"(type must be one of .*); known: .*", r'\1; write type = "real"', text)
    for pattern, remedy in _ADDED:
        found = re.search(pattern, text)
        if found and ";" not in found[0]:
            return f"{text}; {found.expand(remedy)}"
    return text


def not_this_ledger(text: str) -> str:
    """The refusal of a ledger that is not there, or is not the only one, for someone who only looks."""
    text = re.sub(r"a new ledger needs a budget, and there is none (called .*) yet([^;]*); .*", r"there is no ledger \1\2; "
                  "correct the path or --name", text)  # fmt: skip
    return text.replace("say which one pays by its name", "say which one with --name")


def no_such_ledger(text: str) -> str:
    """The refusal of a ledger that is not there, for someone who writes a release file or a name."""
    made = "write a table [budget] with epsilon = 1 in the release file"
    return _NEW.sub(rf"\1; {made}, or correct the ledger or the name", text)
