"""Every form of the pages leads to a question that is priced, rehearsed, asked and shown."""

from __future__ import annotations

import html
import re
from typing import Any
from urllib.parse import urlencode

import pytest

from discreet.errors import InvalidRequest
from discreet.service.calls import Refused
from discreet.service.pages import forms

from . import twins
from .stand import Stand

PRICE = {"epsilon": "0.5"}
COLUMNS = {"features": ["age", "sex"], "target": "stroke"}
FORMS: dict[str, dict[str, Any]] = {
    "ask/histogram": {"column-column": "bmi", "option-bins": "5"},
    "fit/logistic": COLUMNS,
    "fit/kmeans": {"features": ["age", "bmi"]},
    "tune/logistic": COLUMNS | {"candidates": "ridge = 1\nridge = 9, fit_intercept = false"},
    "together/several": {"statistic-1": "mean", "column-1": "age", "statistic-3": "count"},
    "synthesize/tables": {"columns": ["age", "sex"], "bins-age": "4", "bins-bmi": "4", "tables": "3", "rows": "20"},
}


class Visitor:
    """Somebody who is signed in, with a browser that fills in forms."""

    def __init__(self, stand: Stand) -> None:
        self._caller = twins.Caller(stand.url)
        self._token = {"Authorization": f"Bearer {stand.token}"}
        self._headers = {"Cookie": twins.sign_in(self._caller, stand.token), "Origin": stand.url}
        self._csrf = self._hidden(self.get("/tables"), "csrf")

    def get(self, path: str) -> str:
        seen = self._caller.call("GET", path, headers=self._headers)
        assert seen.code == 200, (path, seen.code)
        return seen.body.decode()

    def post(self, path: str, form: dict[str, Any]) -> tuple[int, str, str]:
        kind = {"Content-Type": "application/x-www-form-urlencoded"}
        text = urlencode({"csrf": self._csrf, **form}, doseq=True).encode()
        seen = self._caller.call("POST", path, text, self._headers | kind)
        return seen.code, seen.body.decode(), dict(seen.headers).get("location", "")

    def asked(self, page: str) -> str:
        """Rehearse and ask what a page shows the price of; the page of the answer."""
        question = self._hidden(page, "question")
        code, rehearsed, _ = self.post("/rehearse", {"question": question})
        assert code == 200
        assert "made up" in rehearsed
        code, _, place = self.post("/send", {"question": question, "key": self._hidden(page, "key")})
        assert code == 303
        for _ in range(20):  # each waits up to 25 seconds: a machine that is busy otherwise fails nothing
            self._caller.call("GET", f"/v1{place.replace('answers', 'requests')}?wait=1", headers=self._token)
            shown = self.get(place)
            if 'class="card answer"' in shown:
                return shown
        raise AssertionError("no answer was shown")

    def close(self) -> None:
        self._caller.close()

    def _hidden(self, page: str, name: str) -> str:
        found = re.search(rf'name="{name}" value="([^"]*)"', page)
        assert found is not None, page[:2000]
        return html.unescape(found[1])


@pytest.mark.parametrize("path", FORMS)
def test_a_form_leads_to_an_answer(stand: Stand, path: str) -> None:
    visitor = Visitor(stand)
    try:
        address = f"/tables/patients/{path}"
        assert f'href="{address}"' in visitor.get("/tables/patients") or path.startswith("tune")
        assert "See the price" in visitor.get(address)
        code, refused, _ = visitor.post(address, {})
        assert code == 422
        assert 'role="alert"' in refused
        code, page, _ = visitor.post(address, FORMS[path] | PRICE)
        assert code == 200, page
        shown = visitor.asked(page)
        assert "session." in html.unescape(shown)
        if path == "fit/logistic":
            place = re.search(r'action="(/answers/[0-9a-f]+/score)"', shown)
            assert place is not None
            code, page, _ = visitor.post(place[1], PRICE)
            assert code == 200
            assert "score of a model of stroke" in visitor.asked(page).lower()
        if path == "fit/kmeans":
            assert "/score" not in shown  # nothing that it could be right about
            place = re.search(r'href="(/answers/[0-9a-f]+)/answer.json"', shown)
            assert place is not None
            assert visitor.post(f"{place[1]}/score", PRICE)[0] == 422
    finally:
        visitor.close()


def test_candidates_are_read_line_by_line() -> None:
    spec = {"name": "logistic", "options": []}
    made = forms.tuning("t", spec, {"candidates": ["ridge = 1, intervals = true\n\nridge=0.5"], "features": ["age"]})
    assert made["tune"]["candidates"] == [{"ridge": 1, "intervals": True}, {"ridge": 0.5}]
    with pytest.raises((Refused, InvalidRequest), match="name = value"):
        forms.tuning("t", spec, {"candidates": ["ridge"]})


def test_the_lines_of_python_are_python() -> None:
    """What the page shows for every kind parses, and calls what it should."""
    for word, asked in {
        "fit": {"kind": "logistic", "epsilon": "1", **COLUMNS},
        "tune": {"kind": "logistic", "candidates": [{"ridge": 1}], "epsilon": "1", **COLUMNS},
        "together": {"questions": [["mean", "age"]], "epsilon": "1"},
        "synthesize": {"columns": ["age"], "epsilon": "1", "bins": {"age": 3}},
        "score": {"design": {}, "theta": [1.0], "epsilon": "1"},
    }.items():
        *_, line = forms.python("https://ask.example", {"table": "t", word: asked})
        compile(line, "page", "exec")
        assert line.startswith(f"session.{word}(")
