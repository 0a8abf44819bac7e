"""The real CopilotKit client when a server is away or refuses, and beside other clients."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from e2e.shop import RUNTIME, WAIT, WAYS, Opens
from e2e.vite import developed
from e2e.waiting import until_beside
from tests import plain
from tests.contract.requirements import requirement
from tests.patience import PATIENCE
from tests.process.dialects import ALL
from tests.process.replicas import Replica
from tests.server import DemoServer, run_input
from tests.stores.proxy import Proxy

ELSEWHERE = {
    "rest": ("terminal", "session"),
    "single": ("session", "client"),
    "agent": ("client", "terminal"),
}
"""For each way of the page: who answers what it opened, and who opens what it answers."""


def test_without_the_runtime_the_page_gets_over_a_refused_answer(shop: Opens) -> None:
    """The hook drops the card at RUN_ERROR (CK-07); a new provider brings it back, with why."""
    tab = shop("agent")
    tab.say("quarterly")
    tab.card("figures").get_by_role("button", name="Send").click()
    expect(tab.page.get_by_role("alert")).to_be_visible(timeout=WAIT)
    form = tab.card("figures")
    form.get_by_label("Year").fill("2026")
    form.get_by_label("Revenue").fill("1")
    form.get_by_role("button", name="Send").click()
    tab.effects_are("filing")
    tab.page.get_by_role("button", name="Dismiss").click()
    tab.goes_on()


def test_an_answer_to_a_server_that_is_away_can_be_given_when_it_is_back(
    shop: Opens, tmp_path: Path, origin: str
) -> None:
    """L1, CK-07: the pages look until it answers, and show their cards without a reload."""
    with DemoServer(tmp_path, watched=False, options=("--cors", origin)) as server:
        tabs = [shop(way, server=server) for way in WAYS]
        for tab in tabs:
            tab.say("refund")
            tab.card()
        server.kill()
        for tab in tabs:
            tab.press("Approve")
            expect(tab.page.get_by_role("alert")).to_be_visible(timeout=WAIT)
        server.start()
        for tab in tabs:
            tab.press("Approve")
            tab.effects_are("refund")
            tab.has_no_card()


@pytest.mark.parametrize("way", WAYS)
@requirement("LG-14")
def test_what_is_opened_here_is_answered_elsewhere_and_the_other_way_round(
    shop: Opens, way: str
) -> None:
    """Design 5: the page's question in a session and on a terminal, theirs on the page."""
    tab = shop(way)
    tab.say("refund")
    tab.card()
    answerer, opener = (ALL[name] for name in ELSEWHERE[way])
    apart(answerer.answers, tab.server, tab.thread)
    tab.effects_are("refund")
    tab.reload()
    tab.shows("Refunded 240.00 for order A-17.")
    tab.has_no_card()
    other = f"{tab.thread}-other"
    apart(opener.opens, tab.server, other)
    tab.goes_to(other)
    tab.press("Approve")
    tab.effects_are("refund")
    assert not apart(opener.shows, tab.server, other)[0]


def apart(does: Callable[[DemoServer, str], Any], server: DemoServer, thread: str) -> Any:
    """Done in a thread without a loop: Playwright has its own in this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(does, server, thread).result()


def test_the_page_in_development_is_no_stranger(shop_server: DemoServer) -> None:
    """Design 7: Vite's proxy hands its Host on, so the origin of its pages is the server's own."""
    with developed(shop_server) as origin:
        for path in ("/copilotkit/agent/ops/connect", "/agents/ops/connect"):
            answer = plain.post(
                origin + path,
                json=run_input("developed"),
                headers={"origin": origin},
                timeout=PATIENCE,
            )
            assert answer.status_code == 200, answer.text
            assert '"RUN_FINISHED"' in answer.text


def test_a_killed_server_forgets_no_card(shop: Opens, tmp_path: Path, origin: str) -> None:
    """Killed with cards open: the pages answer without a reload, and each runs once (L1)."""
    with DemoServer(tmp_path, watched=False, options=("--cors", origin)) as server:
        all_ways = [shop(way, server=server) for way in WAYS]
        for tab in all_ways:
            tab.say("refund")
            tab.card()
        server.restart()
        for tab in all_ways:
            tab.press("Approve")
            tab.effects_are("refund")
            tab.has_no_card()
            tab.goes_on()


@pytest.mark.parametrize("way", RUNTIME)
@pytest.mark.parametrize("kills", [False, True], ids=["cut", "killed"])
@requirement("CK-07", "LC-04")
def test_a_connection_lost_under_the_work_leaves_the_page_free(
    shop: Opens, held_shop: Replica, way: str, *, kills: bool
) -> None:
    """L1: without any care of the page's own it takes a message, and follows what goes on."""
    proxy = Proxy(f"{held_shop.url}/")
    tab = shop(way, server=held_shop, extra="&plain", url=proxy.url.rstrip("/"))
    held_shop.hold()
    tab.say("slow refund")
    tab.press("Approve")
    tab.shows("Now I rebuild the balance sheet.")
    if kills:
        held_shop.kill()
        held_shop.start()
    else:
        proxy.cut()
    tab.say("hello")
    tab.shows("The agent is still working here.")
    held_shop.release()
    tab.is_idle()
    tab.has_no_card()
    tab.goes_on()
    tab.effects_are("refund", "slow")
    lost = "network error"  # the client's own, for the connection that it lost
    until_beside(tab.page, lost, lambda: lost in tab.faults)
    tab.faults = [fault for fault in tab.faults if fault != lost]
    proxy.close()
