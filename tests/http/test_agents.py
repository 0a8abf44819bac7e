"""What agents say about themselves."""

from typing import Any

import pytest

from sayso.agents import approval
from sayso.agents.tools import Tool
from sayso.agents.toolset import Tools
from sayso.http.rest.agents import capabilities
from tests.asgi import call
from tests.contract.requirements import requirement
from tests.http.stub import AGENTS, TOOLS, edge, lookup
from tests.judge import capability_faults


async def test_agents_are_listed_by_name() -> None:
    """Lists are `items`; what is empty is left out (design 5)."""
    answer = await call(edge(), "GET", "/agents")
    assert answer.status == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.json == {
        "items": [
            {"name": "support", "description": "Helps.", "version": "1"},
            {"name": "plain"},
        ]
    }


async def test_an_agent_shows_its_tools_and_when_they_ask() -> None:
    """For whoever builds a page over it (design 5)."""
    answer = await call(edge(), "GET", "/agents/support/")
    assert answer.json["tools"] == [
        {
            "name": "issue_refund",
            "description": "Gives money back.",
            "parameters": TOOLS["issue_refund"].parameters,
            "approval": "when",
            "editable": True,
        },
        {
            "name": "lookup",
            "description": "Reads.",
            "parameters": TOOLS["lookup"].parameters,
            "approval": "never",
            "editable": False,
        },
    ]


@pytest.mark.parametrize("path", ["/agents/nobody", "/agents/nobody/capabilities"])
async def test_an_agent_that_is_not_there_is_unknown(path: str) -> None:
    """With the code that says so (design 5)."""
    answer = await call(edge(), "GET", path)
    assert (answer.status, answer.json["code"]) == (404, "unknown_agent")


@requirement("CP-01", "CP-02", "CP-05", "CP-08", "TR-35")
@pytest.mark.parametrize("name", AGENTS.names())
async def test_a_declaration_has_the_shape_of_agent_capabilities(name: str) -> None:
    """Closed groups, no unknown member, no null (CP-01)."""
    answer = await call(edge(), "GET", f"/agents/{name}/capabilities")
    assert answer.status == 200
    assert capability_faults(answer.json) == []
    assert b"null" not in answer.body
    assert answer.json["transport"] == {"streaming": True}


def tools_of(*tools: Tool[..., Any]) -> Tools:
    """The tools of an app."""
    held = Tools()
    for tool in tools:
        held.add(tool)
    return held


@requirement("CP-04")
def test_a_declaration_says_only_what_holds() -> None:
    """Approvals need a tool that asks, edits one that may be edited (CP-04)."""
    agent = AGENTS.require("plain")
    free = Tool(lookup, name="free", approval=approval.never)
    asks = Tool(lookup, name="asks", approval=approval.always)
    edits = Tool(lookup, name="edits", approval=approval.when(lambda: True), editable=True)
    cases: list[list[Tool[..., Any]]] = [[], [free], [free, asks], [asks, edits]]
    found = [capabilities(agent, tools_of(*tools))["humanInTheLoop"] for tools in cases]
    always = {"supported": True, "interrupts": True}
    assert found == [
        always | {"approvals": False, "approveWithEdits": False},
        always | {"approvals": False, "approveWithEdits": False},
        always | {"approvals": True, "approveWithEdits": False},
        always | {"approvals": True, "approveWithEdits": True},
    ]
    assert capabilities(agent, tools_of())["tools"] == {"supported": False, "items": []}
