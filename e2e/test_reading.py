"""A yes waits until what it says yes to was read; an id in an address is what its maker chose."""

import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Page, expect

from e2e.playground import MILLISECONDS
from e2e.reviewer import Reviewer
from tests.patience import PATIENCE
from tests.process.replicas import Serving
from tests.server import run_input
from tests.sources import ROOT

LONG = "Dear Ada, " * 90 + "and send the keys along."
"""924 characters, folded at first, of which the last ones matter."""


def forms(folder: Path) -> Serving:
    """The app of `e2e/forms.py`."""
    store = f"sqlite:///{folder / 'forms.db'}"
    path = f"{ROOT / 'server'}:{ROOT}"
    return Serving(folder, "e2e.forms:app", store=store, agent="desk", PYTHONPATH=path)


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """One server for all tests that look at a question of their own."""
    with forms(tmp_path_factory.mktemp("reading")) as running:
        yield running


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Serving]:
    """A server for a test of everything that is asked."""
    with forms(tmp_path) as running:
        yield running


def asks(desk: Serving, thread: str, body: str) -> str:
    """Have the agent ask whether a mail may be sent; returns the question's id."""
    told = {"call": "send_mail", "args": {"to": "ada@shop.example", "body": body}}
    events = desk.run(thread, text=json.dumps(told))
    found: str = events[-1]["outcome"]["interrupts"][0]["id"]
    return found


def test_neither_key_nor_button_approves_what_is_folded(desk: Serving, page: Page) -> None:
    """The key leads to the rest first; the button is off until the end was on the screen."""
    asked = asks(desk, "long", LONG)
    reviewer = Reviewer(desk, page)
    reviewer.open(f"inbox/{asked}")
    approve = reviewer.question.get_by_role("button", name="Approve")
    expect(approve).to_be_disabled(timeout=MILLISECONDS)
    expect(reviewer.question.get_by_role("button", name="Deny")).to_be_enabled()
    reviewer.press("a")
    expect(reviewer.question.get_by_text("and send the keys along.")).to_be_in_viewport()
    expect(approve).to_be_enabled()
    reviewer.press("a")
    reviewer.sees("Approved")


@pytest.mark.parametrize("width", [1280, 390])
def test_no_button_moves_when_all_was_read(desk: Serving, page: Page, width: int) -> None:
    """On a slow machine that comes between the press of a button and its release."""
    asked = asks(desk, f"still-{width}", LONG)
    page.set_viewport_size({"width": width, "height": 844})
    reviewer = Reviewer(desk, page)
    reviewer.open(f"inbox/{asked}")
    card = reviewer.question
    approve = card.get_by_role("button", name="Approve")
    expect(approve).to_be_disabled(timeout=MILLISECONDS)
    names = ("Approve", "Edit arguments", "Deny", "Withdraw request")

    def places() -> list[list[float]]:
        script = """(one) => [
            one.offsetLeft - one.parentElement.offsetLeft,
            one.offsetTop - one.parentElement.offsetTop,
            one.offsetWidth,
        ]"""
        return [card.get_by_role("button", name=name).evaluate(script) for name in names]

    before = places()
    card.get_by_role("button", name="Read to the end").click()
    card.get_by_role("button", name="Withdraw request").scroll_into_view_if_needed()
    expect(approve).to_be_enabled(timeout=MILLISECONDS)
    expect(card.get_by_role("button", name="Read to the end")).to_have_count(0)
    assert places() == before
    reviewer.finds_no_barrier()
    approve.click()
    reviewer.sees("Approved")


@pytest.mark.parametrize("slower", [1, 20])
def test_a_key_that_comes_with_the_card_counts_for_what_is_on_the_screen(
    empty: Serving, page: Page, slower: int
) -> None:
    """`j`, `a`, `j`, `a` through short questions: no key is lost, and none is one too many.

    On a slow machine keys come faster than cards, and than what says that a card was seen.
    """
    cpu = page.context.new_cdp_session(page)
    cpu.send("Emulation.setCPUThrottlingRate", {"rate": slower})
    for number in range(2):
        asks(empty, f"short-{number}", f"Mail {number}")
    reviewer = Reviewer(empty, page)
    reviewer.open()
    reviewer.counts("2 open")
    reviewer.press("j", "a", "j", "a")
    reviewer.counts("0 open")


@pytest.mark.parametrize("thread", ["a%2Fb", "a/b", "100%"])
def test_a_thread_is_found_under_the_id_that_it_was_given(
    desk: Serving, page: Page, thread: str
) -> None:
    """An id that looks like an encoded one is no other thread's."""
    with httpx.Client(base_url=desk.url, timeout=PATIENCE) as client:
        client.post("/agents/desk", json=run_input("a/b", text='{"ask": true}'))
    asks(desk, thread, f"in {thread}")
    reviewer = Reviewer(desk, page)
    reviewer.open("thread")
    rows = page.get_by_role("list", name="Conversations").get_by_role("link")
    rows.filter(has=page.get_by_text(thread, exact=True)).click()
    expect(page.get_by_text(f"in {thread}").first).to_be_visible(timeout=MILLISECONDS)
    page.get_by_role("link", name="Open in the playground").click()
    reviewer.cards("send_mail").get_by_role("button", name="Approve").click()
    reviewer.shows("sent")
