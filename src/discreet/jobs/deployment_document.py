"""The document in which a public registry of deployments describes one: its names, its schema, and how it is written.

``NAMES`` is the one table of the registry's names. They were changed once and may be again: a renaming is one line here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from discreet.errors import UnsupportedFormat

NAMES = {
    "variant": "dp_variant",  # was dp_flavor
    "loss": "privacy_loss",
    "details": "details",  # was description, at the end of a name
    "more": "additional_dp_information",
    "tuning": "pre_processing_eda_hyperparameter_tuning",
}


@dataclass(frozen=True)
class RegistryField:
    """One entry of the document: what it holds, and the words it may hold where they are a closed list."""

    kind: tuple[type, ...] = (str,)
    among: tuple[str, ...] = ()
    pattern: str = r"(?s).*\S.*"
    required: bool = True


_TEXT = RegistryField()
_NUMBER = RegistryField((int, float), required=False)
_N = NAMES
Schema = Mapping[str, "RegistryField | Schema"]
SCHEMA: Schema = {
    "approved": RegistryField((bool,)),
    "registry_author": _TEXT,
    "deployment": {
        "short_name": _TEXT,
        "data_curator": _TEXT,
        "intended_use": _TEXT,
        "data_product_type": _TEXT,
        "data_product_description": _TEXT,
        "publication_date": RegistryField(pattern=r"\d{4}-\d{2}-\d{2}"),
        "additional_information_url": RegistryField(pattern=r"https?://\S+", required=False),
        _N["variant"]: {
            "name": RegistryField(among=("Pure DP", "Approximate DP", "Zero Concentrated DP")),
            "data_domain": _TEXT,
            "unprotected_quantities": _TEXT,
        },
        _N["loss"]: {
            "privacy_unit": _TEXT,
            f"privacy_unit_{_N['details']}": _TEXT,
            "privacy_parameters": {"epsilon": _NUMBER, "rho": _NUMBER, "delta": _NUMBER},
            f"privacy_parameters_{_N['details']}": _TEXT,
        },
        "model": {
            "model_type": RegistryField(among=("Local", "Central", "Shuffle", "Federated")),
            f"model_type_{_N['details']}": _TEXT,
            "actors": _TEXT,
            "release_type": RegistryField(among=("One-shot", "Continual")),
            f"release_type_{_N['details']}": _TEXT,
            "interactivity": RegistryField(among=("Interactive", "Non-interactive")),
            f"interactivity_{_N['details']}": _TEXT,
        },
        _N["more"]: {"post_processing": _TEXT, "composition": _TEXT},
        "implementation": {_N["tuning"]: _TEXT, "mechanisms": _TEXT, "justification": _TEXT},
    },
}


def check(document: Any, schema: Schema = SCHEMA, path: str = "the document") -> None:
    """Refuse a document that is not as the registry wants it; the message says where."""
    if not isinstance(document, Mapping):
        raise UnsupportedFormat(f"{path} must be a mapping, got {document!r}")
    unknown = [key for key in document if key not in schema]
    if unknown:
        raise UnsupportedFormat(f"{path} must not have {unknown[0]!r}; known: {', '.join(schema)}")
    for key, rule in schema.items():
        here = f"{path}, {key}"
        if not isinstance(rule, RegistryField):
            check(document.get(key), rule, here)
        elif key in document:
            _check_value(document[key], rule, here)
        elif rule.required:
            raise UnsupportedFormat(f"{here} must be there, and is missing")


def _check_value(value: Any, rule: RegistryField, here: str) -> None:
    if not isinstance(value, rule.kind) or (isinstance(value, bool) and bool not in rule.kind):
        raise UnsupportedFormat(f"{here} must be {' or '.join(k.__name__ for k in rule.kind)}, got {value!r}")
    if isinstance(value, str) and rule.among and value not in rule.among:
        raise UnsupportedFormat(f"{here} must be one of {', '.join(rule.among)}, got {value!r}")
    if isinstance(value, str) and not re.fullmatch(rule.pattern, value):
        raise UnsupportedFormat(f"{here} is not in the form that the registry wants, got {value!r}")


def to_yaml(document: Mapping[str, Any]) -> str:
    """The document as YAML: one entry a line, texts in double quotes, which YAML and JSON write alike."""
    return "\n".join(_lines(document, "")) + "\n"


def _lines(document: Mapping[str, Any], indent: str) -> Iterator[str]:
    for key, value in document.items():
        if isinstance(value, Mapping):
            yield f"{indent}{key}:"
            yield from _lines(value, indent + "  ")
        else:
            text = json.dumps(value, ensure_ascii=False)
            if isinstance(value, float):
                text = re.sub(r"^(\d+)e", r"\1.0e", text)  # without a point, older readers take 1e-06 for a word
            yield f"{indent}{key}: {text}"
