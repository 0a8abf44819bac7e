"""Two people, two tokens: who may decide has what it takes to decide, who may not is not asked."""

from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, BrowserContext, expect

from e2e.playground import MILLISECONDS
from e2e.reviewer import Reviewer
from tests.patience import PATIENCE
from tests.process.replicas import Serving
from tests.server import run_input
from tests.sources import ROOT

Person = Callable[[str], Reviewer]


@pytest.fixture(scope="module")
def company(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """The app of `e2e/company.py`."""
    folder: Path = tmp_path_factory.mktemp("company")
    store = f"sqlite:///{folder / 'company.db'}"
    path = f"{ROOT / 'server'}:{ROOT}"
    with Serving(folder, "e2e.company:app", store=store, agent="desk", PYTHONPATH=path) as running:
        yield running


@pytest.fixture
def person(company: Serving, browser: Browser) -> Iterator[Person]:
    """Somebody in a browser of their own, signed in by their name."""
    contexts: list[BrowserContext] = []

    def signed_in(name: str) -> Reviewer:
        context = browser.new_context(viewport={"width": 1360, "height": 860})
        context.set_default_timeout(MILLISECONDS)
        context.add_init_script(f"sessionStorage.setItem('sayso-token', '{name}');")
        contexts.append(context)
        return Reviewer(company, context.new_page())

    yield signed_in
    for context in contexts:
        context.close()


def approve_by_key(reviewer: Reviewer) -> None:
    """Say yes to the question that is open, once it is there to be read."""
    expect(reviewer.question.get_by_role("button", name="Approve")).to_be_visible(
        timeout=MILLISECONDS
    )
    reviewer.press("a")


def test_an_approver_decides_by_what_led_to_it_and_the_requester_waits(person: Person) -> None:
    """Ann is told whom it waits for and can only withdraw; lea reads the turn, and decides."""
    ann, lea = person("ann"), person("lea")
    ann.open("play/desk/two-people")
    ann.say("please refund A-17, the box was crushed")
    card = ann.page.get_by_role("region", name="pay")
    expect(card.get_by_text("Waits for the role lead")).to_be_visible(timeout=MILLISECONDS)
    expect(card.get_by_role("button", name="Approve")).to_have_count(0)
    expect(card.get_by_role("button", name="Withdraw request")).to_be_visible()
    expect(ann.page.get_by_text("Waiting for others", exact=True)).to_be_visible()
    lea.open()
    lea.rows_of("two-people").click()
    context = lea.page.get_by_role("complementary", name="Context")
    expect(context.get_by_role("heading", name="Asked for ann")).to_be_visible()
    for words in ("please refund A-17, the box was crushed", "look_up", "A-17 came damaged"):
        expect(context.get_by_text(words)).to_be_visible()
    # The thread is not hers, so nothing leads there.
    expect(lea.question.get_by_role("link", name="conversation two-people")).to_have_count(0)
    lea.finds_no_barrier()
    lea.open("thread/desk/two-people")
    lea.page.get_by_role("link", name="Answer its question").click()
    expect(context.get_by_text("look_up")).to_be_visible()
    approve_by_key(lea)
    lea.sees("Approved")
    ann.shows("Paid 240.")


def test_one_agreement_of_two_is_taken_back_in_the_chat_too(
    company: Serving, person: Person
) -> None:
    """Whoever owns the thread and may agree takes it back where it was given; others see it."""
    lea, fay = person("lea"), person("fay")
    lea.open("play/desk/quorum")
    lea.say("wire it")
    card = lea.page.get_by_role("region", name="wire")
    card.get_by_role("button", name="Approve").click()
    expect(card.get_by_text("You approved · waits for the role finance")).to_be_visible(
        timeout=MILLISECONDS
    )
    card.get_by_role("button", name="Take back").click()
    expect(card.get_by_role("button", name="Approve")).to_be_visible()
    fay.open()
    fay.counts("1 open")
    fay.rows_of("quorum").click()
    approve_by_key(fay)
    fay.sees("You approved")
    fay.counts("0 open, 1 waiting for others")
    expect(fay.rows_of("quorum")).to_contain_text("you approved, waits for the role lead")
    fay.question.get_by_role("button", name="Take back").click()
    expect(fay.question.get_by_role("button", name="Approve")).to_be_visible()
    approve_by_key(fay)
    fay.sees("You approved")
    card.get_by_role("button", name="Approve").click()
    lea.shows("Wired 240.")


def test_an_own_answer_is_sent_before_another_has_decided(person: Person) -> None:
    """It is kept, over a reload as well; then the lead's yes carries the turn on."""
    ann, lea = person("ann"), person("lea")
    ann.open("play/desk/mixed")
    ann.say("do both")
    mine = ann.page.get_by_role("region", name="Confirmation")
    mine.get_by_role("button", name="Approve").click()
    ann.page.get_by_role("button", name="Send your answer").click()
    kept = ann.page.get_by_text("Your answer is saved")
    expect(kept).to_be_visible(timeout=MILLISECONDS)
    ann.page.reload()
    expect(kept).to_be_visible(timeout=MILLISECONDS)
    expect(ann.page.get_by_text("Waits for the role lead")).to_be_visible()
    ann.page.get_by_role("button", name="Take back").click()
    mine.get_by_role("button", name="Approve").click()
    ann.page.get_by_role("button", name="Send your answer").click()
    expect(kept).to_be_visible(timeout=MILLISECONDS)
    ann.finds_no_barrier()
    lea.open()
    lea.rows_of("mixed").click()
    approve_by_key(lea)
    ann.shows("Paid 240.")


def test_a_stranger_finds_nothing(company: Serving, person: Person) -> None:
    """Neither the question nor what led to it nor the thread."""
    ann = httpx.Client(
        base_url=company.url, headers={"authorization": "Bearer ann"}, timeout=PATIENCE
    )
    with ann:
        ann.post("/agents/desk", json=run_input("strange", text="refund")).raise_for_status()
        (asked,) = ann.get("/interrupts?threadId=strange").json()["items"]
    bob = person("bob")
    bob.open()
    bob.counts("0 open")
    bob.open(f"inbox/{asked['id']}")
    expect(bob.page.get_by_role("complementary", name="Context")).to_have_count(0)
    bob.open("thread/desk/strange")
    expect(bob.page.get_by_text("Conversation not found")).to_be_visible(timeout=MILLISECONDS)
