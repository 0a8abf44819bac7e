"""Breakpoints in the console: looked at, changed and gone on from, in the chat and in the inbox."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from e2e.reviewer import Reviewer
from tests.process.replicas import Serving
from tests.sources import ROOT

BIG = 9007199254740993


@pytest.fixture(scope="module")
def stops(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """The agent of `e2e/forms.py` with a breakpoint behind its step and one before its tool."""
    folder: Path = tmp_path_factory.mktemp("stops")
    store = f"sqlite:///{folder / 'forms.db'}"
    path = f"{ROOT / 'server'}:{ROOT}"
    with Serving(folder, "e2e.forms:app", store=store, agent="stops", PYTHONPATH=path) as running:
        yield running


@pytest.fixture
def person(stops: Serving, page: Page) -> Iterator[Reviewer]:
    """One tab. A script error or a broken policy fails the test."""
    person = Reviewer(stops, page)
    yield person
    assert person.faults == []


def changes_result(person: Reviewer, card: Locator, before: str, after: str) -> None:
    """Write another number where a result says this one, and go on with it."""
    field = card.get_by_role("textbox", name="Grams")
    expect(field).to_have_value(before)
    field.fill(after)
    person.finds_no_barrier()
    card.get_by_role("button", name="Continue with changes").click()


def test_a_result_and_arguments_are_changed_in_the_chat(person: Reviewer) -> None:
    person.open("play/stops/chat")
    person.say("parcel")
    card = person.cards("Breakpoint")
    expect(card.get_by_role("region", name="Result")).to_contain_text(str(BIG))
    card.get_by_role("button", name="Edit result").click()
    changes_result(person, card, str(BIG), str(BIG + 2))
    person.shows(f"parcel has {BIG + 2} g")
    card = person.cards("Breakpoint publish")
    expect(card).to_contain_text("a draft")
    card.get_by_role("button", name="Edit arguments").click()
    field = card.get_by_role("textbox", name="Text")
    expect(field).to_have_value("a draft\nof two lines")
    field.fill("the text\nof two lines")
    card.get_by_role("textbox", name="Copies").fill("no number")
    card.get_by_role("button", name="Continue with changes").click()
    expect(card.get_by_text("Must be a number.")).to_be_visible()
    card.get_by_role("textbox", name="Copies").fill("3")
    card.get_by_role("button", name="Continue with changes").click()
    person.shows('published "the text\\nof two lines" in 3')


def test_a_result_and_arguments_are_changed_in_the_inbox_by_key(person: Reviewer) -> None:
    person.server.run("mail", text="parcel")
    person.open()
    row = person.rows().filter(has_text="mail")
    expect(row).to_have_count(1)
    row.click()
    expect(person.question.get_by_role("button", name="Edit result")).to_be_visible()
    person.press("e")
    expect(person.question.get_by_role("textbox", name="Parcel")).to_be_focused()
    changes_result(person, person.question, str(BIG), "7")
    person.sees("Continue with changes")
    expect(person.question.get_by_role("region", name="Edited result")).to_contain_text("7")
    row = person.rows().filter(has_text="publish")
    expect(row).to_have_count(1)
    row.click()
    person.sees("a draft")
    person.press("e")
    field = person.question.get_by_role("textbox", name="Text")
    expect(field).to_be_focused()
    person.press("Control+A", "x")
    person.question.get_by_role("button", name="Continue with changes").click()
    person.sees("Continue with changes")
    person.open("thread/stops/mail")
    expect(person.page.get_by_role("region", name="Result")).to_contain_text(str(BIG))
    said = person.page.get_by_role("region", name="Messages")
    expect(said.get_by_text("parcel has 7 g")).to_be_visible()
    expect(said.get_by_text('published "x" in 1').last).to_be_visible()


def test_a_breakpoint_is_one_click_where_nothing_is_changed(person: Reviewer) -> None:
    person.open("play/stops/plain")
    person.say("parcel")
    card = person.cards("Breakpoint")
    card.get_by_role("button", name="Edit result").click()
    card.get_by_role("textbox", name="Grams").press("Escape")
    expect(card.get_by_role("button", name="Continue")).to_be_focused()
    card.get_by_role("button", name="Continue").click()
    person.shows(f"parcel has {BIG} g")
    person.cards("Breakpoint publish").get_by_role("button", name="Stop").click()
    expect(person.cards("Breakpoint publish")).to_have_count(0)
