"""The site builds strictly, asks nothing of the network, and has a page for everything that is registered."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

import discreet as ds
from discreet.core.mechanism import mechanisms
from discreet.statistics.question import builder, names

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(out)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return out


def test_a_page_for_every_law_and_statistic(site: Path) -> None:
    assert ds.Laplace
    for name in mechanisms:
        if mechanisms[name].__module__.startswith("discreet.mechanisms.") and name != "no_noise":
            text = (site / "laws" / f"{name}.html").read_text()
            assert "<strong>Proof</strong>" in text, name
            assert mechanisms[name].__name__ in text
    for name in (n for n in names() if builder(n).__module__.startswith("discreet.statistics.")):
        text = (site / "statistics" / f"{name}.html").read_text()
        assert "<strong>Proof</strong>" in text, name
        assert "How far one person moves it" in text


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        text = page.read_text()
        loaded = re.findall(r"<(?:script|img|link|iframe)[^>]+(?:src|href)=\"(https?:|//)[^\"]*\"", text)
        assert not loaded, page
    for sheet in site.rglob("*.css"):
        assert not re.findall(r"url\([\"']?(?:https?:)?//", sheet.read_text()), sheet


def test_pages_that_are_opened_from_a_folder_can_be_searched(site: Path) -> None:
    """A browser fetches nothing for such a page: the index is a script, and so is what stands in for a worker."""
    assert (site / "search" / "search_index.js").read_text().startswith("var __index = {")
    assert (site / "iframe-worker.js").is_file()
    assert re.search(r"<script src=\"\.\./iframe-worker.js\"", (site / "how-to" / "models.html").read_text())


class Links(HTMLParser):
    """The places of a page, and where it points to."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.places: set[str] = set()
        self.targets: list[str] = []
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        of = dict(attrs)
        self.places |= {of[key] or "" for key in ("id", "name") if key in of}
        self.targets += [of[key] or "" for key in ("href", "src") if key in of]


def test_every_link_leads_somewhere(site: Path) -> None:
    """Also those that are made from the code, and to places within a page, which MkDocs does not look at."""
    pages = {page: Links(page) for page in site.rglob("*.html")}
    lost = []
    for page, links in pages.items():
        for link in links.targets:
            path, _, place = unquote(link).partition("#")
            if re.match(r"[a-z]+:", path):
                continue
            root = site if path.startswith("/") else page.parent  # pages that were not found may be anywhere
            target = (root / path.split("?")[0].lstrip("/")).resolve() if path else page
            target = target / "index.html" if target.is_dir() else target
            if not target.exists() or (place and target in pages and place not in pages[target].places):
                lost.append((page.relative_to(site), link))
    assert not lost


def test_docstrings_become_text(site: Path) -> None:
    text = (site / "laws" / "laplace.html").read_text()
    assert "exp(-|x| / scale)" in text
    assert "\\" not in re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL).split("<body", 1)[1].replace("\\n", "")


def test_the_reference_has_every_public_name(site: Path) -> None:
    text = "".join(page.read_text() for page in (site / "reference").glob("*.html"))
    for name in (
        n for n in ds.__all__ if inspect.isfunction(getattr(ds, n)) or n in ("Session", "Result", "Schema", "Ledger")
    ):
        thing = getattr(ds, name)
        assert f'id="{thing.__module__}.{thing.__qualname__}"' in text, name
    for package in (ds.models, ds.inference, ds.synthetic, ds.protect, ds.local):
        for name in package.__all__:
            thing = getattr(package, name)
            if inspect.isclass(thing) or inspect.isfunction(thing):
                assert f'id="{thing.__module__}.{thing.__qualname__}"' in text, name
    assert "discreet ledger verify" in (site / "reference" / "commands.html").read_text()


def test_an_entry_of_the_reference_is_complete(site: Path) -> None:
    text = (site / "reference" / "session.html").read_text()
    entry = re.split(r'<h3 id="', text.partition('<h3 id="discreet.session.Session.histogram"')[2])[0]
    for part in ("Parameters:", "Returns:", "Raises:", "Example:", "session.", "bins"):
        assert part in re.sub(r"<[^>]+>", "", entry), part


def test_formulas_outputs_and_pictures_are_shown(site: Path) -> None:
    assert "<math" in (site / "index.html").read_text()
    tutorial = (site / "tutorial.html").read_text()
    assert "It fits:" in tutorial
    assert (site / "outputs" / "tutorial.4.report.html").exists()
    assert "<img" in (site / "how-to" / "survival.html").read_text()
    assert (site / "gallery.html").read_text().count("<img") > 3


def test_every_law_has_a_formula_and_its_proof_is_folded(site: Path) -> None:
    for name in mechanisms:
        if mechanisms[name].__module__.startswith("discreet.mechanisms.") and name != "no_noise":
            text = (site / "laws" / f"{name}.html").read_text()
            assert text.count("<math") >= 3, name
            assert "merror" not in text
            assert "Why this holds" in text
