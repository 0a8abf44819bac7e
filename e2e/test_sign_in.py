"""Signing in to the console at a real provider, in a real browser."""

import asyncio
import json
import os
import re
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, BrowserContext, expect

from e2e.playground import MILLISECONDS
from e2e.reviewer import Reviewer
from sayso.base.records import PageRequest
from sayso.stores import open_store
from tests import plain
from tests.patience import PATIENCE
from tests.ports import free_port
from tests.process.replicas import Serving
from tests.server import run_input, until
from tests.sources import ROOT
from tests.stores.backends import opened

SECRET = "a secret of the tests"  # noqa: S105 - of no service


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """The app of `e2e/identity/desk.py`, and its provider."""
    folder: Path = tmp_path_factory.mktemp("desk")
    port = free_port()
    issuer = f"http://127.0.0.1:{port}"
    path = os.pathsep.join([str(ROOT / "server"), str(ROOT)])
    running = Serving(
        folder,
        "e2e.identity.desk:app",
        store=f"sqlite:///{folder / 'desk.db'}",
        agent="desk",
        PYTHONPATH=path,
        OIDC_ISSUER=issuer,
        OIDC_SECRET=SECRET,
    )
    provider = subprocess.Popen(
        ["node", ROOT / "e2e" / "identity" / "provider.mjs", str(port), running.url],  # noqa: S607
        env={**os.environ, "OIDC_SECRET": SECRET, "NODE_ENV": "test"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )

    def answers() -> bool:
        assert provider.poll() is None, "the provider ended"
        try:
            way = f"{issuer}/.well-known/openid-configuration"
            return plain.get(way, timeout=PATIENCE).status_code == 200
        except httpx.TransportError:
            return False

    try:
        until(f"{issuer} answers", answers)
        with running:
            yield running
    finally:
        provider.terminate()
        provider.wait(PATIENCE)


@pytest.fixture(scope="module")
def twin(desk: Serving) -> Iterator[Serving]:
    """Another replica of it, on its store."""
    environment = desk.environment
    with Serving(
        desk.folder, "e2e.identity.desk:app", store=desk.store, agent="desk", **environment
    ) as running:
        yield running


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    context = browser.new_context(viewport={"width": 1360, "height": 860})
    context.set_default_timeout(MILLISECONDS)
    yield context
    context.close()


def say_name(tab: Reviewer, name: str) -> None:
    """Sign in at the provider, which asks."""
    expect(tab.page.get_by_role("heading", name="Who are you?")).to_be_visible()
    tab.page.get_by_label("Name").fill(name)
    tab.page.get_by_role("button", name="Go on").click()


def come_in(tab: Reviewer, name: str) -> None:
    """Sign in where a page asks for it, in a browser that the provider does not know."""
    expect(tab.page.get_by_role("heading", name="Sign in to continue")).to_be_visible()
    tab.page.get_by_role("link", name="Continue with 127.0.0.1").click()
    say_name(tab, name)


def sign_in(tab: Reviewer, path: str = "inbox") -> None:
    """Open a view, signed out, and come back to it."""
    tab.open(path)
    come_in(tab, "lea")
    expect(tab.page.get_by_role("button", name="Sign out").first).to_be_visible()


def ask(tab: Reviewer, thread: str) -> None:
    """Have the agent ask, as the page would."""
    body = run_input(thread, text="pay")
    status = tab.page.evaluate(
        """async (body) => {
            const headers = { "content-type": "application/json", accept: "text/event-stream" };
            const way = { method: "POST", headers, body: JSON.stringify(body) };
            const response = await fetch("/agents/desk", way);
            await response.text();
            return response.status;
        }""",
        body,
    )
    assert status == 200


def test_a_person_signs_in_approves_by_a_fresh_sign_in_and_signs_out(
    desk: Serving, context: BrowserContext
) -> None:
    """And stays where they were; no script sees the session."""
    tab = Reviewer(desk, context.new_page())
    sign_in(tab)
    expect(tab.page.get_by_text("lea · lead")).to_be_visible()
    assert tab.page.evaluate("document.cookie") == ""
    tab.finds_no_barrier()
    ask(tab, "signed")
    tab.rows_of("signed").click()
    again = tab.question.get_by_role("button", name="Sign in again to approve")
    expect(again).to_be_visible()
    expect(tab.question.get_by_role("button", name="Approve", exact=True)).to_have_count(0)
    where = tab.page.url
    tab.finds_no_barrier()
    again.click()
    say_name(tab, "lea")
    tab.question.get_by_role("button", name="Approve", exact=True).click()
    tab.sees("Approved")
    assert tab.page.url == where
    second = Reviewer(desk, context.new_page())
    second.open()
    second.page.get_by_role("button", name="Sign out").first.click()
    for each in (second, tab):
        heading = each.page.get_by_role("heading", name="Sign in to continue")
        expect(heading).to_be_visible()
    tab.finds_no_barrier()
    assert tab.page.evaluate("fetch('/me').then((response) => response.status)") == 401


def test_a_session_that_ends_in_mid_form_keeps_what_was_written(
    desk: Serving, context: BrowserContext
) -> None:
    """The answer is there after the sign-in, to be sent; a second tab has noticed."""
    tab = Reviewer(desk, context.new_page())
    sign_in(tab)
    ask(tab, "ended")
    tab.rows_of("ended").click()
    tab.question.get_by_role("button", name="Sign in again to approve").click()
    say_name(tab, "lea")
    second = Reviewer(desk, context.new_page())
    second.open()
    expect(second.page.get_by_role("button", name="Sign out").first).to_be_visible()
    tab.question.get_by_role("button", name="Deny").click()
    tab.question.get_by_role("textbox", name="Reason").fill("paid twice already")
    context.clear_cookies(name="sayso")
    tab.question.get_by_role("button", name="Confirm denial").click()
    expect(tab.page.get_by_role("heading", name="Sign in to continue")).to_be_visible()
    second.page.reload()
    expect(second.page.get_by_role("heading", name="Sign in to continue")).to_be_visible()
    tab.page.get_by_role("link", name="Continue with 127.0.0.1").click()
    expect(tab.question.get_by_text("paid twice already")).to_be_visible()
    expect(second.page.get_by_role("button", name="Sign out").first).to_be_visible()


def test_two_people_of_one_tab_see_nothing_of_each_other(
    desk: Serving, context: BrowserContext
) -> None:
    """What one has half written about a question is not what the other finds there."""
    tab = Reviewer(desk, context.new_page())
    sign_in(tab)
    ask(tab, "shared")
    tab.rows_of("shared").click()

    def denies(name: str, why: str) -> None:
        tab.question.get_by_role("button", name="Sign in again to approve").click()
        say_name(tab, name)
        tab.question.get_by_role("button", name="Deny").click()
        reason = tab.question.get_by_role("textbox", name="Reason")
        expect(reason).to_have_value("")
        reason.fill(why)
        context.clear_cookies()
        tab.question.get_by_role("button", name="Confirm denial").click()

    denies("lea", "lea has paid it")
    come_in(tab, "leo")
    expect(tab.page.get_by_text("leo · lead")).to_be_visible()
    denies("leo", "leo does not know it")
    come_in(tab, "lea")
    expect(tab.question.get_by_text("lea has paid it")).to_be_visible()
    tab.page.get_by_role("button", name="Sign out").first.click()
    expect(tab.page.get_by_role("heading", name="Sign in to continue")).to_be_visible()
    assert tab.page.evaluate("Object.keys(sessionStorage)") == []


def signed_in(desk: Serving) -> httpx.Client:
    """A browser without scripts, in which Lea has signed in."""
    browser = httpx.Client(follow_redirects=True, timeout=PATIENCE)
    asks = browser.get(f"{desk.url}/login", params={"return": "/inbox"})
    assert "Who are you?" in asks.text
    back = browser.post(asks.url, data={"name": "lea"})
    assert (back.status_code, back.url.path) == (200, "/callback")
    return browser


def test_signing_out_at_the_provider_ends_the_session_in_both_replicas(
    desk: Serving, twin: Serving
) -> None:
    """It tells one of them, with a token of its own; who signs in again is asked who that is."""
    with closing(signed_in(desk)) as browser, closing(signed_in(desk)) as elsewhere:

        def statuses() -> list[int]:
            return [browser.get(f"{server.url}/me").status_code for server in (desk, twin)]

        assert statuses() == [200, 200]
        page = browser.get(f"{desk.environment['OIDC_ISSUER']}/session/end")
        fields = dict(re.findall(r'name="(xsrf)" value="(\w+)"', page.text))
        (action,) = re.findall(r'action="([^"]+)"', page.text)
        assert browser.post(action, data={**fields, "logout": "yes"}).status_code == 200
        until("both sessions have ended", lambda: statuses() == [401, 401])
        assert elsewhere.get(f"{twin.url}/me").status_code == 200
        assert "Who are you?" in browser.get(f"{desk.url}/login").text
    assert ends(desk)[-1] == "issuer"


def test_signing_out_here_ends_the_session_in_both_replicas_and_not_the_provider_s(
    desk: Serving, twin: Serving
) -> None:
    """So who signs in again is not asked who that is."""
    with closing(signed_in(desk)) as browser:
        origin = {"origin": twin.url}
        assert browser.post(f"{twin.url}/logout", headers=origin).status_code < 300
        for server in (desk, twin):
            assert browser.get(f"{server.url}/me").status_code == 401
        again = browser.get(f"{desk.url}/login", params={"return": "/inbox"})
        assert again.url.path == "/callback"
        assert browser.get(f"{twin.url}/me").status_code == 200
    assert ends(desk)[-1] == "logout"


def ends(desk: Serving) -> list[str]:
    """By which way sessions were ended, as the trail has it."""

    async def read() -> list[str]:
        async with opened(open_store(desk.store)) as store:
            rows = (await store.audit("default", PageRequest(limit=500), thread_id="")).items
            contents = [
                json.loads(row.content or b"{}") for row in rows if row.kind == "signed_out"
            ]
            return [content["channel"] for content in contents]

    # Once a test has had a page, a loop runs in this thread.
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, read()).result()
