"""The page: whole, self-contained, true, and readable by everyone, a screen reader included."""

from __future__ import annotations

import json
import math
import re
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as ds
from discreet.core.cost import Cost
from discreet.hypotheses.anova import Comparison
from discreet.hypotheses.reading import HypothesisTest
from discreet.report import answers, date_columns, heat, language, meaning, pictures, render, svg
from discreet.report.numerals import in_words, percent, shown
from tests.cli.conftest import Run

ASKS = """
[[ask]]
title = 'Ages <"&> by sex'
statistic = "histogram"
columns = "age"
by = "sex"
options = { bins = 5 }
epsilon = 0.1

[[ask]]
statistic = "crosstab"
columns = ["sex"]
options = { allow_negative = true }
epsilon = 0.1

[[ask]]
statistic = "correlation"
columns = ["age", "weight"]
epsilon = 0.1

[[ask]]
statistic = "sum"
columns = "age"
by = "sex"
epsilon = 0.1
"""
VOID = {"meta", "rect", "line", "circle", "link", "br"}


class Page(HTMLParser):
    """The elements of a page in order, with their attributes and text; refuses tags that are not closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None], list[str]]] = []
        self._open: list[int] = []
        self.feed(text)
        assert not self._open, [self.elements[i][0] for i in self._open]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs), []))
        if tag not in VOID:
            self._open.append(len(self.elements) - 1)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs), []))

    def handle_endtag(self, tag: str) -> None:
        assert self.elements[self._open.pop()][0] == tag

    def handle_data(self, data: str) -> None:
        for i in self._open:
            self.elements[i][2].append(data)

    def of(self, *tags: str) -> list[tuple[str, dict[str, str | None], str]]:
        return [(t, a, "".join(w).strip()) for t, a, w in self.elements if t in tags]


@pytest.fixture
def released(run: Run, folder: Path) -> tuple[dict[str, Any], str]:
    path = folder / "people.toml"
    path.write_text(path.read_text() + ASKS)
    assert run("release", path, "--out", folder / "out").code == 0
    return json.loads((folder / "out" / "releases.json").read_text()), (folder / "out" / "report.html").read_text()


def test_structure(released: tuple[dict[str, Any], str]) -> None:
    """Language, one h1, headings without gaps, alternative texts, table headers with scope, unique ids."""
    page = Page(released[1])
    assert page.of("html")[0][1]["lang"] == "en"
    assert page.of("title")[0][2]
    levels = [int(tag[1]) for tag, _, _ in page.of("h1", "h2", "h3", "h4")]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b - a <= 1 for a, b in pairwise(levels))
    assert all(words for _, _, words in page.of("h1", "h2", "h3"))
    ids = [a["id"] for _, a, _ in page.elements if "id" in a]
    assert len(ids) == len(set(ids))
    drawings = page.of("svg")
    assert len(drawings) == 7 + 2
    for _, attributes, _ in drawings:
        assert attributes["role"] == "img"
        assert attributes["aria-labelledby"] in ids
    titles = {a["id"]: words for _, a, words in page.of("title") if "id" in a}
    assert len(titles) == len(drawings)
    assert all(len(words) > 20 for words in titles.values())
    assert all(a.get("scope") in ("row", "col") for _, a, _ in page.of("th"))
    assert len(page.of("caption")) == len(page.of("table"))
    assert [t for t, _, _ in page.of("main", "header", "footer")] == ["header", "main", "footer"]


def test_self_contained_and_escaped(released: tuple[dict[str, Any], str]) -> None:
    text = released[1]
    assert not re.search(r"""(src|href)\s*=|@import|url\(|<script""", text)
    assert "http" not in text.replace("http-equiv", "").replace("http://www.w3.org/2000/svg", "")
    assert 'Ages <"' not in text
    assert "Ages &lt;" in text


def test_says_what_was_released(released: tuple[dict[str, Any], str]) -> None:
    doc, text = released
    for ask in doc["asks"]:
        value = ask["result"]["value"]
        assert (
            shown(value if isinstance(value, float) else value[0] if not isinstance(value[0], list) else value[0][0]) in text
        )
    for words in (
        "ε=0.9",
        "ε=0.1",
        "at most 2 rows",
        "Laplace noise",
        "rows of rank",
        "What is not covered",
        doc["ledger"]["head"],
    ):
        assert words.replace(" %", "\u00a0%") in text, words


def luminance(color: str) -> float:
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a: str, b: str) -> float:
    light, dark = sorted((luminance(a), luminance(b)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_contrast(released: tuple[dict[str, Any], str]) -> None:
    """WCAG AA: 4.5 for text on every background it stands on, 3 for marks on what lies around them."""
    css = "".join(re.findall(r"<style>(.*?)</style>", released[1], re.DOTALL))
    named = dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", css))
    grounds = (named["paper"], named["panel"], "#fdf1ec")
    inks = {named["ink"], named["muted"], named["link"], *re.findall(r"fill: (#[0-9a-f]{6})", css)}
    for ink in inks:
        for ground in grounds:
            assert contrast(ink, ground) >= 4.5, (ink, ground)
    for mark in (svg.BAR, svg.MARK, svg.LINE, svg.EARLIER):
        for ground in (*grounds, svg.SOFT):
            assert contrast(mark, ground) >= 3, (mark, ground)
    colors = set(re.findall(r"(?:fill|stroke)=\"(#[0-9a-f]{6})\"", released[1]))
    assert colors <= {svg.BAR, svg.MARK, svg.LINE, svg.EARLIER, svg.SOFT, "#ffffff", "#b7c1cc"}


def test_drawings_stay_inside(released: tuple[dict[str, Any], str]) -> None:
    """Every place is between 0 and 100 per cent and every height within its picture."""
    for drawing in re.findall(r"<svg.*?</svg>", released[1], re.DOTALL):
        height = float(re.search(r'height="([\d.]+)"', drawing)[1])  # type: ignore[index]
        for place in re.findall(r'(?:x|x1|x2|cx)="(-?[\d.]+)%"', drawing):
            assert -1e-6 <= float(place) <= 100 + 1e-6
        for y in re.findall(r'(?:y|y1|y2|cy)="(-?[\d.]+)"', drawing):
            assert -1 <= float(y) <= height + 1


def test_noise_is_told_in_the_answers_own_unit(released: tuple[dict[str, Any], str]) -> None:
    doc, text = released
    means = ds.Result.from_json(json.dumps(doc["asks"][1]["result"]))
    low, high = (shown(f(means.rows()["expected_error"])) for f in (min, max))
    assert f"moves each number by about ±\u00a0{low} to ±\u00a0{high} (root mean square)" in text
    assert "of scale" not in text


def test_not_private_is_said(released: tuple[dict[str, Any], str]) -> None:
    doc, text = released
    assert "Not private." not in text
    doc["asks"][0]["result"]["releases"][0]["private"] = False
    assert "Not private." in render(doc)


def test_guesses() -> None:
    """Known values, and every kind of cost between a coin toss and certainty."""
    assert meaning.best_guess(Cost.nothing()) == 0.5
    assert meaning.best_guess(Cost.pure(1)) == pytest.approx(math.e / (1 + math.e))
    assert meaning.best_guess(Cost.infinite()) == 1
    approximate = meaning.best_guess(Cost.approximate(1, "0.01"))
    assert approximate <= (math.e + 0.01) / (1 + math.e) + 1e-12
    # A Gaussian release at t = 0.2: the exact answer is Phi(t / 2), and the bound from rho alone must lie above it.
    gaussian = ds.Gaussian(5).cost(1)
    exact = 0.5 * (1 + math.erf(0.1 / math.sqrt(2)))
    assert exact <= meaning.best_guess(gaussian) <= exact + 0.04
    large = meaning.best_guess(ds.Gaussian("0.1").cost(1))
    assert 0.99 < large <= 1


def test_relations_and_budgets_have_words() -> None:
    columns = {"x": ds.Real(0, 1)}
    for relation in ("add_remove", "replace", "both"):
        lines = meaning.protected(ds.Schema(columns, neighbors=relation))
        assert "One row is taken to be one person" in lines[0]
        assert lines[1].startswith("What is hidden is")
    for budget in (ds.Budget(epsilon=1), ds.Budget(1, 1e-6), ds.Budget(rho="0.5"), ds.Budget(1, 1e-6, composition="renyi")):
        before, now = ds.Gaussian(50).cost(1), ds.Gaussian(40).cost(1)
        if budget.rho is None and budget.composition == "basic":
            before, now = Cost.pure("0.1"), Cost.pure("0.2")
        shares = meaning.shares(budget, before + now, now)
        assert sum(shares) == pytest.approx(1)
        assert all(0 < s < 1 for s in shares)
        assert 0.5 < meaning.best_guess(meaning.whole(budget)) < 1
        assert len(meaning.guesses(budget, before + now, now)) == 3


def test_numbers_in_words() -> None:
    assert [shown(v) for v in (0, -0.0, 1234.6, -2.5, 1e-9)] == ["0", "0", "1,235", "−2.5", "1e−09"]
    assert [in_words(v) for v in ("[0, 20)", "[80, 110]", "north")] == ["0 to below 20", "80 to 110", "north"]
    assert meaning.beliefs(Cost.pure(0))[3] == ("50 %", "50 %")
    assert meaning.beliefs(ds.Gaussian(1).cost(1)) == []


def test_every_language_has_every_phrase() -> None:
    """The same keys but for laws and methods, which are English by themselves; the same words to be filled in."""
    every = language.phrases()
    assert tuple(every) == language.LANGUAGES
    plain = {key: set(re.findall(r"{(\w+)}", text)) for key, text in every["en"].items()}
    for name in ("de", "fr"):
        own = {key: set(re.findall(r"{(\w+)}", text)) for key, text in every[name].items()}
        more = {key for key in own if key.startswith(("law.", "method.", "effect."))}
        assert {key: words for key, words in own.items() if key not in more} == plain
        assert all(own[key] <= {"draws", "n", "p", "strata", "first", "second"} for key in more)


def test_every_effect_has_a_name_in_every_language() -> None:
    tests = [one for one in _below(HypothesisTest) if one.__dict__.get("name") and one is not Comparison]
    assert len(tests) > 15
    for one in tests:
        assert getattr(one, "effect", "") != HypothesisTest.effect, one
        for name in ("de", "fr"):
            assert f"effect.{one.name}" in language.phrases()[name]


def _below(kind: type) -> set[Any]:
    return {kind}.union(*map(_below, kind.__subclasses__()))


def test_survival_is_drawn_as_curves_over_the_numbers_at_risk() -> None:
    rng = np.random.default_rng(1)
    table = {"days": rng.uniform(0, 90, 300), "died": rng.integers(0, 2, 300), "arm": ["a", "b", "c"] * 100}
    schema = ds.Schema({"days": ds.Real(0, 90), "died": ds.Integer(0, 1), "arm": ds.Categories(["a", "b", "c"])})
    session = ds.Session(table, schema, ledger="test", seed=1)
    for by, curves in ((None, 1), ("arm", 3)):
        result = session.survival("days", "died", by=by, bins=[0, 30, 60, 90], epsilon=100)
        made = str(pictures.answer("k", {"statistic": "survival", "title": "S"}, result, 120))
        assert made.count("<line") == 6 + curves * (3 + 3) + (2 * curves if by else 0)  # grid, curves, intervals, names
        assert f'text-anchor="middle" class="small">{round(float(np.ravel(result.numbers_at_risk())[0]))}<' in made
        assert ">days<" in made
        assert "people at risk" in made
    with language.spoken("fr"):
        assert "à risque" in str(pictures.answer("k", {"statistic": "survival", "title": "S"}, result, 120))


def test_the_hypothesis_is_marked_and_the_axis_ends_where_the_effect_must() -> None:
    x = np.random.default_rng(2).normal(50, 9, 400)
    result = ds.hypotheses.pearsonr(x, x, bounds=((0, 100), (0, 100)), epsilon=2)
    made = str(pictures.answer("k", {"statistic": "pearsonr", "title": "r"}, result, 120))
    assert "hypothesis: 0<" in made
    assert ">1.1<" not in made
    assert ">1<" in made


@pytest.mark.parametrize(("name", "words"), [("de", "Die Antworten"), ("fr", "Les réponses")])
def test_a_page_in_another_language(run: Run, folder: Path, name: str, words: str) -> None:
    path = folder / "people.toml"
    path.write_text(f'language = "{name}"\n' + path.read_text() + ASKS)
    assert run("release", path, "--out", folder / "out").code == 0
    text = (folder / "out" / "report.html").read_text()
    assert Page(text).of("html")[0][1]["lang"] == name
    assert words in text
    assert "ε=0,9" in text
    for english in ("The answer", "with 95", "The ledger", "Laplace noise", " to below ", "rows of"):
        assert english not in text, english
    path.write_text(path.read_text().replace(f'language = "{name}"', 'language = "la"'))
    refused = run("plan", path)
    assert refused.code == 2
    assert "language must be one of en, de, fr, got 'la'" in refused.err


def test_numbers_in_other_languages() -> None:
    german = ["1.235", "−2,5", "0 bis unter 20", "52,5 %"]
    french = ["1\u202f235", "−2,5", "0 à moins de 20", "52,5 %"]
    for name, wanted in (("de", german), ("fr", french)):
        with language.spoken(name):
            assert [shown(1234.6), shown(-2.5), in_words("[0, 20)"), percent(0.525)] == wanted
    assert shown(1234.6) == "1,235"


def picture(result: ds.Result, statistic: str, **options: Any) -> str:
    ask = {"title": "T", "statistic": statistic, "options": options}
    return str(pictures.answer("key", ask, result, 120))


def test_unequal_bins_are_densities() -> None:
    """1,000 rows a unit everywhere: all bars are equally high, whatever their width."""
    x = np.arange(0, 100, 0.01)
    session = ds.Session({"x": x}, ds.Schema({"x": ds.Real(0, 100)}), ledger="test")
    drawn = picture(session.histogram("x", bins=[0, 5, 20, 100], epsilon=math.inf), "histogram")
    bars = re.findall(rf'<rect x="([\d.]+)%" y="([\d.]+)" width="([\d.]+)%" height="([\d.]+)" fill="{svg.BAR}"', drawn)
    assert len({height for _, _, _, height in bars}) == 1
    widths = [float(width) for _, _, width, _ in bars]
    assert widths[2] / widths[1] == pytest.approx(80 / 15, rel=0.1)
    assert "unequal width" in drawn


def test_large_tables_are_heat_maps() -> None:
    names = {f"c{i}": ds.Categories([f"v{j}" for j in range(size)]) for i, size in enumerate((7, 6, 2))}
    session = ds.Session({name: [c.values[0]] * 50 for name, c in names.items()}, ds.Schema(names), ledger="test")
    drawn = picture(session.crosstab("c0", "c1", epsilon=math.inf), "crosstab")
    assert drawn.count("<rect") == 42 + 9  # and the scale of the colours
    assert drawn.index(">0</text>") < drawn.rindex(">50</text>")
    assert drawn.count(f'fill="{heat.shade(1)}"') == 2  # the one full cell, and the end of the scale
    assert contrast("#1b2430", heat.shade(1)) >= 4.5  # letters are as readable there as anywhere
    assert "a table of 7 by 6, from 0 to 50" in drawn
    assert picture(session.crosstab("c0", "c2", epsilon=math.inf), "crosstab").count("<rect") == 2 * 14  # bars


def test_axes_are_around_the_answers_and_quantiles_say_which() -> None:
    x = np.linspace(0, 1, 5001) + 40
    session = ds.Session({"x": x}, ds.Schema({"x": ds.Real(0, 1000)}), ledger="test", seed=1)
    mean = session.mean("x", epsilon=5)
    ends = re.findall(r'class="small">([\d.]+)</text>', picture(mean, "mean"))
    assert 38 < float(ends[0]) < 40.5 < float(ends[1]) < 43
    quantile = session.quantile("x", "0.9", epsilon=5)
    assert "90 % of the rows lie below" in meaning.sentence({"statistic": "quantile", "options": {"q": 0.9}}, quantile)
    assert "50 % of the rows" in meaning.sentence({"statistic": "median"}, session.median("x", epsilon=5))
    assert 'stroke-width="2"' not in picture(quantile, "quantile", q=0.9)  # no whisker where there is no interval


def test_answers_about_dates_are_dates() -> None:
    """2,001 days from 2015 on, evenly: the middle is 2017-09-27."""
    days = np.datetime64("2015-01-01") + np.arange(2001).astype("m8[D]")
    columns = {"d": ds.Date("2015-01-01", "2024-12-31"), "w": ds.Datetime("2015-01-01", "2024-12-31")}
    session = ds.Session({"d": days, "w": days.astype("M8[s]")}, ds.Schema(columns), ledger="test", seed=1)
    types = {name: column.type for name, column in columns.items()}

    def told(statistic: str, *names: str, epsilon: float = math.inf, **options: Any) -> dict[str, Any]:
        result = session.ask(statistic, *names, epsilon=epsilon, **options)
        ask = {"statistic": statistic, "columns": list(names), "title": "T", "cost": "", "known": False}
        return answers([ask], [result], types)[0]

    assert "is 2017-09-27. The true number of this table lies between 2017-09-27 and" in told("mean", "d")["sentence"]
    assert "is 2017-09-27 00:00." in told("mean", "w")["sentence"]
    assert "days (root mean square)" in told("mean", "w", epsilon=1)["law"]
    cut = told("histogram", "d", bins=["2015-01-01", "2019-01-01", "2024-12-31"])
    assert cut["rows"][0] == (["2015-01-01 to below 2019-01-01"], "1,461", "1,461", "1,461")
    assert ">2019-01-01</text>" in cut["picture"]
    assert told("histogram", "w", bins=3)["rows"][0][0] == ["2015-01-01 00:00 to below 2018-05-02 08:00"]
    assert told("count", by="bins(d, ['2015-01-01', '2016-01-01'])")["rows"][0][0] == ["2015-01-01 to 2016-01-01"]


def test_dates_are_written_as_the_language_does_and_lengths_of_time_say_their_unit() -> None:
    columns = {"d": ds.Date("2015-01-01", "2024-12-31"), "wait": ds.Duration(0, 5, unit="hours")}
    schema = ds.Schema(columns)
    session = ds.Session({"d": ["2017-09-27"] * 9, "wait": [2.5] * 9}, schema, ledger="test")
    for name, day, title in (
        ("en", "2017-09-27", "T, in hours"), ("de", "27.09.2017", "T, in Stunden"), ("fr", "27/09/2017", "T, en heures")
    ):  # fmt: skip
        with language.spoken(name):
            for column, statistic in (("d", "mean"), ("wait", "mean"), ("wait", "variance")):
                result = session.ask(statistic, column, epsilon=math.inf)
                ask = {"statistic": statistic, "columns": [column], "title": "T", "cost": "", "known": False}
                told = answers([ask], [result], date_columns.kinds(schema))[0]
                assert told["title"] == (title if (column, statistic) == ("wait", "mean") else "T")
                assert (day in told["sentence"]) == (column == "d")


def test_what_is_beside_a_column_that_could_not_be_read_is_doubted() -> None:
    """A sum does not tell how many rows it is of; a mean of the same column does, where it is of all rows."""
    columns = {"w": ds.Real(0, 200), "v": ds.Real(0, 200)}
    table = {"w": ["70,5"] * 900, "v": [70.5] * 900}
    session = ds.Session(table, ds.Schema(columns, expected_rows=900), ledger="test", seed=1)
    asked = [("sum", "w"), ("mean", "w"), ("sum", "v"), ("mean", "v")]
    asks = [{"statistic": s, "columns": [c], "title": f"{s} {c}", "cost": "", "known": False} for s, c in asked]
    results = [session.ask(s, c, epsilon=1) for s, c in asked]
    assert meaning.doubted(asks, results) == ["mean w", None, None, None]
    shown = answers(asks, results)
    assert "mean w" in shown[0]["caution"]
    assert "true number" not in shown[0]["sentence"]
    assert [bool(each["caution"]) for each in shown] == [True, True, False, False]
    asks[1]["where"] = {"sex": "f"}  # of some rows it says nothing about the others
    assert meaning.doubted(asks, results) == [None] * 4


def test_a_caution_takes_the_promise_back() -> None:
    columns = {"w": ds.Real(0, 200)}
    session = ds.Session({"w": ["70,5"] * 900}, ds.Schema(columns, expected_rows=900), ledger="test", seed=1)
    result = session.mean("w", epsilon=1)
    told = meaning.sentence({"statistic": "mean"}, result)
    assert "true number" not in told
    assert "900 were expected" in str(meaning.caution(result))
    for name, words in (("de", "waren erwartet"), ("fr", "étaient attendues")):
        with language.spoken(name):
            assert words in str(meaning.caution(result))
