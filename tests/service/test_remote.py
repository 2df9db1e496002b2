"""The client gives what a session beside the table gives, and believes nothing that the desk did not sign."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as ds
from discreet.core.release import Release
from discreet.errors import DiscreetError, InvalidRequest, UnknownName, UnsupportedFormat
from discreet.service.remote import Remote
from discreet.service.wire import ServiceRefused, Wire
from discreet.service.written import written_question
from tests.service.conftest import SCHEMA
from tests.service.stand import Stand, people, standing


@pytest.fixture(scope="module")
def remote(stand: Stand) -> Remote:
    return ds.connect(stand.url, stand.token, stand.key)


QUESTIONS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("count", (), {"by": ["sex", "stroke"], "rho": "0.1"}),
    ("mean", ("age",), {"by": "sex", "of": "population", "epsilon": 0.5}),
    ("mean", ("age",), {"where": {"sex": "f"}, "epsilon": 0.5}),
    ("mean", ("age",), {"where": "bmi > 25 and sex == 'f'", "epsilon": "1/3"}),
    ("histogram", ("bmi",), {"bins": 5, "epsilon": 1}),
    ("quantile", ("age", 0.25), {"epsilon": 1}),
    ("quantiles", ("age", [0.25, "0.5"]), {"epsilon": 1}),
    ("test", ("ttest_ind", "age"), {"by": "sex", "epsilon": 1, "delta": 1e-6}),
    ("together", ([("mean", "age"), ("count",)],), {"epsilon": 1, "shares": [1, 2]}),
]


@pytest.mark.parametrize(("name", "args", "options"), QUESTIONS, ids=[f"{n}{i}" for i, (n, _, _) in enumerate(QUESTIONS)])
def test_it_answers_as_a_session_does(remote: Remote, name: str, args: Any, options: Any) -> None:
    """The oracle is the session: its result, read from the same releases, says the same to the last digit."""
    got = getattr(remote, name)(*args, **options)
    local = ds.Session(people(), SCHEMA, ledger="test")
    for one, other in zip(
        *(x if isinstance(x, list) else [x] for x in (got, getattr(local, name)(*args, **options))), strict=True
    ):
        assert one.reading == other.reading
        assert one.cost == other.cost
        assert [r.query.to_dict() for r in one.releases] == [r.query.to_dict() for r in other.releases]
        assert [r.mechanism.to_dict() for r in one.releases] == [r.mechanism.to_dict() for r in other.releases]
        assert [r.where for r in one.releases] == [r.where for r in other.releases]
        again = ds.Result.from_json(one.to_json())
        assert np.all(np.asarray(again.value) == np.asarray(one.value))
        assert one.private


def test_it_has_every_method_of_a_session() -> None:
    """By the same code where nothing runs beside the table; ``history`` and ``rehearse`` are a service's own."""
    mine, local = ({name for name in dir(each) if name[0] != "_"} for each in (Remote, ds.Session))
    assert mine - local == {"history", "rehearse"}
    assert not local - mine
    own = {
        name
        for name in local
        if callable(getattr(ds.Session, name)) and getattr(Remote, name) is not getattr(ds.Session, name)
    }
    assert own == {"discover", "of_tests", "run", "remaining", "spent"}


def test_models_come_back_fitted(remote: Remote) -> None:
    model = remote.fit(ds.models.LogisticRegression(epsilon=1, intervals=True), ["age", "bmi"], "stroke")
    assert model.coef_.shape == (1, 2)
    assert model.confidence_intervals().lower.shape == (3,)
    assert 0 <= float(remote.score(model, epsilon=1)) <= 1
    best = remote.tune([ds.models.LinearSVC(epsilon=1, ridge=r) for r in (1, 10)], ["age", "bmi"], "stroke")
    assert best.predict({"age": [40], "bmi": [25]}).shape == (1,)
    published = remote.fit(ds.models.SGDClassifier(epsilon=1, delta=1e-5, epochs=1), ["age", "bmi"], "stroke")
    assert published.predict({"age": [40], "bmi": [25]})[0] in ("no", "yes")
    for drawn in (ds.models.RandomForestClassifier(epsilon=1), ds.models.KernelSVC(epsilon=1, components=5)):
        assert remote.fit(drawn, ["age", "bmi"], "stroke").key_ >= 0  # what is drawn in public is the same here and there
        assert drawn.key is None
    centres = remote.fit(ds.models.KMeans(epsilon=1, n_clusters=2), ["age", "bmi"]).cluster_centers_
    assert centres.shape == (2, 2)
    for model_without_target in (ds.models.PCA(epsilon=1), ds.models.StandardScaler(epsilon=1)):
        assert remote.fit(model_without_target, ["age", "bmi"]).privacy_.private


def test_what_it_would_cost_and_what_is_left(remote: Remote) -> None:
    assert "ε=0.1" in str(remote.preview("mean", "age", epsilon=0.1))
    assert remote.preview("mean", "age", epsilon=6).fits is False
    assert "ε=1" in str(remote.preview_fit(ds.models.LogisticRegression(epsilon=1), ["age"], "stroke"))
    assert remote.remaining().epsilon == 5
    assert remote.rehearse("mean", "age", epsilon=1)[0]["private"] is False
    remote.count(epsilon="0.1")
    assert remote.history()[0]["state"] == "answered"


class Own:
    """A loss of one's own, which would be code."""


REFUSED: list[tuple[Any, type[DiscreetError]]] = [
    (lambda r: r.of_tests(lambda t: 0.5, ["age"], epsilon=1), InvalidRequest),
    (lambda r: r.run(iter(())), InvalidRequest),
    (lambda r: r.discover(), InvalidRequest),
    (lambda r: r.fit(ds.models.SGDClassifier(epsilon=1, delta=1e-5, loss=Own()), ["age"], "stroke"), DiscreetError),
    (lambda r: r.mean("age", epsilon=float("inf")), InvalidRequest),
    (lambda r: r.mean("aeg", epsilon=1), UnknownName),
    (lambda r: r.mean("age"), DiscreetError),
    (lambda r: r.histogram("age", bins=lambda: 3, epsilon=1), InvalidRequest),
    (lambda r: r.mean("age", where=object(), epsilon=1), InvalidRequest),
]


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_what_needs_code_or_is_wrong_raises_at_once(remote: Remote, number: int) -> None:
    """Nothing is sent: the wire would raise an error of another kind."""
    made = object.__new__(Remote)
    vars(made).update(vars(remote) | {"_wire": None})
    ask, error = REFUSED[number]
    with pytest.raises(error):
        ask(made)


def test_an_answer_that_was_changed_is_refused(stand: Stand, remote: Remote, monkeypatch: pytest.MonkeyPatch) -> None:
    """A front that changes a value, swaps the question, or hands out another's answer is found out by the client."""
    plain = Wire.get
    seen: dict[str, Any] = {}

    def altered(change: Any) -> Any:
        def get(self: Wire, path: str) -> dict[str, Any]:
            reply = plain(self, path)
            return change(reply) if "answer" in reply else reply

        return get

    def other_value(reply: dict[str, Any]) -> dict[str, Any]:
        doc = json.loads(reply["answer"])
        doc["releases"][0]["value"] = 0
        return reply | {"answer": json.dumps(doc)}

    def replayed(reply: dict[str, Any]) -> dict[str, Any]:
        seen.setdefault("first", reply)
        return reply | {word: seen["first"][word] for word in ("answer", "signature")}

    monkeypatch.setattr(Wire, "get", altered(other_value))
    with pytest.raises(InvalidRequest, match="signature"):
        remote.count(epsilon=1)
    monkeypatch.setattr(Wire, "get", altered(replayed))
    remote.count(epsilon=1)
    with pytest.raises(UnsupportedFormat, match="another"):
        remote.count(epsilon=1)
    monkeypatch.setattr(Wire, "get", plain)
    with pytest.raises(InvalidRequest, match="signature"):
        ds.connect(stand.url, stand.token, "00" * 32).count(epsilon=1)


def test_releases_are_held_against_the_asks(remote: Remote) -> None:
    """A desk that answers something else than was asked is found out too: another law, query, filter, number of releases."""
    from discreet.service.remote_question import blank, parse
    from discreet.service.reread_answer import replay

    local = ds.Session(people(), SCHEMA, ledger="test")

    def asked(text: str) -> Any:
        question = parse(text)
        return question.kind.procedure(blank(SCHEMA), None, None)  # type: ignore[arg-type]

    text = '{"table": "patients", "ask": [{"statistic": "mean", "columns": ["age"], "epsilon": 1}]}'
    right = local.mean("age", epsilon=1).releases
    assert replay(asked(text), right, "add_remove")[0].releases == right
    wrong: list[tuple[Release, ...]] = [
        local.mean("bmi", epsilon=1).releases,
        local.mean("age", epsilon=2).releases,
        local.mean("age", epsilon=1, where={"sex": "f"}).releases,
        (),
        right + right,
    ]
    for releases in wrong:
        with pytest.raises(UnsupportedFormat, match="has to be one to what was asked"):
            replay(asked(text), releases, "add_remove")


@pytest.mark.parametrize(
    "url", ["http://ask.example", "ftp://localhost", "https://ask.example/path", "https://me@ask.example"]
)
def test_addresses_that_would_give_the_token_away_are_refused(url: str) -> None:
    with pytest.raises(InvalidRequest):
        Wire(url, "t")


def test_redirects_are_refused_and_tokens_are_read_from_safe_files(tmp_path: Path, stand: Stand, monkeypatch: Any) -> None:
    path = tmp_path / "token"
    path.write_text(stand.token + "\n")
    path.chmod(0o644)
    with pytest.raises(InvalidRequest, match="chmod 600"):
        Wire(stand.url, path)
    path.chmod(0o600)
    assert Wire(stand.url, path).get("/v1/tables")["tables"]
    monkeypatch.setenv("DISCREET_TOKEN", stand.token)
    assert Wire(stand.url, None).get("/v1/tables")["tables"]
    with pytest.raises(ServiceRefused):  # the front door sends a browser on
        Wire(stand.url, "discreet_" + "x" * 43).get("/v1/tables")
    for wrong in ("wrong", "discreet_" + "\u00e4" * 43, f"{stand.token}\r\nX: y"):
        with pytest.raises(InvalidRequest, match="copy all of it"):
            Wire(stand.url, wrong)
    wire = Wire(stand.url, stand.token)
    import urllib.error
    import urllib.request

    request = urllib.request.Request(stand.url + "/sign-in", b"token=" + stand.token.encode(), {"Origin": stand.url})
    with pytest.raises(urllib.error.HTTPError) as caught:
        wire._opener.open(request, timeout=10)
    assert caught.value.code == 303
    caught.value.close()


def test_who_may_ask_nothing_is_told_so(tmp_path: Path, helpers: Any) -> None:
    """With a token that is not known, or no longer, and with one that no grant goes with: in words for who writes Python."""
    with standing(tmp_path, helpers=helpers) as stand:
        with pytest.raises(ServiceRefused, match=r"does not know this token.*custodian"):
            ds.connect(stand.url, "discreet_" + "x" * 43)
        with stand.outbox.box.writing() as connection:
            connection.execute(stand.outbox.t.grants.update().values(revoked=True))
        with pytest.raises(ServiceRefused, match=r"no table is open to you.*grant"):
            ds.connect(stand.url, stand.token)


def test_the_client_needs_no_server() -> None:
    """Connecting loads neither Starlette nor Uvicorn: a client installs the package without an extra."""
    code = "import sys, discreet.service.remote; print(sorted({'starlette', 'uvicorn', 'anyio', 'h11'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"


def test_every_parameter_of_a_model_is_written_or_refused() -> None:
    words = {"fit": {"model": ds.models.LogisticRegression(epsilon=1, ridge=3), "features": ["age"], "target": "stroke"}}
    words["fit"] |= {"weight": None, "propensity": None}
    made = json.loads(written_question("t", words, {}))
    assert made == {
        "table": "t",
        "fit": {"kind": "logistic", "features": ["age"], "target": "stroke", "epsilon": 1, "ridge": 3},
    }


def test_the_queue_is_shown_to_custodians_alone(stand: Stand) -> None:
    from tests.service import twins

    for token, code in ((stand.token, 200), (stand.other, 404)):
        caller = twins.Caller(stand.url, token)
        seen = caller.call("GET", "/queue", headers={"Cookie": twins.sign_in(caller, token)})
        assert seen.code == code
        caller.close()
