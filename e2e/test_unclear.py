"""Effects of which nobody knows whether they happened: told apart, and settled, in a browser."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from e2e.playground import MILLISECONDS
from e2e.reviewer import Reviewer
from tests.process.replicas import Serving
from tests.sources import ROOT


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """The app of `e2e/till.py`."""
    folder: Path = tmp_path_factory.mktemp("till")
    store = f"sqlite:///{folder / 'till.db'}"
    path = f"{ROOT / 'server'}:{ROOT}"
    with Serving(folder, "e2e.till:app", store=store, agent="till", PYTHONPATH=path) as running:
        yield running


def test_three_unclear_steps_are_told_apart_wherever_they_are_shown(
    server: Serving, page: Page
) -> None:
    """Card, inbox and thread page say which order it was; the one without arguments says so."""
    reviewer = Reviewer(server, page)
    reviewer.open("play/till/three")
    reviewer.say("go")
    first, second = reviewer.cards("charge").first, reviewer.cards("charge").last
    expect(first.get_by_label("Arguments of charge")).to_contain_text("A-17", timeout=MILLISECONDS)
    expect(first.get_by_text("Payments of the day at bank.example")).to_be_visible()
    expect(second.get_by_text("charge of 12.50 for B-4")).to_be_visible()
    reviewer.finds_no_barrier()
    reviewer.open()
    rows = reviewer.rows_of("three")
    expect(rows).to_contain_text(["A-17", "B-4", "count"])
    rows.first.click()
    expect(reviewer.question.get_by_label("Arguments of charge")).to_contain_text("A-17")
    expect(reviewer.question.get_by_text("Started")).to_be_visible()
    reviewer.open("thread/till/three")
    timeline = page.get_by_role("list", name="Timeline")
    expect(timeline.get_by_label("Arguments of charge")).to_have_count(2, timeout=MILLISECONDS)
    reviewer.open("play/till/three")
    for card, result in ((first, "receipt A-17"), (second, "receipt B-4")):
        card.get_by_role("radio", name="It happened").check()
        card.get_by_label("Result to continue with").fill(result)
        card.get_by_role("button", name="It happened").click()
    third = reviewer.cards("count")
    third.get_by_role("radio", name="It happened").check()
    third.get_by_label("There is no result").check()
    third.get_by_role("button", name="It happened").click()
    page.get_by_role("button", name="Send 3 answers").click()
    reviewer.shows("The till says ['receipt A-17', 'receipt B-4', None]")


def test_an_unclear_call_is_shown_with_its_arguments_in_the_inbox(
    server: Serving, page: Page
) -> None:
    """No message is there that holds the call: the server says what it was called with."""
    reviewer = Reviewer(server, page)
    reviewer.open("play/till/one")
    reviewer.say("refund")
    expect(reviewer.cards("refund")).to_be_visible(timeout=MILLISECONDS)
    reviewer.open()
    reviewer.rows_of("one").click()
    expect(reviewer.question.get_by_label("Arguments of refund")).to_contain_text("crushed")
