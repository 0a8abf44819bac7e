"""A value of every kind, filled in and sent: what the form sends is what the server takes."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Error, Locator, expect
from pydantic import TypeAdapter

from e2e.kinds import ADD, PAGES, WITHIN, Kind, as_json
from e2e.playground import Playground
from e2e.test_forms import resumes, whole
from e2e.waiting import patient_page
from tests.process.replicas import Serving
from tests.sources import ROOT

FIELDS = "form :is(input:not([type=radio]), select, textarea, .sayso-yesno)"


@pytest.fixture(scope="module")
def asking(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """The app of `e2e/kinds.py`."""
    folder: Path = tmp_path_factory.mktemp("kinds")
    store = f"sqlite:///{folder / 'kinds.db'}"
    path = f"{ROOT / 'server'}:{ROOT}"
    with Serving(folder, "e2e.kinds:app", store=store, agent="kinds", PYTHONPATH=path) as running:
        yield running


def fill_in(card: Locator, kind: Kind) -> None:
    """Type what the kind says into the fields of its card, in their order."""
    at = 0
    for text in kind.typed:
        if text in (ADD, WITHIN):
            add = card.get_by_role("button", name="Add an entry")
            (add.last if text == ADD else add.first).click()
            continue
        field, at = card.locator(FIELDS).nth(at), at + 1
        if text is None:
            continue
        how = field.evaluate("one => one.type")
        if how == "fieldset":
            field.get_by_label(text).check()
        elif how == "checkbox":
            field.check()
        elif how == "select-one":
            field.select_option(label=text)
        else:
            field.fill(text)


def taken(kind: Kind) -> Any:
    """What the code gets for what is sent, as JSON."""
    if isinstance(kind.asked, dict):
        return kind.sent
    return as_json(kind, TypeAdapter(kind.asked).validate_json(json.dumps(kind.sent)))


@pytest.mark.parametrize("name", PAGES)
def test_a_value_of_every_kind_is_filled_in_and_taken(
    asking: Serving, browser: Browser, name: str
) -> None:
    kinds = PAGES[name]
    page = patient_page(browser, timezone_id="UTC", viewport={"width": 1280, "height": 860})
    playground = Playground(asking, page)
    playground.open()
    playground.say(name)
    cards = page.locator(".sayso-group > .sayso-card")
    expect(cards).to_have_count(len(kinds))
    wrong = []
    for card, (called, kind) in zip(cards.all(), kinds.items(), strict=True):
        expect(card).to_contain_text(called)
        try:
            fill_in(card, kind)
            card.get_by_role("button", name=kind.button, exact=True).click()
            expect(card).to_contain_text("· not sent yet")
        except (Error, AssertionError) as error:  # all that is wrong is told
            wrong.append(f"{called}: {error}\n{card.inner_text()}")
    assert not wrong, "\n\n".join(wrong)
    with page.expect_request(resumes) as waiting:
        page.get_by_role("button", name=f"Send {len(kinds)} answers").click()
    sent = [whole(entry) for entry in json.loads(waiting.value.post_data or "")["resume"]]
    assert dict(zip(kinds, sent, strict=True)) == {one: kind.sent for one, kind in kinds.items()}
    expect(page.get_by_text("got [").last).to_be_visible()
    playground.can_write()
    said = page.get_by_role("log", name="Conversation").get_by_text("got [").last.inner_text()
    assert json.loads(said.removeprefix("got ")) == [taken(kind) for kind in kinds.values()]
    assert playground.faults == []
    page.close()
