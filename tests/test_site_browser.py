"""The built site in a browser: search finds a scorer, every sidebar link opens, nothing complains."""

import contextlib
import functools
import http.server
import os
import threading
from pathlib import Path

import pytest
from browser import need_browser, open_browser

ROOT = Path(__file__).parents[1]
SITE = Path(os.environ.get("DOJO_SITE") or ROOT / "_docs")


class Quiet(http.server.SimpleHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/favicon.ico":  # browsers ask every host for it
            self.send_response(204)
            self.end_headers()
        else:
            super().do_GET()

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def served(folder):
    "A folder at an address of this machine."
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder))
    )
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/"
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture(scope="module")
def site():
    "A page of a browser, and the address of the site."
    need_browser()
    if not (SITE / "money.html").is_file() and not (SITE / "fields.money.html").is_file():
        pytest.skip("no built site: run dojo_docs first, or set DOJO_SITE to its folder")
    with served(SITE) as address, open_browser() as page:
        yield page, address


LINKS = "[...new Set([...document.querySelectorAll('.sidebar-link[href]')].map(a => a.href.split('#')[0]))]"


def test_search_finds_a_scorer(site):
    page, address = site
    page.go(address + "index.html")
    page.run(
        "(() => { const e = document.querySelector('input[type=search]'); e.focus();"
        " e.value = 'score_money_field'; e.dispatchEvent(new Event('input', {bubbles: true})); })()"
    )
    found = (
        "[...document.querySelectorAll('.smalldocs-search-results a')].filter(a => /money/.test(a.href))[0]"
    )
    page.wait(found)
    page.run(f"{found}.click()")
    page.wait("/money/.test(location.href) && document.body.textContent.includes('score_money_field')")
    assert page.trouble == []


def test_every_link_of_the_sidebar_opens_and_nothing_complains(site):
    page, address = site
    page.go(address + "index.html")
    links = [link for link in page.run(LINKS) if link.startswith(address)]
    assert len(links) > 100
    bad = {}
    for link in links:
        page.trouble.clear()
        page.go(link)
        if page.trouble or not page.run("document.querySelector('h1')?.textContent"):
            bad[link.removeprefix(address)] = page.trouble[:2] or "no title"
    assert bad == {}
