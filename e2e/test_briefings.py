"""Why a call is asked about, and a choice that permits one: in the chat and in the inbox."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from e2e.janitor import UNSEEN
from e2e.playground import MILLISECONDS
from e2e.reviewer import Reviewer
from tests.process.replicas import Serving
from tests.sources import ROOT


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """The app of `e2e/janitor.py`."""
    folder: Path = tmp_path_factory.mktemp("janitor")
    store = f"sqlite:///{folder / 'janitor.db'}"
    path = f"{ROOT / 'server'}:{ROOT}"
    with Serving(
        folder, "e2e.janitor:app", store=store, agent="janitor", PYTHONPATH=path
    ) as running:
        yield running


def says_why(card: Locator) -> None:
    """The reviewer's three questions, each answered once, by whom it is the word of."""
    for words in (
        "Delete 847 values of the archive",
        "It cannot be undone. It touches 847 files.",
        "The agent says",
        "2.1 GB",
    ):
        expect(card.get_by_text(words)).to_have_count(1, timeout=MILLISECONDS)
        expect(card.get_by_text(words)).to_be_visible()
    expect(card.get_by_text("The disk of the archive is 97 % full")).to_be_visible()
    expect(card.get_by_label("Arguments of delete_files")).to_contain_text("old-file-number-00000")


def test_an_irreversible_call_says_why_it_is_asked_about(server: Serving, page: Page) -> None:
    """What it is, why a person is asked, what the agent says, its impact; then the arguments."""
    reviewer = Reviewer(server, page)
    reviewer.open("play/janitor/why")
    reviewer.say("delete")
    says_why(reviewer.cards("delete_files"))
    reviewer.finds_no_barrier()
    reviewer.open()
    row = reviewer.rows().filter(has_text="Delete 847 values of the archive")
    row.click()
    says_why(reviewer.question)
    reviewer.finds_no_barrier()


def test_a_rule_is_named_once(server: Serving, page: Page) -> None:
    """Where the sentence that says why has its name, nothing else repeats it."""
    reviewer = Reviewer(server, page)
    reviewer.open("play/janitor/rule")
    reviewer.say("pay")
    card = reviewer.cards("pay")
    expect(card.get_by_text("Rule 'large sums' asks")).to_be_visible(timeout=MILLISECONDS)
    expect(card.get_by_text("large sums")).to_have_count(1)


def test_a_choice_runs_the_call_that_it_permits(server: Serving, page: Page) -> None:
    """It shows what it runs, with the arguments; nobody is asked about the call again."""
    reviewer = Reviewer(server, page)
    reviewer.open("play/janitor/decide")
    reviewer.say("decide")
    card = page.get_by_role("region").filter(has=page.get_by_role("radio"))
    choice = card.get_by_role("radio", name="Delete all")
    expect(choice).to_have_accessible_name(
        "Delete all They are gone for good. Runs "
        'delete_files(files=[847 values], folder="the archive"). '
        "It cannot be undone. It touches 847 files."
    )
    permit = card.locator("summary", has_text="Arguments of delete_files")
    permit.click()
    expect(card.get_by_label("Arguments of delete_files")).to_contain_text("old-file-number-00000")
    # It stands under the words of its choice.
    words = card.get_by_text("They are gone for good.").bounding_box()
    below = permit.bounding_box()
    assert words is not None
    assert below is not None
    assert abs(below["x"] - words["x"]) <= 2
    assert below["y"] > words["y"]
    reviewer.finds_no_barrier()
    permit.click()
    choice.check()
    # Whoever lets it run has had all of it on the screen.
    chosen = card.get_by_role("button", name="Delete all")
    expect(chosen).to_be_disabled()
    card.get_by_role("button", name="Read to the end").click()
    chosen.scroll_into_view_if_needed()
    expect(chosen).to_be_enabled(timeout=MILLISECONDS)
    chosen.click()
    reviewer.shows("executed: Deleted 847 files of the archive.")


def test_a_sentence_that_no_screen_shows_is_spelled_out(server: Serving, page: Page) -> None:
    """In the message and in the arguments, on the card and in the inbox."""
    reviewer = Reviewer(server, page)
    reviewer.open("play/janitor/unseen")
    reviewer.say("invoice")
    card = reviewer.cards("invoice")
    expect(card.get_by_label("Arguments of invoice")).to_contain_text(
        "Invoice 12U+E0020U+E0061", timeout=MILLISECONDS
    )
    shown = page.locator("body").inner_text()
    assert UNSEEN not in shown
    assert "Invoice 12" in shown
    reviewer.open()
    reviewer.rows().filter(has_text="Invoice 12").click()
    expect(reviewer.question).to_contain_text("U+E0061", timeout=MILLISECONDS)
    assert UNSEEN not in page.locator("body").inner_text()
