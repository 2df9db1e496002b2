"""The routes for programs, described as OpenAPI has it: for those who write clients, and for those who test this one."""

from __future__ import annotations

from typing import Any

_NUMBER: dict[str, Any] = {"oneOf": [{"type": "number"}, {"type": "string", "maxLength": 200}]}
_WHERE: dict[str, Any] = {"oneOf": [{"type": "object"}, {"type": "string", "maxLength": 500}]}
_PRICE: dict[str, Any] = {"epsilon": _NUMBER, "delta": _NUMBER, "rho": _NUMBER}
_NAMES: dict[str, Any] = {"type": "array", "items": {"type": "string", "maxLength": 500}}
_ASK: dict[str, Any] = {
    "type": "object",
    "required": ["statistic"],
    "properties": {
        "statistic": {"type": "string"},
        "columns": {"oneOf": [{"type": "string"}, _NAMES]},
        "by": {"oneOf": [{"type": "string"}, _NAMES]},
        "where": _WHERE,
        "of": {"enum": ["table", "population"]},
        "options": {"type": "object"},
        "title": {"type": "string"},
        "mechanism": {"enum": ["laplace", "gaussian"]},
        "calibration": {"enum": ["analytic", "classical", "probabilistic"]},
        **_PRICE,
    },
}
_MODEL: dict[str, Any] = {
    "type": "object",
    "required": ["kind", "features"],
    "properties": {"kind": {"type": "string"}, "features": _NAMES, "target": {"type": "string"}, "where": _WHERE, **_PRICE},
}
_KINDS: dict[str, Any] = {
    "ask": {"type": "array", "items": _ASK, "minItems": 1, "maxItems": 20},
    "together": {
        "type": "object",
        "required": ["questions"],
        "properties": {"questions": {"type": "array", "items": _NAMES}, "where": _WHERE, **_PRICE},
    },
    "fit": _MODEL,
    "tune": _MODEL | {"required": ["kind", "features", "target", "candidates"]},
    "score": {"type": "object", "required": ["design", "theta"]},
    "synthesize": {
        "type": "object",
        "properties": {
            "columns": _NAMES,
            "rows": {"type": "integer"},
            "tables": {"type": "integer"},
            "bins": {"type": "object"},
            "impossible": _NAMES,
            "where": _WHERE,
            **_PRICE,
        },
    },
}
_QUESTION: dict[str, Any] = {
    "oneOf": [
        {
            "type": "object",
            "required": ["table", word],
            "additionalProperties": False,
            "properties": {"table": {"type": "string"}, word: schema},
        }
        for word, schema in _KINDS.items()
    ]
}
_ERROR = {"description": "refused, with the rule, the word that broke it and a remedy"}
_FLAG: dict[str, Any] = {"schema": {"enum": ["1"]}, "in": "query", "required": False}


def _route(summary: str, done: str = "200", *, open_to_all: bool = False, more: tuple[str, ...] = ()) -> dict[str, Any]:
    codes = [*(() if open_to_all else ("401",)), "413", "422", "503", *more]
    replies = {done: {"description": "done", "content": {"application/json": {"schema": {"type": "object"}}}}}
    security: list[dict[str, list[str]]] = [] if open_to_all else [{"token": []}]
    return {"summary": summary, "security": security, "responses": replies | dict.fromkeys(codes, _ERROR)}


def description() -> dict[str, Any]:
    """The document."""
    posted = _route("Send a question, or have it priced or rehearsed", "202", more=("404", "415", "429"))
    posted["responses"]["200"] = {"description": "the price, or the rehearsal"}
    posted |= {
        "requestBody": {"required": True, "content": {"application/json": {"schema": _QUESTION}}},
        "parameters": [
            _FLAG | {"name": "preview"},
            _FLAG | {"name": "rehearse"},
            {"name": "Idempotency-Key", "in": "header", "required": False, "schema": {"type": "string", "maxLength": 100}},
        ],
    }
    reference = {"name": "ref", "in": "path", "required": True, "schema": {"type": "string", "pattern": "^[0-9a-f]{32}$"}}
    one = _route("One request of yours, and its answer", more=("404",)) | {
        "parameters": [reference, _FLAG | {"name": "wait"}]
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "Questions to a table", "version": "1"},
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "paths": {
            "/v1/requests": {"get": _route("Your requests"), "post": posted},
            "/v1/requests/{ref}": {"get": one},
            "/v1/tables": {"get": _route("The tables that are open to you")},
            "/v1/left": {"get": _route("What is left of your grants")},
            "/v1/catalogue": {"get": _route("Answers that the custodian published")},
            "/v1/limits": {"get": _route("What a question may weigh", open_to_all=True)},
            "/v1/key": {"get": _route("The key of the desk's signature", open_to_all=True)},
            "/health": {"get": _route("That the front is there", open_to_all=True)},
        },
    }
