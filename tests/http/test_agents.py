"""What agents say about themselves."""

import pytest

from sayso.http.agents import AgentRecord, ToolRecord, capabilities
from tests.asgi import call
from tests.contract.requirements import requirement
from tests.http.stub import AGENTS, edge
from tests.judge import capability_faults


async def test_agents_are_listed_by_name() -> None:
    """Lists are `items`; what is empty is left out (design 5)."""
    answer = await call(edge(), "GET", "/agents")
    assert answer.status == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.json() == {
        "items": [
            {"name": "support", "description": "Helps.", "version": "1"},
            {"name": "plain"},
        ]
    }


async def test_an_agent_shows_its_tools_and_when_they_ask() -> None:
    """For whoever builds a page over it (design 5)."""
    answer = await call(edge(), "GET", "/agents/support/")
    assert answer.json()["tools"] == [
        {
            "name": "issue_refund",
            "description": "Gives money back.",
            "parameters": {"type": "object", "properties": {"amount": {"type": "number"}}},
            "approval": "when",
            "editable": True,
        },
        {
            "name": "lookup",
            "description": "Reads.",
            "parameters": {"type": "object"},
            "approval": "never",
            "editable": False,
        },
    ]


@pytest.mark.parametrize("path", ["/agents/nobody", "/agents/nobody/capabilities"])
async def test_an_agent_that_is_not_there_is_unknown(path: str) -> None:
    """With the code that says so (design 5)."""
    answer = await call(edge(), "GET", path)
    assert (answer.status, answer.json()["code"]) == (404, "unknown_agent")


@requirement("CP-01", "CP-02", "CP-05", "CP-08", "TR-35")
@pytest.mark.parametrize("name", list(AGENTS))
async def test_a_declaration_has_the_shape_of_agent_capabilities(name: str) -> None:
    """Closed groups, no unknown member, no null (CP-01)."""
    answer = await call(edge(), "GET", f"/agents/{name}/capabilities")
    assert answer.status == 200
    assert capability_faults(answer.json()) == []
    assert b"null" not in answer.body
    assert answer.json()["transport"] == {"streaming": True}


@requirement("CP-04")
def test_a_declaration_says_only_what_holds() -> None:
    """Approvals need a tool that asks, edits one that may be edited (CP-04)."""
    free = ToolRecord(name="free", description="", parameters={}, editable=True)
    asks = ToolRecord(name="asks", description="", parameters={}, approval="always")
    edits = ToolRecord(name="edits", description="", parameters={}, approval="when", editable=True)
    found = [
        capabilities(AgentRecord(name="a", tools=tools))["humanInTheLoop"]
        for tools in [(), (free,), (free, asks), (asks, edits)]
    ]
    always = {"supported": True, "interrupts": True}
    assert found == [
        always | {"approvals": False, "approveWithEdits": False},
        always | {"approvals": False, "approveWithEdits": False},
        always | {"approvals": True, "approveWithEdits": False},
        always | {"approvals": True, "approveWithEdits": True},
    ]
    assert capabilities(AgentRecord(name="a"))["tools"] == {"supported": False, "items": []}
