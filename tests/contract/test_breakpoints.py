"""Breakpoints on the wire: who may set them, what is refused, and how they are shown."""

from typing import Any

import pytest

from sayso import Breakpoints, DeclarationError, Turn
from sayso.base.breakpoints import from_request
from tests.contract.frontend import OFFERED, left, put
from tests.contract.optional import client_of, past
from tests.contract.requirements import requirement
from tests.contract.rest import get
from tests.contract.server import Server, answer


def props(breakpoints: Any) -> dict[str, Any]:
    """Members of a request that sets breakpoints."""
    return {"forwardedProps": {"sayso": {"breakpoints": breakpoints}}}


def stepping(server: Server) -> Any:
    """An agent of one named step."""

    async def agent(turn: Turn) -> None:
        await turn.step.options(name="work")(server.effects.append, "done")

    return agent


@requirement("IN-04", "IN-08")
@pytest.mark.parametrize("version", ["1.0", None])
async def test_a_breakpoint_is_an_interrupt_like_any_other(
    server: Server, version: str | None
) -> None:
    """Design 3: namespaced reason, continue or stop; for clients of either generation."""
    name = client_of(server, stepping(server), breakpoints=Breakpoints(before="work")).agent
    client = server.client(name, version=version)
    (asked,) = (await client.say()).interrupts
    assert asked["reason"] == "sayso:breakpoint"
    assert (await client.resume(answer({"action": "go"}))).outcome == "invalid_payload"
    assert server.effects == []
    assert (await client.resume(answer({"action": "continue"}))).outcome == "success"
    assert server.effects == ["done"]


async def test_a_breakpoint_that_was_never_met_is_told(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    """On the stream and in the log, with the names that there were; not while the turn waits."""
    misspelt = Breakpoints(before=["wrok", "work"])
    client = client_of(server, stepping(server), breakpoints=misspelt)
    waiting = await client.say()
    assert waiting.of("CUSTOM") == []
    run = await client.resume(answer({"action": "continue"}))
    (told,) = run.of("CUSTOM")
    assert told["name"] == "sayso:breakpoints"
    assert told["value"]["unmet"] == ["wrok"]
    assert "work" in told["value"]["met"]
    assert "never came to its breakpoints at 'wrok'; there were" in caplog.text


async def test_an_agent_that_allows_none_refuses_a_run_that_would_not_stop(
    server: Server,
) -> None:
    """Design 3: nobody is left to believe that a run waits where it will not."""
    client = server.client(stepping(server))
    run = await client.say(**props({"before": "*"}))
    assert (run.outcome, server.effects) == ("breakpoints_refused", [])
    quiet: tuple[Any, ...] = (None, {}, {"before": []})
    for nothing in quiet:
        fresh = client.again()
        assert (await fresh.say(**props(nothing))).outcome == "success"
    assert server.effects == ["done"] * 3


async def test_a_request_sets_none_inside_an_agent_that_takes_none(server: Server) -> None:
    """Design 3: declared ones hold there; those of a request where every agent around lets them."""

    async def agent(turn: Turn) -> None:
        await turn.delegate("closed")
        await turn.delegate("open")

    server.app.agent("closed")(stepping(server))
    server.app.agent("open", run_breakpoints="allow")(stepping(server))
    client = client_of(server, agent, run_breakpoints="allow")
    run = await client.say(**props({"before": "work"}))
    assert (run.outcome, server.effects) == ("interrupt", ["done"])
    assert (await client.resume(answer({"action": "continue"}))).outcome == "success"
    assert server.effects == ["done", "done"]


@requirement("ER-01")
@pytest.mark.parametrize(
    ("wrong", "pointer"),
    [
        (7, ""),
        (["work"], ""),
        ({"before": 7}, "/before"),
        ({"after": [1]}, "/after"),
        ({"after": [""]}, "/after"),
        ({"before": {"work": True}}, "/before"),
        ({"before": "work", "befor": ["work"]}, "/befor"),
    ],
)
async def test_breakpoints_that_cannot_be_read_are_a_problem(
    server: Server, wrong: Any, pointer: str
) -> None:
    """ER-01: before there is a stream, with a pointer at what is wrong."""
    client = client_of(server, stepping(server), run_breakpoints="allow")
    run = await client.say(**props(wrong))
    assert run.status == 422
    assert run.problem["code"] == "invalid_input"
    (error,) = run.problem["errors"]
    assert error["pointer"] == f"/forwardedProps/sayso/breakpoints{pointer}"
    assert server.effects == []


async def test_an_agent_says_where_its_runs_wait(server: Server) -> None:
    """Design 5, `GET /agents/{a}`: gated tools, breakpoints, options."""
    client = client_of(server, stepping(server), breakpoints=Breakpoints(["a", "b"], "*"))
    options = (await get(server, f"/agents/{client.agent}"))["options"]
    assert options["breakpoints"] == {"before": ["a", "b"], "after": ["*"]}
    assert options["runBreakpoints"] == "refuse"


async def test_a_breakpoint_that_nobody_answers_in_time_ends_the_turn(server: Server) -> None:
    """EX-06: no silence is a continue."""
    client = client_of(server, stepping(server), breakpoints=Breakpoints(before="*"), expires_in=5)
    await client.say()
    fresh = await past(server, client, 6)
    assert server.effects == []
    history = await get(server, f"/threads/{client.thread}/history")
    assert history["runs"][-1]["outcome"]["type"] == "cancelled"
    assert fresh.model.pending == []


async def test_a_breakpoint_stands_in_the_history_and_no_model_hears_of_it(
    server: Server,
) -> None:
    """Design 3: it is between a person and the code."""

    async def agent(turn: Turn) -> Any:
        await turn.step.options(name="work")(server.effects.append, 1)
        return [message["content"] for message in turn.input.messages]

    client = client_of(server, agent, breakpoints=Breakpoints(before="*"))
    await client.say("one")
    await client.resume(answer({"action": "continue"}))
    assert [m["role"] for m in client.model.messages] == ["user", "activity"]
    await client.say("two")
    run = await client.resume(answer({"action": "continue"}))
    assert run.last["result"] == ["one", "two"]


@pytest.mark.parametrize("wrong", [7, {"a": 1}, [7], [""], b"a"])
def test_breakpoints_are_declared_by_name(wrong: Any) -> None:
    """Bad input: the author is told when the agent is declared."""
    with pytest.raises(DeclarationError, match=r"Breakpoints\(after=…\)"):
        Breakpoints(after=wrong)


@pytest.mark.parametrize(
    "quiet", [None, 7, [], "sayso", {}, {"sayso": None}, {"sayso": 7}, {"sayso": {}}]
)
def test_a_request_that_says_nothing_sets_none(quiet: Any) -> None:
    """Design 4: unknown members never invalidate a request."""
    assert from_request(quiet) is None


async def test_a_run_waits_around_inner_agents_and_tools_of_the_client(server: Server) -> None:
    """Design 3: by name, each once; over a question inside, and on the client's own result."""

    async def clerk(turn: Turn) -> str:
        sure = await turn.interrupt("confirmation", "Sure?")
        return f"clerk says {sure.value}"

    async def agent(turn: Turn) -> str:
        said = await turn.delegate(clerk)
        picked = [await turn.client_tool("pick", {"n": 1}) for _ in range(2)]
        server.effects.append("entered")
        return f"{said}, {picked[0]}, {picked[1]}"

    stops = Breakpoints(before="*", after=["clerk", "pick"])
    client = client_of(server, agent, breakpoints=stops)
    run = await client.say(tools=OFFERED)
    shown = []
    while run.outcome == "interrupt" or left(run):
        if run.outcome != "interrupt":
            (call,) = left(run)
            put(client, call, "2")
            shown.append("called")
            run = await client.run()
            continue
        (item,) = run.interrupts
        shown.append(item["message"])
        go = {"action": "continue"} if item["reason"] == "sayso:breakpoint" else {"approved": True}
        run = await client.resume(answer(go))
    assert shown == [
        "Breakpoint before agent 'clerk'. Continue?",
        "Sure?",
        "Breakpoint after agent 'clerk'. Continue?",
        "Breakpoint before front-end tool pick(n=1). Continue?",
        "called",
        "Breakpoint after front-end tool pick(n=1). Continue?",
    ]
    assert run.last["result"] == "clerk says True, 2, 2"


async def test_a_breakpoint_after_a_clients_tool_holds_from_where_the_turn_stands(
    server: Server,
) -> None:
    """Design 3, rule 9: one that a later request sets does not stop at what is long over."""

    async def agent(turn: Turn) -> str:
        picked = await turn.client_tool("pick")
        await turn.interrupt("confirmation", "Sure?")
        return str(picked)

    client = client_of(server, agent, run_breakpoints="allow")
    (call,) = left(await client.say(tools=OFFERED))
    put(client, call, "2")
    assert (await client.run()).interrupts[0]["message"] == "Sure?"
    run = await client.resume(answer({"approved": True}), **props({"after": "*"}))
    assert run.last["result"] == "2"
