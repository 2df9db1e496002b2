"""The pages: sign in, look at tables, ask, rehearse, read answers. They work without JavaScript, for there is none."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from fractions import Fraction
from functools import cached_property
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader
from markupsafe import Markup
from starlette.routing import Route

from discreet.core.categories import Categories
from discreet.core.text import Text
from discreet.errors import DiscreetError
from discreet.service.calls import Call, Refused, Reply, endpoint, json_reply, padded
from discreet.service.config import Config
from discreet.service.counter import HELD, Counter, RequestView
from discreet.service.outbox import Identity, Published
from discreet.service.pages import forms
from discreet.service.visitors import Visitors

POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "referrer-policy": "same-origin",  # with no-referrer, browsers send Origin: null, and no form could be told apart
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
_ANSWER_PAGE = 1 << 16  # pictures have lengths of their own: pages with answers are padded further
_SOONEST = 1  # seconds until a waiting page looks again
_STATES = {
    "sent": "sent",
    "queued": "waiting its turn",
    "approval": "waiting for the custodian's approval",
    "scheduled": "being answered",
    "answered": "answered",
    "refused_cap": "refused: more than is left of your grant",
    "closed": "not answered: the table is closed",
    "denied": "denied by the custodian",
    "revoked": "revoked",
    "expired": "expired: nobody approved it in time",
    "withheld": "withheld: it was paid for, and only the custodian can have it answered",
}


class Pages:
    """The routes of one front."""

    def __init__(self, config: Config, counter: Counter, visitors: Visitors) -> None:
        self._config, self._counter, self._visitors = config, counter, visitors
        self._secure = config.url.startswith("https://")
        self._cookie = "__Host-discreet" if self._secure else "discreet"
        self._pages = Environment(
            loader=PackageLoader("discreet.service.pages"), autoescape=True,
            trim_blocks=True, lstrip_blocks=True,
        )  # fmt: skip
        self._pages.filters |= {"moment": _moment, "amount": _amount, "share": _share}

    def routes(self) -> list[Route]:
        """For the server."""
        both = ["GET", "POST"]
        works: list[tuple[str, Callable[[Call], Reply], list[str]]] = [
            ("/", self._front_door, ["GET"]),
            ("/sign-in", self._sign_in, ["POST"]),
            ("/sign-out", self._sign_out, ["POST"]),
            ("/style.css", self._style, ["GET"]),
            ("/tables", self._tables, ["GET"]),
            ("/tables/{table}", self._table, ["GET"]),
            ("/tables/{table}/{what}/{name}", self._ask, both),
            ("/confirm", self._confirm, ["POST"]),
            ("/send", self._send, ["POST"]),
            ("/rehearse", self._rehearse, ["POST"]),
            ("/answers", self._answers, ["GET"]),
            ("/answers/{ref}", self._answer, ["GET"]),
            ("/answers/{ref}/answer.json", self._download, ["GET"]),
            ("/answers/{ref}/score", self._score, ["POST"]),
            ("/models", self._models, ["GET"]),
            ("/queue", self._queue, ["GET"]),
            ("/catalogue", self._catalogue, ["GET"]),
        ]
        most = 2 * self._counter.limits.body
        return [Route(path, endpoint(path, work, most, self._told), methods=methods) for path, work, methods in works]

    @cached_property
    def _specs(self) -> dict[str, dict[str, dict[str, Any]]]:
        """The forms by what they are for and by name."""
        made = self._counter.statistics()
        return {
            "ask": {each["name"]: each for each in made["statistics"]},
            "fit": {each["name"]: each for each in made["models"]},
            "tune": {each["name"]: each for each in made["models"] if each["tuned"]},
            "together": {"several": made["several"]},
            "synthesize": {"tables": made["synthetic"]},
        }

    # Who is there, and whether a form is one of ours.

    def _visitor(self, call: Call) -> tuple[Identity, str]:
        """Who is signed in, and the word that forms carry."""
        session = self._counter.inbox.session(call.cookies.get(self._cookie, ""), time.time())
        who = None if session is None else self._counter.outbox.still(session.token, time.time())
        if session is None or who is None:
            raise Refused(401, "please sign in")
        self._visitors.noted(call, who)
        if call.method == "POST":
            self._check_origin(call)
            if not secrets.compare_digest(forms.one(forms.read(call.body), "csrf").encode(), session.csrf.encode()):
                raise Refused(
                    422, "this form was not made for you, or is too old", remedy="go back, load it again, and send it"
                )
        return who, session.csrf

    def _check_origin(self, call: Call) -> None:
        """Refuse a form that stands on another site."""
        if call.headers.get("origin") != self._config.url:
            raise Refused(422, "forms are sent from this service only", remedy=f"open {self._config.url} and sign in there")

    # The pages.

    def _front_door(self, call: Call) -> Reply:
        try:
            self._visitor(call)
        except Refused:
            return self._page(call, "sign_in.html.j2", None, problem=None)
        return _elsewhere("/tables")

    def _sign_in(self, call: Call) -> Reply:
        self._check_origin(call)
        who = self._visitors.of_token(forms.one(forms.read(call.body), "token"))
        if who is None:
            return self._page(
                call, "sign_in.html.j2", None, code=401, problem="This token is not known here, or no longer holds."
            )
        secret, _ = self._counter.inbox.sign_in(who.token, time.time())
        return _elsewhere("/tables", {"set-cookie": self._set_cookie(secret)})

    def _sign_out(self, call: Call) -> Reply:
        self._visitor(call)
        self._counter.inbox.sign_out(call.cookies.get(self._cookie, ""))
        return _elsewhere("/", {"set-cookie": self._set_cookie("", "; Max-Age=0")})

    def _set_cookie(self, secret: str, more: str = "") -> str:
        return f"{self._cookie}={secret}; Path=/; HttpOnly; SameSite=Strict{'; Secure' if self._secure else ''}{more}"

    def _style(self, call: Call) -> Reply:
        text = files("discreet.service.pages").joinpath("style.css").read_bytes()
        return Reply(padded(text), kind="text/css", headers=HEADERS)

    def _tables(self, call: Call) -> Reply:
        who = self._visitor(call)
        return self._page(call, "tables.html.j2", who, tables=self._counter.tables(who[0]))

    def _table(self, call: Call) -> Reply:
        who = self._visitor(call)
        table, grant = self._counter.table(who[0], call.named["table"])
        groups: dict[str, list[Any]] = {"Statistics": [], "Tests": [], "Unknown columns": []}
        for each in self._specs["ask"].values():
            groups.setdefault(each["group"], []).append(each)
        return self._page(
            call, "table.html.j2", who, table=table, grant=grant, columns=_columns(table), groups=groups,
            models=list(self._specs["fit"].values()), whole=[("together", *self._specs["together"].values()),
                                                             ("synthesize", *self._specs["synthesize"].values())],
        )  # fmt: skip

    def _ask(self, call: Call) -> Reply:
        who = self._visitor(call)
        table, grant = self._counter.table(who[0], call.named["table"])
        what, name = call.named["what"], call.named["name"]
        spec = self._specs.get(what, {}).get(name)
        if spec is None:
            raise Refused(404, "there is nothing at this address", remedy="choose a statistic from the table's page")
        form = forms.read(call.body) if call.method == "POST" else {}
        facts: dict[str, Any] = {
            "table": table, "grant": grant, "spec": spec, "what": what, "form": form, "columns": _columns(table),
            "filters": range(1, forms.FILTERS + 1), "places": range(1, forms.ROWS + 1),
        }  # fmt: skip
        if call.method != "POST":
            return self._page(call, f"{what}.html.j2", who, problem=None, **facts)
        try:
            made = forms.MAKERS[what](table.name, spec, form)
            price = self._counter.price(who[0], forms.text(made).encode())
        except (Refused, DiscreetError) as problem:
            refused = problem if isinstance(problem, Refused) else Refused.of(problem)
            return self._page(call, f"{what}.html.j2", who, code=refused.code, problem=refused, **facts)
        return self._priced(call, who, price, forms.text(made), call.path)

    def _confirm(self, call: Call) -> Reply:
        """The page before a question is asked, for one that was rehearsed."""
        who = self._visitor(call)
        question = forms.one(forms.read(call.body), "question")
        price = self._counter.price(who[0], question.encode())
        return self._priced(call, who, price, question, f"/tables/{price['table']}")

    def _priced(self, call: Call, who: tuple[Identity, str], price: Mapping[str, Any], question: str, back: str) -> Reply:
        python = forms.python(self._config.url, json.loads(question))
        key = secrets.token_urlsafe(16)
        return self._page(call, "confirm.html.j2", who, price=price, question=question, python=python, key=key, back=back)

    def _send(self, call: Call) -> Reply:
        who, _ = self._visitor(call)
        form = forms.read(call.body)
        ref = call.found["ref"] = self._counter.send(
            who, forms.one(form, "question").encode(), forms.one(form, "key") or None
        )
        return _elsewhere(f"/answers/{ref}")

    def _rehearse(self, call: Call) -> Reply:
        who = self._visitor(call)
        question = forms.one(forms.read(call.body), "question")
        made = self._counter.rehearse(who[0], question.encode())
        return self._page(call, "rehearsal.html.j2", who, parts=_drawn(made["parts"]), question=question)

    def _answers(self, call: Call) -> Reply:
        who = self._visitor(call)
        views = [(view, self._title(view)) for view in self._counter.history(who[0])]
        return self._page(call, "answers.html.j2", who, views=views, states=_STATES)

    def _models(self, call: Call) -> Reply:
        who = self._visitor(call)
        views = [(view, self._title(view)) for view in self._counter.history(who[0])]
        fits = [(view, title) for view, title in views if {"fit", "tune"} & json.loads(view.sent.body).keys()]
        return self._page(call, "models.html.j2", who, views=fits, states=_STATES)

    def _answer(self, call: Call) -> Reply:
        who = self._visitor(call)
        view = self._counter.own(who[0], call.named["ref"])
        asked = json.loads(view.sent.body)
        python = forms.python(self._config.url, asked)
        facts: dict[str, Any] = {
            "view": view,
            "title": self._title(view),
            "python": python,
            "state": _STATES[view.state],
            "asked": view.sent.body,
        }
        if view.answer is None:
            rest = 5.0 if view.due is None else max(view.due + HELD - time.time(), 0.0)
            refresh = None if view.is_final else max(_SOONEST, round(rest + 0.5))
            return self._page(call, "waiting.html.j2", who, refresh=refresh, **facts)
        parts = _drawn(self._counter.shown(who[0], view))
        model = asked.get("fit") or asked.get("tune")
        scored = model is not None and model["kind"] in self._specs["tune"]
        return self._page(call, "answer.html.j2", who, least=_ANSWER_PAGE, parts=parts, scored=scored, **facts)

    def _download(self, call: Call) -> Reply:
        who, _ = self._visitor(call)
        view = self._counter.own(who, call.named["ref"])
        if view.answer is None:
            raise Refused(404, "there is no answer yet", remedy="wait for its moment")
        name = f'attachment; filename="answer-{view.sent.ref[:8]}.json"'
        return json_reply(view.document(), headers=HEADERS | {"content-disposition": name}, indent=1)

    def _score(self, call: Call) -> Reply:
        """The price of a fitted model's score."""
        who = self._visitor(call)
        view = self._counter.own(who[0], call.named["ref"])
        if view.answer is None:
            raise Refused(404, "there is no answer yet", remedy="wait for its moment")
        table = json.loads(view.sent.body)["table"]
        made = forms.text(forms.score(table, self._counter.scored(who[0], view), forms.read(call.body)))
        price = self._counter.price(who[0], made.encode())
        return self._priced(call, who, price, made, f"/answers/{view.sent.ref}")

    def _catalogue(self, call: Call) -> Reply:
        who = self._visitor(call)
        open_to = {table.name for table, _ in self._counter.tables(who[0])}
        published = [each for each in self._counter.outbox.catalogue() if each["table_name"] in open_to]
        return self._page(call, "catalogue.html.j2", who, published=published)

    def _queue(self, call: Call) -> Reply:
        """What waits, for a custodian to look at. Nothing is approved here: that is done beside the desk."""
        who = self._visitor(call)
        if who[0].name not in self._config.custodians:
            raise Refused(404, "there is nothing at this address", remedy="choose a page from the menu")
        return self._page(call, "queue.html.j2", who, waiting=self._counter.outbox.queue(), states=_STATES)

    # How they are made.

    def _told(self, call: Call, refused: Refused) -> Reply:
        """A refusal as a page; whoever is not signed in is shown the door."""
        if refused.code == 401:
            return self._page(call, "sign_in.html.j2", None, code=401, problem=None)
        try:
            who = self._visitor(Call("GET", call.path, {}, call.headers, call.cookies, b""))
        except (Refused, DiscreetError):
            who = None
        return self._page(call, "refused.html.j2", who, code=refused.code, refused=refused)

    def _title(self, view: RequestView) -> str:
        """What was asked, in a line."""
        asked = json.loads(view.sent.body)
        if "ask" in asked:
            titles = self._specs["ask"]
            return "; ".join(
                each.get("title") or " ".join([titles[each["statistic"]]["title"], *_of(each.get("columns", ()))])
                for each in asked["ask"]
            )
        if "together" in asked:
            return "; ".join(
                " of ".join([name, *([" and ".join(c)] if c else [])]) for name, *c in asked["together"]["questions"]
            )
        kind = next(word for word in asked if word != "table")
        about = asked[kind]
        words = {
            "synthesize": "synthetic tables",
            "score": "score of a model",
            "tune": f"the best {about.get('kind')} model",
        }
        named: str = words.get(kind, f"{about.get('kind')} model")
        return named + (f" of {about['target']}" if "target" in about else "")

    def _page(
        self, call: Call, template: str, who: tuple[Identity, str] | None, *, code: int = 200, least: int = 0, **facts: Any
    ) -> Reply:
        custodian = who is not None and who[0].name in self._config.custodians
        known = {
            "custodian": custodian,
            "service": self._config.title,
            "who": who and who[0],
            "csrf": who and who[1],
            "path": call.path,
        }
        text = self._pages.get_template(template).render(**known, **facts)
        body = text.encode("utf-8", "replace")
        size = -(-len(body) // least) * least if least else 0
        return Reply(padded(body, size), code, "text/html; charset=utf-8", HEADERS)


def _elsewhere(path: str, headers: Mapping[str, str] | None = None) -> Reply:
    return Reply(padded(b" "), 303, "text/html; charset=utf-8", {**HEADERS, "location": path, **(headers or {})})


def _drawn(parts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Parts of an answer with their pictures, which a helper made and escaped."""
    return [part | {"picture": Markup(part["picture"])} if "picture" in part else part for part in parts]  # noqa: S704


def _of(columns: Any) -> list[str]:
    names = [columns] if isinstance(columns, str) else list(columns)
    return [f"of {' and '.join(names)}"] if names else []


def _columns(table: Published) -> dict[str, list[dict[str, Any]]]:
    """The columns of a table: numbers and categories that can be asked about, and how each is declared."""
    made: dict[str, list[dict[str, Any]]] = {"numbers": [], "categories": [], "all": []}
    for name, column in table.schema.columns.items():
        labels = [str(label) for label in column.labels] if isinstance(column, Categories) else []
        kind = "text" if isinstance(column, Text) else "categories" if isinstance(column, Categories) else "numbers"
        said = {
            "name": name,
            "type": column.type,
            "labels": labels,
            "kind": kind,
            "private": column.private,
            "range": _range(column),
        }
        made["all"].append(said)
        if kind in made:
            made[kind].append(said)
    return made


def _range(column: Any) -> str:
    if isinstance(column, Categories):
        return ""
    written = getattr(column, "written", lambda number: f"{number:g}")
    return f"{written(column.lo)} to {written(column.hi)}"


def _moment(seconds: float | None) -> str:
    return "" if seconds is None else datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def _amount(given: Mapping[str, Any] | None) -> str:
    """An amount of a budget in words."""
    signs = {"epsilon": "ε", "delta": "δ", "rho": "ρ"}
    parts = [f"{sign} {_short(given[word])}" for word, sign in signs.items() if given and _worth(given.get(word))]
    return ", ".join(parts) or "nothing"


def _worth(value: Any) -> bool:
    return value is not None and Fraction(value) != 0


def _short(value: Any) -> str:
    return f"{float(Fraction(value)):.4g}"


def _share(left: Mapping[str, Any], cap: Mapping[str, Any]) -> int:
    """How much of a grant is left, in per cent: of the currency that is nearest its end."""
    parts = [
        Fraction(left[w]) / Fraction(cap[w])
        for w in ("epsilon", "delta", "rho")
        if _worth(cap.get(w)) and left.get(w) is not None
    ]
    return round(100 * float(min(parts, default=Fraction(0))))
