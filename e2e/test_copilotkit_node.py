"""The real CopilotKit client of other releases, and with its own Node runtime in between."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from e2e.node_runtime import node_runtime
from e2e.shop import RUNTIME, WAIT, Opens, is_stop
from tests.contract.requirements import requirement
from tests.process.replicas import Serving
from tests.server import DemoServer, until
from tests.sources import ROOT

PATHS = ["/copilotkit/agent/ops/run", "/agents/ops?client=copilotkit"]
"""Where its agent may point, so that a page can go on."""


@pytest.fixture(scope="module", params=PATHS, ids=["mount", "named"])
def node(request: pytest.FixtureRequest, shop_server: DemoServer) -> Iterator[str]:
    """The runtime in front of the demo."""
    with node_runtime(shop_server, request.param) as url:
        yield url


@requirement("CL-08", "TR-03")
def test_questions_and_refusals_pass_through_the_runtime(shop: Opens, node: str) -> None:
    """One answer, one effect; a form is asked again with why; two questions; none is stuck."""
    tab = shop("rest", url=node, extra="&plain")
    tab.say("quarterly")
    for _ in range(2):
        form = tab.card("figures")
        form.get_by_label("Year").fill("1999")
        form.get_by_role("button", name="Send").click()
        expect(form.get_by_role("alert")).to_be_visible(timeout=WAIT)
        expect(form.get_by_label("Year")).to_have_value("", timeout=WAIT)
    form.get_by_label("Quarter").select_option("Q3")
    form.get_by_label("Year").fill("2026")
    form.get_by_label("Revenue").fill("1")
    form.get_by_role("button", name="Send").click()
    tab.effects_are("filing")
    tab.has_no_card()
    tab.say("deploy")
    tab.press("Approve", "Deploy it to production?")
    tab.press("Approve", "Really deploy it?")
    tab.effects_are("filing", "deploy")
    tab.has_no_card()
    tab.goes_on()


def test_a_stale_card_after_a_reload_gets_the_thread_as_it_stands(shop: Opens, node: str) -> None:
    """The runtime replays what it has seen, so a card that was answered elsewhere comes again."""
    tab = shop("rest", url=node, extra="&plain")
    tab.say("refund")
    tab.card()
    other = shop("rest", thread=tab.thread)
    other.press("Approve")
    other.effects_are("refund")
    tab.reload()
    tab.press("Deny")
    tab.has_no_card()
    tab.shows("Refunded 240.00 for order A-17.")
    tab.goes_on()
    tab.effects_are("refund")


@pytest.mark.parametrize("path", PATHS, ids=["mount", "named"])
@requirement("CK-07", "LC-04")
def test_an_answer_whose_run_fails_leaves_the_page_free_behind_the_runtime(
    shop: Opens, accounts: Serving, path: str
) -> None:
    """It lets go of the question before it is told the error."""
    with node_runtime(accounts, path) as url:
        tab = shop("rest", server=accounts, url=url, extra="&plain")
        tab.say("break")
        tab.press("Approve", "Go on?")
        tab.thread_is("failed")
        tab.has_no_card()
        tab.goes_on()


@pytest.mark.parametrize("way", [*RUNTIME, "direct"])
def test_the_core_of_the_next_release_does_the_same(shop: Opens, way: str) -> None:
    """1.75 under the hooks of 1.74: no suggestion runs; cards, a reload, a chain, a refusal."""
    tab = shop(way, built="next/", extra="&suggestions")
    tab.say("email")
    expect(tab.cards).to_have_count(3, timeout=WAIT)
    tab.reload()
    expect(tab.cards).to_have_count(3, timeout=WAIT)
    tab.press("Approve", "ada@")
    tab.press("Deny", "sam@")
    tab.press("Cancel", "everyone@")
    tab.effects_are("email")
    tab.has_no_card()
    tab.say("deploy")
    tab.press("Approve", "Deploy it to production?")
    tab.press("Approve", "Really deploy it?")
    tab.effects_are("email", "deploy")
    tab.say("quarterly")
    form = tab.card("figures")
    form.get_by_label("Year").fill("1999")
    form.get_by_role("button", name="Send").click()
    expect(form.get_by_role("alert")).to_be_visible(timeout=WAIT)
    tab.press("Cancel")
    tab.has_no_card()
    tab.goes_on()
    assert any("copilotkitSuggest" in (request.post_data or "") for request in tab.sent)
    tab.effects_are("email", "deploy")


@pytest.mark.parametrize("way", [*RUNTIME, "direct"])
@requirement("EN-08", "ID-05")
def test_digits_that_the_page_rounds_are_refused_and_can_be_approved(
    shop: Opens, accounts: Serving, way: str
) -> None:
    """What is proposed runs as it is; its rounded neighbour is asked about again."""
    tab = shop(way, server=accounts, extra="&plain")
    tab.say("transfer")
    tab.press("Edit", "9007199254740993")
    expect(tab.card().get_by_label("Arguments")).to_have_value(re.compile("9007199254740992"))
    tab.press("Approve with changes")
    expect(tab.card().get_by_role("alert")).to_contain_text("your client rounds it", timeout=WAIT)
    tab.press("Approve", "9007199254740993")
    tab.shows("moved 10.5 to 9007199254740993")
    tab.has_no_card()
    tab.goes_on()


def test_a_stop_begins_no_further_effect_where_the_agent_wants_a_reader(
    shop: Opens, tmp_path: Path
) -> None:
    """The runtime only drops its connection: what is under way ends, and nothing else begins."""
    path = os.pathsep.join([str(ROOT / "server"), str(ROOT)])
    store = f"sqlite:///{tmp_path / 'pieces.db'}"
    server = Serving(
        tmp_path, "e2e.pieces:app", store=store, PYTHONPATH=path, SAYSO_TEST_DATA=str(tmp_path)
    )
    hold, begun = tmp_path / "hold", tmp_path / "begun"
    hold.touch()
    with server, node_runtime(server, PATHS[0]) as url:
        tab = shop("rest", server=server, url=url)
        tab.say("work")
        until("the first piece is under way", begun.exists)
        with tab.page.expect_response(is_stop):
            tab.stop.click()
        hold.unlink()
        tab.thread_is("cancelled")
        tab.goes_on()
        assert begun.read_text() == "first\n"
