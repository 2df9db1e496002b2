"""From the fields of a form to a closed question, and from a question to the lines of Python that ask the same."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl

from discreet.service.calls import Refused

FILTERS = 2  # filters by labels that a form has room for
ROWS = 5  # statistics that the form of several has room for
_PRICE = ("epsilon", "delta", "rho")
Form = Mapping[str, Sequence[str]]


def read(body: bytes) -> dict[str, list[str]]:
    """The fields of a form, each with all its values; empty ones are not given."""
    try:
        pairs = parse_qsl(body.decode("ascii"), keep_blank_values=False, strict_parsing=bool(body), max_num_fields=1000,
                          errors="strict")  # fmt: skip
    except ValueError:
        raise Refused(422, "a form cannot be read", remedy="fill it in again") from None
    form: dict[str, list[str]] = {}
    for name, value in pairs:
        form.setdefault(name, []).append(value.strip())
    return form


def one(form: Form, name: str) -> str:
    """The first value of a field; empty where there is none."""
    return next(iter(form.get(name, ())), "")


def statistic(table: str, spec: Mapping[str, Any], form: Form) -> dict[str, Any]:
    """The question that the form of a statistic asks."""
    columns: list[str] = []
    for each in spec["columns"]:
        columns += [value for value in form.get(f"column-{each['name']}", ()) if value]
    asked: dict[str, Any] = {"statistic": spec["name"], "columns": columns}
    if by := [value for value in form.get("by", ()) if value]:
        asked["by"] = by[0] if len(by) == 1 else by
    if one(form, "of") and spec["of"] is not None and one(form, "of") != spec["of"]:
        asked["of"] = one(form, "of")
    options = _options(spec["options"], form)
    if options:
        asked["options"] = options
    return {"table": table, "ask": [asked | _rows(form) | _spent(form)]}


def model(table: str, spec: Mapping[str, Any], form: Form) -> dict[str, Any]:
    """The question that the form of a model asks."""
    return {"table": table, "fit": _of_columns(spec, form) | _options(spec["options"], form) | _rows(form) | _spent(form)}


def tuning(table: str, spec: Mapping[str, Any], form: Form) -> dict[str, Any]:
    """The question for the best of several models of a kind: a candidate a line, as ``ridge = 1, intervals = true``."""
    lines = [line for line in one(form, "candidates").splitlines() if line.strip()]
    asked = _of_columns(spec, form) | {"candidates": [_parameters(line) for line in lines]}
    return {"table": table, "tune": asked | _rows(form) | _spent(form)}


def together(table: str, spec: Mapping[str, Any], form: Form) -> dict[str, Any]:
    """The question for several statistics at one price."""
    questions = []
    for number in range(1, ROWS + 1):
        chosen, column = one(form, f"statistic-{number}"), one(form, f"column-{number}")
        questions += [[chosen, column] if column else [chosen]] if chosen else []
    return {"table": table, "together": {"questions": questions} | _rows(form) | _spent(form)}


def synthetic(table: str, spec: Mapping[str, Any], form: Form) -> dict[str, Any]:
    """The question for synthetic tables."""
    columns = {"columns": list(form["columns"])} if form.get("columns") else {}
    sizes = {word: _value(one(form, word)) for word in ("rows", "tables") if one(form, word)}
    named = {name.removeprefix("bins-"): _value(one(form, name)) for name in form if name.startswith("bins-")}
    bins = {name: many for name, many in named.items() if name in form.get("columns", named)}
    return {"table": table, "synthesize": columns | sizes | ({"bins": bins} if bins else {}) | _rows(form) | _spent(form)}


def score(table: str, about: Mapping[str, Any], form: Form) -> dict[str, Any]:
    """The question for the score of a model, of which ``about`` has the design and the coefficients."""
    return {"table": table, "score": dict(about) | _spent(form)}


MAKERS = {"ask": statistic, "fit": model, "tune": tuning, "together": together, "synthesize": synthetic}


def _of_columns(spec: Mapping[str, Any], form: Form) -> dict[str, Any]:
    named = {"kind": spec["name"], "features": list(form.get("features", ()))}
    return named | {word: one(form, word) for word in ("target", "weight", "propensity") if one(form, word)}


def _parameters(line: str) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for each in line.split(","):
        name, equals, value = (word.strip() for word in each.partition("="))
        if not equals or not name:
            raise Refused(422, f"a candidate is written as name = value, got {line[:100]!r}", remedy="one candidate a line")
        made[name] = {"true": True, "false": False}.get(value.lower(), _value(value))
    return made


def _options(specs: Sequence[Mapping[str, Any]], form: Form) -> dict[str, Any]:
    """The options that differ from their defaults."""
    given: dict[str, Any] = {}
    for spec in specs:
        text = one(form, f"option-{spec['name']}")
        value: Any = bool(text) if spec["kind"] == "truth" else _value(text)
        if value not in ("", None, spec["default"]) and str(value) != str(spec["default"]):
            given[spec["name"]] = value
    return given


def _value(text: str) -> Any:
    """A number, several numbers or labels with commas between them, or a text."""
    if "," in text:
        return [_value(part.strip()) for part in text.split(",") if part.strip()]
    try:
        return int(text)
    except ValueError:
        try:
            return float(text)
        except ValueError:
            return text


def _rows(form: Form) -> dict[str, Any]:
    condition = one(form, "condition")
    labels: dict[str, Any] = {}
    for number in range(1, FILTERS + 1):
        column = one(form, f"where-{number}")
        if column:
            values = [part.strip() for part in one(form, f"labels-{number}").split(",") if part.strip()]
            labels[column] = values[0] if len(values) == 1 else values
    if condition and labels:
        raise Refused(422, "the rows are chosen by labels or by a condition, not by both", remedy="leave one of them empty")
    return {"where": condition or labels} if condition or labels else {}


def _spent(form: Form) -> dict[str, str]:
    return {word: one(form, word) for word in _PRICE if one(form, word)}


def python(url: str, question: Mapping[str, Any]) -> list[str]:
    """The lines of Python that ask the same."""
    lines = ["import discreet as ds", f"session = ds.connect({url!r}, table={question['table']!r})"]
    for asked in question.get("ask", ()):
        rest = {key: value for key, value in asked.items() if key not in ("statistic", "columns", "options", "title")}
        words = [*asked.get("columns", ())], rest | asked.get("options", {})
        lines.append(f"session.ask({_call([asked['statistic'], *words[0]], words[1])})")
    for kind in ("fit", "tune", "score", "together", "synthesize"):
        if kind in question:
            lines.append(_whole(kind, question[kind]))
    return lines


def _whole(kind: str, asked: Mapping[str, Any]) -> str:
    about = {key: asked[key] for key in ("features", "target", "weight", "where") if key in asked}
    rest = {
        key: value
        for key, value in asked.items()
        if key not in (*about, "kind", "candidates", "questions", "design", "theta")
    }
    match kind:
        case "fit":
            return f"session.fit({_model(asked['kind'], rest)}, {_call([], about)})"
        case "tune":
            tried = ", ".join(_model(asked["kind"], each) for each in asked["candidates"])
            return f"session.tune([{tried}], {_call([], about | rest)})"
        case "together":
            return f"session.together({[tuple(each) for each in asked['questions']]!r}, {_call([], about | rest)})"
        case "synthesize":
            return f"session.synthesize({_call([], about | rest)})"
    return f"session.score(model, {_call([], about | rest)})  # the model that session.fit gave"


def _model(kind: str, parameters: Mapping[str, Any]) -> str:
    from discreet.jobs.fit_file import KINDS

    return f"ds.models.{KINDS[kind]}({_call([], parameters)})"


def _call(positional: Sequence[Any], named: Mapping[str, Any]) -> str:
    return ", ".join([*map(repr, positional), *(f"{key}={value!r}" for key, value in named.items())])


def text(question: Mapping[str, Any]) -> str:
    """A question as it is sent."""
    return json.dumps(question, ensure_ascii=False)
