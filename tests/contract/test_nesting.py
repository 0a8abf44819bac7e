"""Agents inside agents: seen as what they are, asked through the outer run, answered by path."""

import asyncio
from typing import Any

from sayso import Turn
from sayso.base.errors import StepFailed
from tests.contract.optional import client_of
from tests.contract.replicas import replica
from tests.contract.requirements import requirement
from tests.contract.server import Client, Server, answer, approve, deny
from tests.contract.tools import Kit
from tests.contract.wire import Run

Json = dict[str, Any]


def lifecycle(run: Run) -> list[tuple[str, str]]:
    """What clients are told of inner agents: the end of each event's name, and whose it is."""
    kinds = ("SUBAGENT_STARTED", "SUBAGENT_FINISHED", "SUBAGENT_ERROR")
    names: dict[str, str] = {}
    told = []
    for event in run.of(*kinds):
        names.setdefault(event["subagentRunId"], event.get("name", "?"))
        how = event.get("outcome", {}).get("type", event["type"][len("SUBAGENT_") :].lower())
        told.append((names[event["subagentRunId"]], how))
    return told


def twins(server: Server, tools: Kit) -> Any:
    """Two inner agents with one and the same name, each with a gated call."""

    def worker(order: str) -> Any:
        async def work(turn: Turn) -> str:
            await turn.say(f"I look at {order}.")
            done = await turn.call(tools.refund, order_id=order, amount=240.0)
            return f"{order}: {done.status}"

        return work

    async def agent(turn: Turn) -> str:
        await turn.say("I ask both.")
        done = await turn.gather(
            turn.delegate(worker("A"), name="worker"), turn.delegate(worker("B"), name="worker")
        )
        await turn.say(", ".join(done))
        return ", ".join(done)

    return agent


@requirement("SA-01", "SA-02", "SA-03", "SA-04", "SA-08", "SB-02", "LC-06")
async def test_inner_agents_wait_before_the_boundary_and_name_their_own_questions(
    server: Server, tools: Kit
) -> None:
    """Design 5: suspended, with the ids that the outcome has; the question says whose it is."""
    client = server.client(twins(server, tools))
    run = await client.say()
    assert lifecycle(run) == [
        ("worker", "started"),
        ("worker", "started"),
        ("worker", "suspended"),
        ("worker", "suspended"),
    ]
    asked = {item["subagentRunId"]: item for item in run.interrupts}
    assert len(asked) == 2
    for event in run.of("SUBAGENT_FINISHED"):
        item = asked[event["subagentRunId"]]
        assert event["outcome"]["interruptIds"] == [item["id"]]
        assert item["metadata"]["sayso"]["path"] == ["worker"]
    at = run.types.index("SUBAGENT_FINISHED")
    assert run.types[at + 2 :] == ["STATE_SNAPSHOT", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]
    owners = {m["content"]: m.get("subagentRunId") for m in run.snapshot if m.get("content")}
    by_order = {item["metadata"]["sayso"]["arguments"]["order_id"]: item for item in run.interrupts}
    assert owners["I ask both."] is None
    assert owners["I look at A."] == by_order["A"]["subagentRunId"]
    assert owners["I look at B."] == by_order["B"]["subagentRunId"]


@requirement("SA-05", "SA-06", "SA-13", "TB-02")
async def test_each_answer_finds_the_inner_agent_that_asked_whatever_it_is_called(
    server: Server, tools: Kit
) -> None:
    """K4, SA-13: one name, two calls; announced again under the same id, finished under it."""
    client = server.client(twins(server, tools))
    first = await client.say()
    order = {item["metadata"]["sayso"]["arguments"]["order_id"]: item for item in first.interrupts}
    entries = [
        {"interruptId": order["B"]["id"], **approve()},
        {"interruptId": order["A"]["id"], **deny("not this one")},
    ]
    run = await client.run(resume=entries)
    assert run.last["result"] == "A: denied, B: executed"
    assert server.effects == [("refund", "B", 240.0)]
    started = {event["subagentRunId"] for event in run.of("SUBAGENT_STARTED")}
    assert started == {item["subagentRunId"] for item in first.interrupts}
    assert sorted(lifecycle(run)) == sorted([("worker", "started"), ("worker", "finished")] * 2)
    results = {e["toolCallId"]: e["subagentRunId"] for e in run.of("TOOL_CALL_RESULT")}
    for item in first.interrupts:
        assert results[item["toolCallId"]] == item["subagentRunId"]


async def test_an_inner_question_is_the_outer_runs_and_goes_on_in_place(
    server: Server, tools: Kit
) -> None:
    """K1, K9: one each, with its path, in its own words and for its own reason; each runs once."""

    async def clerk(turn: Turn) -> str:
        done = await turn.call(tools.refund, order_id="A", amount=240.0)
        sure = await turn.interrupt("shop:file", "File it under A?", schema=bool)
        return f"{done.status}, filed: {sure.value}"

    async def desk(turn: Turn) -> Any:
        return await turn.delegate(clerk, name="clerk")

    async def agent(turn: Turn) -> Any:
        return await turn.delegate(desk, name="desk")

    client = server.client(agent)
    (asked,) = (await client.say()).interrupts
    assert (asked["reason"], asked["metadata"]["sayso"]["tool"]) == ("tool_call", "issue_refund")
    assert asked["metadata"]["sayso"]["path"] == ["desk", "clerk"]
    (asked,) = (await client.resume(approve())).interrupts
    assert (asked["reason"], asked["message"]) == ("shop:file", "File it under A?")
    assert asked["metadata"]["sayso"]["path"] == ["desk", "clerk"]
    run = await client.resume(answer(True))
    assert (run.outcome, run.last["result"]) == ("success", "executed, filed: True")
    assert server.effects == [("refund", "A", 240.0)]


@requirement("SA-12", "OC-18", "TR-13", "FC-08")
async def test_clients_without_a_version_are_told_only_if_the_agent_says_so(
    server: Server, tools: Kit
) -> None:
    """SA-12: older ones reject the run; whose the work is may still be said."""
    for options, told in (({}, 0), ({"subagents": True}, 2)):
        agent = client_of(server, twins(server, tools), **options).agent
        client = Client(server.app, agent, version=None)
        run = await client.say()
        assert len(run.of("SUBAGENT_STARTED")) == len(run.of("SUBAGENT_FINISHED")) == told
        assert len(run.interrupts) == 2
        run = await client.resume(approve(), approve())
        assert run.last["result"] == "A: executed, B: executed"


async def test_readers_of_both_kinds_are_told_of_one_run_as_each_can_take_it(
    server: Server, tools: Kit
) -> None:
    """Design 5, readers: per reader, also what is restated to one who comes later."""
    begun, go = asyncio.Event(), asyncio.Event()

    async def inner(turn: Turn) -> str:
        await turn.say("Inside.")
        begun.set()
        await go.wait()
        await turn.say("Still inside.")
        return "done"

    async def agent(turn: Turn) -> Any:
        return await turn.delegate(inner)

    client = server.client(agent)
    new, old = client.again(), client.again(version=None)
    client.user("go")
    first = client.open()
    await begun.wait()
    newer, older = new.open(action="/connect"), old.open(action="/connect")
    for one in (newer, older):
        await one.until("RUN_STARTED")
    go.set()
    runs = [await one.end() for one in (first, newer, older)]
    assert [len(run.of("SUBAGENT_STARTED")) for run in runs] == [1, 1, 0]
    assert [len(run.of("SUBAGENT_FINISHED")) for run in runs] == [1, 1, 0]
    assert all("Still inside." in run.text for run in runs)


@requirement("SA-08")
async def test_agents_inside_agents_name_the_one_around_them(server: Server, tools: Kit) -> None:
    """SA-03: the one around waits without a question of its own; the innermost is asked."""

    async def innermost(turn: Turn) -> str:
        answer = await turn.interrupt("confirmation", "Really?")
        return f"innermost {answer.value}"

    async def middle(turn: Turn) -> str:
        async with turn.phase("work"):
            return f"middle {await turn.delegate(innermost)}"

    async def agent(turn: Turn) -> str:
        async with turn.phase("all work"):
            return f"outer {await turn.delegate(middle, description='In between.')}"

    client = server.client(agent)
    run = await client.say()
    outer, inner = run.of("SUBAGENT_STARTED")
    assert (outer["name"], outer["description"]) == ("middle", "In between.")
    assert "parentSubagentRunId" not in outer
    assert inner["parentSubagentRunId"] == outer["subagentRunId"]
    first, second = run.of("SUBAGENT_FINISHED")
    assert first["subagentRunId"] == inner["subagentRunId"]
    assert second["outcome"] == {"type": "suspended"}
    (item,) = run.interrupts
    assert (item["message"], item["reason"]) == ("Really?", "confirmation")  # K9
    assert item["metadata"]["sayso"]["path"] == ["middle", "innermost"]
    steps = [(e["type"], e.get("subagentRunId")) for e in run.of("STEP_STARTED", "STEP_FINISHED")]
    assert steps == [
        ("STEP_STARTED", None),
        ("STEP_STARTED", outer["subagentRunId"]),
        ("STEP_FINISHED", outer["subagentRunId"]),
        ("STEP_FINISHED", None),
    ]
    again = await client.resume(answer({"approved": True}))
    assert again.last["result"].startswith("outer middle innermost")
    assert [name for name, _ in lifecycle(again)] == ["middle", "innermost", "innermost", "middle"]


@requirement("SA-11", "ST-03", "US-05")
async def test_state_usage_and_thoughts_of_inner_agents_are_the_runs(server: Server) -> None:
    """SA-11: one state for all; US-05: one sum; each event says whose it is."""

    async def inner(turn: Turn) -> None:
        await turn.set("/inner", turn.state["outer"] + 1)
        await turn.usage("acme", "large", input_tokens=2)
        async with turn.reasoning() as thought:
            await thought.write("Hm.")
        plan = await turn.activity("PLAN", {"n": 1})
        await plan.set({"n": 2})
        await turn.custom("shop:stock", 3)
        async with turn.message() as message:
            await message.write("Well.")

    async def agent(turn: Turn) -> Any:
        await turn.set("/outer", 1)
        await turn.usage("acme", "large", input_tokens=1)
        await turn.delegate(inner)
        return dict(turn.state)

    run = await server.client(agent).say()
    assert run.last["result"] == {"outer": 1, "inner": 2}
    assert run.last["usage"][0]["inputTokens"] == 3
    (started,) = run.of("SUBAGENT_STARTED")
    mine = [e["type"] for e in run.events if e.get("subagentRunId") == started["subagentRunId"]]
    kinds = {"STATE_DELTA", "REASONING_START", "ACTIVITY_SNAPSHOT", "CUSTOM", "TEXT_MESSAGE_START"}
    assert kinds <= set(mine)
    assert len(run.of("STATE_DELTA")) == 2


async def test_an_inner_agent_that_fails_ends_as_such_and_the_turn_may_go_on(
    server: Server,
) -> None:
    """Spec subagents: SUBAGENT_ERROR is not the run's; no word of the error itself leaves (ER)."""

    async def bad(turn: Turn) -> None:
        await turn.say("I try.")
        await turn.step(fails)

    async def fails() -> None:
        server.effects.append("tried")
        raise ValueError("the secret is 42")

    async def agent(turn: Turn) -> str:
        try:
            await turn.delegate(bad)
        except StepFailed as error:
            await turn.interrupt("confirmation", "It failed. Go on?")
            return error.error_type
        return "no error"

    client = server.client(agent)
    run = await client.say()
    assert lifecycle(run) == [("bad", "started"), ("bad", "error")]
    assert run.of("SUBAGENT_ERROR")[0]["message"] == "bad failed with StepFailed"
    run = await client.resume(approve())
    assert (run.last["result"], lifecycle(run)) == ("ValueError", [])
    assert server.effects == ["tried"]


async def test_an_inner_agent_reads_what_it_was_told(server: Server) -> None:
    """Its text and messages are its own; tools, context and thread are the turn's."""
    seen: list[Any] = []

    async def inner(turn: Turn) -> str:
        seen.append((turn.input.text, [m["content"] for m in turn.input.messages]))
        return turn.input.thread_id

    server.app.agent("inner")(inner)

    async def agent(turn: Turn) -> Any:
        history = [{"id": "x", "role": "user", "content": "one"}]
        return [
            await turn.delegate("inner"),
            await turn.delegate("inner", "look"),
            await turn.delegate("inner", messages=history),
            await turn.delegate(inner, "two", messages=history),
        ]

    client = server.client(agent)
    run = await client.say("hello")
    assert run.last["result"] == [client.thread] * 4
    assert seen == [
        ("hello", ["hello"]),
        ("look", ["look"]),
        ("hello", ["one"]),
        ("two", ["one"]),
    ]
    names = [event["name"] for event in run.of("SUBAGENT_STARTED")]
    assert names == ["inner"] * 4
    assert len({event["subagentRunId"] for event in run.of("SUBAGENT_STARTED")}) == 4


async def test_what_cannot_be_delegated_to_is_said_before_anything_is(server: Server) -> None:
    """A name nobody registered, a function that is none, an agent that calls itself for ever."""

    async def endless(turn: Turn) -> None:
        await turn.delegate(endless)

    async def agent(turn: Turn) -> list[str]:
        errors = []
        for target in ("nobody", print, endless):
            try:
                await turn.delegate(target)  # type: ignore[arg-type]
            except (LookupError, TypeError, RecursionError) as error:
                errors.append(type(error).__name__)
        return errors

    run = await server.client(agent).say()
    assert run.last["result"] == ["LookupError", "TypeError", "RecursionError"]


@requirement("ID-04")
async def test_an_inner_agents_question_outlives_its_process(server: Server, tools: Kit) -> None:
    """K2, K3, L1: another replica takes the answer; what it does not know it would not invent."""
    agent = twins(server, tools)
    client = server.client(agent)
    await client.say()
    async with replica(server, (client.agent, agent)) as other:
        tab = client.again(app=other)
        tab.model = client.model
        run = await tab.resume(approve(), approve())
        assert run.last["result"] == "A: executed, B: executed"
    assert sorted(server.effects) == [("refund", "A", 240.0), ("refund", "B", 240.0)]


async def test_a_pause_inside_is_no_failure_to_be_tried_again(server: Server, tools: Kit) -> None:
    """K7, K8: inside `except Exception` and a loop of four attempts: one launch, one question."""

    async def inner(turn: Turn) -> str:
        await turn.step(server.effects.append, "launched")
        done = await turn.call(tools.refund, order_id="A", amount=240.0)
        await turn.step(server.effects.append, "and then")
        return done.status

    async def agent(turn: Turn) -> Any:
        for _ in range(4):
            try:
                return await turn.delegate(inner)
            except Exception:
                server.effects.append("tried again")
        return None

    client = server.client(agent)
    run = await client.say()
    assert len(run.interrupts) == 1
    run = await client.resume(approve())
    assert run.last["result"] == "executed"  # K8: continued, not planned anew
    assert server.effects == ["launched", ("refund", "A", 240.0), "and then"]


async def test_a_stop_ends_the_inner_agents_with_the_turn(server: Server, tools: Kit) -> None:
    """Design 4: their calls get results that say so, and they are told as ended, not as waiting."""
    client = server.client(twins(server, tools))
    await client.say()
    stopped = await server.request("POST", f"/threads/{client.thread}/stop", {}).end()
    assert stopped.status == 200
    run = await client.again().connect()
    told = [m for m in run.snapshot if m["role"] == "tool"]
    assert len(told) == 2
    assert server.effects == []
