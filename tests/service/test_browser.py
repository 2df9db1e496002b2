"""The pages in Chromium, with JavaScript off and on: whole flows, forms of a second origin, foreign requests, axe."""

from __future__ import annotations

import http.server
import shutil
import socketserver
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.service.stand import Stand

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed; run make browser")
PATIENCE = 300_000  # milliseconds: a page is never too slow, whatever else the machine does
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield made
        made.close()


def says(page: Any, words: str) -> None:
    """Wait for words: a page that is on its way holds none."""
    page.get_by_text(words).first.wait_for(state="attached")


def signed_in(page: Any, stand: Stand) -> None:
    page.goto(stand.url)
    page.fill("#token", stand.token)
    page.locator("button.primary").click()
    page.wait_for_url("**/tables")


@pytest.mark.parametrize(("scripts", "width"), [(False, 390), (True, 1100)])
def test_a_first_question_from_signing_in_to_the_download(browser: Any, stand: Stand, scripts: bool, width: int) -> None:
    context = browser.new_context(
        java_script_enabled=scripts, viewport={"width": width, "height": 800}, accept_downloads=True
    )
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(stand.url)
    page.fill("#token", "discreet_" + "x" * 43)
    page.locator("button.primary").click()
    says(page, "not known here")
    signed_in(page, stand)
    page.click("a.button")
    page.click("a[href$='/ask/mean']")
    page.select_option("#column-column", "age")
    page.check("#by-1")
    page.locator("button.primary").click()
    page.locator("[role=alert]").wait_for()  # no price was given
    assert page.input_value("#column-column") == "age"
    page.fill("#epsilon", "0.5")
    page.locator("button.primary").click()
    says(page, "Expected error")
    page.click("text=Rehearse it")
    says(page, "made up")
    page.click("text=Back to the price")
    page.click("text=Ask it")
    page.wait_for_selector("section.answer svg")  # the page looks again by itself
    assert "ds.connect" in page.locator("details.python").inner_html()
    if scripts:  # nothing is wider than the screen
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    with page.expect_download() as download:
        page.click("text=Download with its signature")
    assert '"signature"' in Path(download.value.path()).read_text()
    for path in ("/answers", "/models", "/catalogue"):
        page.goto(stand.url + path)
        assert page.locator("h1").count() == 1
    page.click("text=Sign out")
    page.goto(stand.url + "/answers")
    assert page.locator("#token").count() == 1
    assert all(url.startswith(stand.url) for url in asked)
    context.close()


def test_a_question_by_the_keyboard_alone(browser: Any, stand: Stand) -> None:
    """Tab, space, letters and return reach everything, and what has the focus shows it."""
    context = browser.new_context()
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    keys = page.keyboard

    def tab_to(selector: str) -> None:
        for _ in range(100):
            keys.press("Tab")
            if page.evaluate("wanted => document.activeElement.matches(wanted)", selector):
                assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none", selector
                return
        pytest.fail(f"the keyboard does not reach {selector}")

    def go(selector: str, address: str) -> None:
        tab_to(selector)
        with page.expect_navigation(url=address):
            keys.press("Enter")

    page.goto(stand.url)
    tab_to("#token")
    keys.type(stand.token)
    go("button.primary", "**/tables")
    keys.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"  # past the navigation, first of all
    go("a.button", "**/tables/patients")
    go("a[href$='/ask/count']", "**/ask/count")
    tab_to("#by-1")
    keys.press("Space")
    tab_to("#epsilon")
    keys.type("0.5")
    go("button.primary", "**")
    says(page, "Expected error")
    go("button.primary", "**/answers/*")
    page.wait_for_selector("section.answer svg")
    context.close()


def test_a_form_on_another_site_is_refused(browser: Any, stand: Stand) -> None:
    """The browser is signed in; a page of a second origin sends the form, with a guessed word and without."""
    context = browser.new_context()
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    signed_in(page, stand)
    form = f"<form method=post action={stand.url}/send><input name=question value=x><button>go</button></form>"
    frame = f"<iframe src={stand.url}/tables></iframe>"

    class Evil(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write((form + frame).encode())

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    with socketserver.TCPServer(("127.0.0.1", 0), Evil) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        page.goto(f"http://localhost:{server.server_address[1]}/")
        assert "Tables open to you" not in page.frames[-1].content()
        page.click("button")
        page.wait_for_load_state()
        assert page.url.startswith(stand.url)
        page.locator("#token").or_(page.get_by_text("Not done")).first.wait_for()  # the cookie is not sent from there
        server.shutdown()
        thread.join()
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(browser: Any, stand: Stand, scheme: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    context = browser.new_context(color_scheme=scheme, bypass_csp=True)
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    page.goto(stand.url)
    found = {}

    def look(name: str) -> None:
        results = Axe().run(page)
        if results.violations_count:
            found[name] = results.generate_report()

    look("sign in")
    signed_in(page, stand)
    look("tables")
    for path in (
        "",
        "/ask/histogram",
        "/together/several",
        "/fit/logistic",
        "/tune/logistic",
        "/synthesize/tables",
        "/ask/nothing",
    ):
        page.goto(f"{stand.url}/tables/patients{path}")
        look(path)
    for path in ("/answers", "/models", "/catalogue", "/queue"):
        page.goto(stand.url + path)
        look(path)
    page.goto(stand.url + "/tables/patients/ask/count")
    page.check("#by-1")
    page.fill("#epsilon", "0.5")
    page.locator("button.primary").click()
    says(page, "Expected error")
    look("confirm")
    page.click("text=Rehearse it")
    says(page, "made up")
    look("rehearsal")
    page.click("text=Back to the price")
    page.click("text=Ask it")
    page.wait_for_selector("section.answer svg")
    look("answer")
    assert not found, next(iter(found.values()))
    context.close()
