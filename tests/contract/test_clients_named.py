"""Whose client a run is told for: `client=` of an agent, and `?client=` of a request."""

import json
from typing import Any

import pytest

from sayso import AgentOptions, DeclarationError, Sayso, Turn
from tests.contract.requirements import requirement
from tests.contract.rest import get
from tests.contract.runtime import RELEASED
from tests.contract.server import Client, Json, Server, answer, approve
from tests.contract.tools import Kit
from tests.contract.wire import Exchange, Run
from tests.spec.judge import schema_faults

each = pytest.mark.parametrize("name", ["copilotkit", "assistant-ui"])


class Named(Client):
    """A client of 0.0.x whose requests say whose it is; without a `name`, nothing."""

    def __init__(self, app: Any, agent: str, name: str = "", **options: Any) -> None:
        super().__init__(app, agent, **{"version": None, **options})
        self.query = f"?client={name}" if name else ""

    def open(self, body: Json | None = None, *, action: str = "", **members: Any) -> Exchange:
        """Begin a run or a connect."""
        sent = json.dumps(self.body(**members) if body is None else body).encode()
        path = f"/agents/{self.agent}{action}{self.query}"
        return Exchange(self.app, "POST", path, sent, self.headers)

    async def run(self, body: Json | None = None, *, action: str = "", **members: Any) -> Run:
        """A whole run, taken into this client's model; these may be two, or end twice."""
        run = await self.open(body, action=action, **members).end()
        if run.is_stream:
            assert schema_faults(run.events) == []
            self.model.take(run.events)
        return run


def serving(server: Server, agent: Any, **options: Any) -> str:
    """Serves an agent whose questions expire, and gives its name."""
    server.app.agent("desk", expires_in=60, **options)(agent)
    return "desk"


def recovers(run: Run) -> bool:
    """Whether a refused run asks again."""
    return run.types[-1] == "RUN_FINISHED" and run.outcome == "interrupt"


@pytest.mark.parametrize(
    ("option", "said", "recovered"),
    [
        ("any", "", False),
        ("copilotkit", "", True),
        ("assistant-ui", "", True),
        ("any", "copilotkit", True),
        ("any", "assistant-ui", True),
        ("copilotkit", "any", False),
    ],
)
@requirement("CK-06", "TR-03")
async def test_a_request_says_whose_client_it_is_and_else_its_agent(
    server: Server, tools: Kit, option: str, said: str, recovered: bool
) -> None:
    """Told by what such a client cannot go on from: refusals, and when a question expires."""
    tab = Named(server.app, serving(server, tools.refunding, client=option), said)
    asked = await tab.say("go")
    run = await tab.resume(answer({"approved": "yes"}))
    assert recovers(run) is recovered
    assert [("expiresAt" in one) for one in asked.interrupts] == [not recovered]
    other = Named(server.app, "desk", said, thread=tab.thread)
    connected = await other.connect()
    assert [("expiresAt" in one) for one in connected.interrupts] == [not recovered]
    assert (await other.resume(approve())).types[-1] == "RUN_FINISHED"
    assert len(tools.effects) == 1


async def test_refusals_are_told_in_the_client_s_way_whatever_the_agent_s_option(
    server: Server, tools: Kit
) -> None:
    """As at the CopilotKit mount: that library could not go on from an error."""
    named = serving(server, tools.refunding, client="copilotkit", refusals="error")
    tab = Named(server.app, named)
    await tab.say("go")
    assert recovers(await tab.resume(answer("yes")))


@each
@requirement("CK-07", "LC-04")
async def test_an_answer_whose_run_fails_has_let_go_of_its_question(
    server: Server, name: str
) -> None:
    """CopilotKit before the work; assistant-ui takes one run in a stream: before the error."""

    async def agent(turn: Turn) -> None:
        await turn.interrupt("confirmation", "Go?")
        raise RuntimeError("out of order")

    tab = Named(server.app, serving(server, agent), name)
    await tab.say("go")
    run = await tab.resume(approve())
    first = name == "copilotkit"
    assert (run.types[:3] == RELEASED) is first
    assert run.types.count("RUN_STARTED") == (2 if first else 1)
    assert (run.types[-2:] == ["RUN_FINISHED", "RUN_ERROR"]) is not first
    assert run.types[-1] == "RUN_ERROR"
    assert tab.model.pending == []


@pytest.mark.parametrize("name", ["", "any", "copilotkit", "assistant-ui"])
async def test_a_run_that_asks_ends_with_the_history_but_for_assistant_ui(
    server: Server, tools: Kit, name: str
) -> None:
    """It hangs the question on the message that it has made of the stream, which holds all calls.

    A history behind that parts them. The state stays, and so does what an answer begins with.
    """

    async def agent(turn: Turn) -> None:
        await turn.set("/n", 1)
        await turn.call(tools.lookup, order_id="A-17")
        await turn.say("Refund it?")
        await turn.call(tools.refund, order_id="A-17", amount=240.0)
        await turn.interrupt("confirmation", "Close it?")

    tab = Named(server.app, serving(server, agent), name)
    run = await tab.say("go")
    history = [] if name == "assistant-ui" else ["MESSAGES_SNAPSHOT"]
    assert run.types[-2 - len(history) :] == ["STATE_SNAPSHOT", *history, "RUN_FINISHED"]
    run = await tab.resume(approve())
    started = len(RELEASED) if name == "copilotkit" else 1
    assert run.types[started : started + 2] == ["MESSAGES_SNAPSHOT", "STATE_SNAPSHOT"]
    assert run.types.count("MESSAGES_SNAPSHOT") == 1 + len(history)
    assert run.interrupts[0]["message"] == "Close it?"


async def test_an_answer_is_noted_with_whose_client_it_came_by(server: Server, tools: Kit) -> None:
    """For whoever reads the record."""
    tab = Named(server.app, serving(server, tools.refunding), "assistant-ui")
    await tab.say("go")
    await tab.resume(approve())
    past = await get(server, f"/threads/{tab.thread}/history")
    (question,) = past["interrupts"]
    assert question["answer"]["channel"] == "assistant-ui", question


@pytest.mark.parametrize("query", ["client=vue", "client=", "client=any&client=copilotkit"])
async def test_an_unknown_client_is_refused_before_anything_is_read(
    server: Server, tools: Kit, query: str
) -> None:
    """A 400 that lists what there is; at both paths."""
    named, stored = serving(server, tools.refunding), server.dump()
    for action in ("", "/connect"):
        tab = Named(server.app, named)
        tab.query = f"?{query}"
        run = await tab.run(tab.body(messages=[]), action=action)
        assert (run.status, run.json["code"]) == (400, "invalid_query")
        assert "any, copilotkit, assistant-ui" in run.json["detail"]
    assert server.dump() == stored


def test_a_client_that_nobody_knows_is_no_option() -> None:
    """Said where it is declared, for a server and an agent alike."""
    with pytest.raises(DeclarationError, match="client must be one of 'any', 'copilotkit'"):
        Sayso(store="memory:", agent_defaults=AgentOptions(client="vue"))  # type: ignore[arg-type]
    app = Sayso(store="memory:", agent_defaults=AgentOptions(client="assistant-ui"))
    with pytest.raises(DeclarationError, match="client must be one of"):
        app.agent("desk", client="vue")  # type: ignore[arg-type]
