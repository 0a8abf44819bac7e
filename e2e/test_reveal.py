"""A secret of a call: shown to whoever asks for it, hidden again, and refused in words."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Page, expect

from e2e.playground import MILLISECONDS
from e2e.reviewer import Reviewer
from tests.process.replicas import Serving
from tests.server import run_input
from tests.sources import ROOT

PHRASE = "hunter2 & more"
"""As `e2e/bank.py` has it."""
LOOKS = 50
"""How often one person is shown one secret."""


@pytest.fixture
def bank(tmp_path: Path) -> Iterator[Serving]:
    """The app of `e2e/bank.py`."""
    path = f"{ROOT / 'server'}:{ROOT}"
    store = f"sqlite:///{tmp_path / 'bank.db'}"
    with Serving(tmp_path, "e2e.bank:app", store=store, agent="teller", PYTHONPATH=path) as running:
        yield running


def test_a_secret_is_shown_by_a_key_hidden_again_and_refused_in_words(
    bank: Serving, page: Page
) -> None:
    """By keyboard, by names that a screen reader says, with no barrier in any of its states."""
    with httpx.Client(base_url=bank.url, timeout=MILLISECONDS / 1000) as client:
        client.post("/agents/teller", json=run_input("vault", text="go")).raise_for_status()
        (asked,) = client.get("/interrupts").json()["items"]
        person = Reviewer(bank, page)
        person.open(f"inbox/{asked['id']}")
        secrets = person.question.get_by_role("list", name="Secrets")
        show = secrets.get_by_role("button", name="Show password")
        hide = secrets.get_by_role("button", name="Hide password")
        expect(show).to_be_visible()
        expect(person.question.get_by_text("secret, not shown")).to_be_visible()
        assert PHRASE not in page.content()
        person.finds_no_barrier()
        person.tab_to(show)
        person.press("Enter")
        expect(secrets.get_by_role("status")).to_have_text(PHRASE)
        expect(hide).to_be_focused()
        person.finds_no_barrier()
        person.press("Enter")
        expect(show).to_be_focused()
        assert PHRASE not in page.content()
        for _ in range(LOOKS - 1):
            look = client.post(f"/interrupts/{asked['id']}/reveal", json={"pointer": "/password"})
            assert look.json() == {"value": PHRASE}
    person.press("Enter")
    status = secrets.get_by_role("status")
    expect(status).to_have_text("You were shown this secret 50 times, and will be no more.")
    expect(show).to_be_focused()
    person.finds_no_barrier()
    assert [fault for fault in person.faults if "429" not in fault] == []
