"""What CopilotKit's pages really sent, through its runtime protocol, in both transports."""

import copy
from itertools import cycle
from typing import Any

import pytest

from tests.contract.rest import call
from tests.contract.runtime import TRANSPORTS, Page, page
from tests.contract.server import Server, approve
from tests.contract.test_captured import FOLDER, OUTCOMES, begun, captured, desk_of, transplanted

NAMES = sorted(name for name in OUTCOMES if name.startswith("copilotkit"))
CONNECTS = sorted(path.stem for path in FOLDER.glob("copilotkit-runtime-*connect*.json"))


@pytest.mark.parametrize(("name", "transport"), list(zip(NAMES, cycle(TRANSPORTS), strict=False)))
async def test_a_captured_answer_does_what_its_page_meant(
    server: Server, name: str, transport: str
) -> None:
    """As at `/agents/{a}`, save that a refusal leaves the card live (TR-03)."""
    tab = page(server, desk_of(server), transport)
    _, first, body = await begun(name, tab)
    sent = transplanted(body, tab, first.interrupts)
    tab.model.messages = copy.deepcopy(sent["messages"])
    run = await tab.run(sent)
    outcome, effects = OUTCOMES[name]
    assert run.outcome == ("success" if outcome == "success" else "interrupt")
    assert server.effects == effects
    if outcome != "success":
        assert [i["id"] for i in run.interrupts] == [i["id"] for i in first.interrupts]
        await tab.resume(approve())
        assert len(server.effects) == 1
        return
    shown = (await tab.again().connect()).snapshot
    assert {m["id"] for m in tab.model.messages} == {m["id"] for m in shown}
    again = await tab.run({**sent, "runId": "once-more"})
    assert (again.outcome, server.effects) == ("success", effects)


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("name", CONNECTS)
async def test_a_captured_connect_shows_what_waits(
    server: Server, name: str, transport: str
) -> None:
    """A1: messages, state, cards; under the page's own run id, which the server never ran."""
    tab = page(server, desk_of(server), transport)
    _, first, _ = await begun("copilotkit-resume-single", tab)
    fresh = tab.again()
    run = await fresh.run({**captured(name), "threadId": tab.thread}, action="/connect")
    assert [i["id"] for i in run.interrupts] == [i["id"] for i in first.interrupts]
    assert (await fresh.resume(approve())).outcome == "success"
    assert len(server.effects) == 1


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_a_captured_connect_to_a_thread_that_nobody_knows_is_silent(
    server: Server, transport: str
) -> None:
    """A page's first load: no error, nothing stored."""
    tab = page(server, desk_of(server), transport)
    stored = server.dump()
    run = await tab.run(captured("copilotkit-runtime-rest-connect-pending"), action="/connect")
    assert (run.types, run.outcome) == (["RUN_STARTED", "RUN_FINISHED"], "success")
    assert server.dump() == stored


async def test_a_stop_after_a_reload_has_a_type_and_no_body(server: Server) -> None:
    """Captured so: `Content-Type: application/json` over nothing at all."""
    tab: Page = page(server, desk_of(server), "rest")
    headers: dict[str, Any] = {"content-type": "application/json", "content-length": "0"}
    path = f"/copilotkit/agent/desk/stop/{tab.thread}"
    run = await call(server.app, "POST", path, headers=headers)
    assert (run.status, run.json["stopped"]) == (200, False)
