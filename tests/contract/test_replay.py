"""The same thing sent twice: answers, requests, tabs (rules, section 16; cases B, Q)."""

import asyncio
from typing import Any

import pytest

from sayso import Turn
from tests.contract.requirements import requirement
from tests.contract.server import Client, Server, answer, approve, cancel, deny
from tests.contract.tools import Kit


@requirement("CR-5", "ID-01", "ID-02", "ID-03", "TC-08")
async def test_an_equal_answer_is_answered_with_what_came_of_it(server: Server, tools: Kit) -> None:
    """ID-01, ID-03: another runId, snapshots, the recorded outcome; the tool ran once."""
    client = server.client(tools.refunding)
    await client.say()
    (entry,) = client.entries(approve())
    before = await client.resume(entry)
    stored = server.dump()
    again = await client.run(resume=[entry])
    assert again.types == ["RUN_STARTED", "MESSAGES_SNAPSHOT", "STATE_SNAPSHOT", "RUN_FINISHED"]
    assert again.last["outcome"] == before.last["outcome"]
    assert client.model.pending == []
    assert server.effects == [("refund", "A-17", 240.0)]
    assert server.dump() == stored


@requirement("ID-05")
async def test_answers_are_compared_as_json_values(server: Server) -> None:
    """ID-05: key order, spelling of numbers and entry metadata do not make another answer."""

    async def agent(turn: Turn) -> None:
        got = await turn.interrupt("shop:any", "?", schema={"type": "object"})
        server.effects.append(got.value)

    client = server.client(agent)
    await client.say()
    (entry,) = client.entries(answer({"a": 1, "b": [1.0, None]}))
    await client.resume(entry)
    same = {**entry, "payload": {"b": [1, None], "a": 1.0}, "metadata": {"tab": 2}}
    assert (await client.run(resume=[same])).outcome == "success"
    other = {**entry, "payload": {"b": [1, None], "a": True}}
    assert (await client.run(resume=[other])).outcome == "already_resolved"
    assert len(server.effects) == 1


@requirement("ID-06")
@pytest.mark.parametrize("second", [deny(), cancel(), approve(reason="sure")])
async def test_another_answer_later_changes_nothing_and_says_who_decided(
    server: Server, tools: Kit, second: dict[str, Any]
) -> None:
    """ID-06, Q1, Q4: the first answer stands."""
    client = server.client(tools.refunding)
    await client.say()
    (entry,) = client.entries(approve())
    await client.resume(entry)
    stored = server.dump()
    run = await client.again().run(resume=[{**second, "interruptId": entry["interruptId"]}])
    assert run.outcome == "already_resolved"
    (named,) = run.details["interrupts"]
    assert named["interruptId"] == entry["interruptId"]
    assert named["by"] == "local"
    assert named["at"].endswith("Z")
    assert server.dump() == stored


async def test_an_old_answer_beside_a_new_question_shows_the_new_question(
    server: Server, tools: Kit
) -> None:
    """Design 4: Replay ends in the thread's present outcome, which is the second question."""
    client = server.client(tools.asking_twice)
    await client.say()
    (first,) = client.entries(answer({"approved": True}))
    second = await client.resume(first)
    again = await client.run(resume=[first])
    assert again.interrupts == second.interrupts
    both = [first, *client.entries(answer({"approved": False}))]
    done = await client.run(resume=both)
    assert done.text == "True False"
    assert server.effects == ["staged"]


@requirement("ID-07", "ID-08")
async def test_of_two_opposite_answers_at_once_one_wins(server: Server, tools: Kit) -> None:
    """ID-07, Q1, Q3: the other is told by whom and when, or that the thread is busy."""
    client = server.client(tools.refunding)
    await client.say()
    yes, no = client.entries(approve())[0], client.entries(deny())[0]
    first, second = client.again(), client.again()
    runs = await asyncio.gather(first.run(resume=[yes]), second.run(resume=[no]))
    outcomes = sorted(run.outcome for run in runs)
    assert outcomes in (["already_resolved", "success"], ["success", "thread_busy"])
    assert server.effects == ([("refund", "A-17", 240.0)] if runs[0].outcome == "success" else [])


@requirement("ID-07")
async def test_a_double_click_runs_the_tool_once_and_both_streams_end_well(
    server: Server, tools: Kit
) -> None:
    """Q2: two equal answers at once; one resumes, the other follows or is shown the result."""
    client = server.client(tools.refunding)
    await client.say()
    (entry,) = client.entries(approve())
    tabs = [client.again() for _ in range(3)]
    runs = await asyncio.gather(*(tab.run(resume=[entry]) for tab in tabs))
    assert [run.outcome for run in runs] == ["success"] * 3
    assert server.effects == [("refund", "A-17", 240.0)]
    assert tabs[0].model.messages == tabs[1].model.messages == tabs[2].model.messages


@requirement("TR-07")
async def test_a_resume_under_the_interrupted_run_s_id_is_a_resume(
    server: Server, tools: Kit
) -> None:
    """TR-07, CK-04: CopilotKit reuses the runId; it is echoed and decides nothing."""
    client = server.client(tools.refunding)
    first = await client.say(runId="only")
    run = await client.resume(approve(), runId="only")
    assert first.events[0]["runId"] == run.events[0]["runId"] == "only"
    assert run.outcome == "success"
    assert len(server.effects) == 1


@pytest.mark.parametrize("ended", [True, False])
async def test_a_post_that_is_retried_under_its_runid_runs_once(
    server: Server, tools: Kit, ended: bool
) -> None:
    """Design 4: Replay when the run has ended, also in open interrupts."""
    agent = tools.greeting if ended else tools.filing
    client = server.client(agent)
    user = {"id": "u1", "role": "user", "content": "you"}
    body = client.body(messages=[user], runId="r1")
    first = await client.run(body)
    stored = server.dump()
    again = await client.again().run(body)
    assert again.last == first.last
    assert server.dump() == stored
    assert server.effects == (["greeted"] if ended else [])


async def test_a_post_that_is_retried_while_its_run_goes_on_follows_it(server: Server) -> None:
    """Design 4, Attach: the text so far as a start, then live, with the same end."""
    go_on = asyncio.Event()

    async def agent(turn: Turn) -> None:
        server.effects.append("called")
        async with turn.message() as message:
            await message.write("One, ")
            await go_on.wait()
            await message.write("two.")

    client = server.client(agent)
    body = client.body(messages=[{"id": "u1", "role": "user", "content": "go"}], runId="r1")
    first = client.open(body)
    await first.until("TEXT_MESSAGE_CONTENT")
    second = client.open(body)
    await second.until("TEXT_MESSAGE_CONTENT")
    go_on.set()
    runs = [await exchange.end() for exchange in (first, second)]
    assert [run.judged(client.thread, "r1").text for run in runs] == ["One, two."] * 2
    assert runs[0].last == runs[1].last
    assert server.effects == ["called"]


@requirement("ID-08")
async def test_a_new_message_for_a_running_thread_is_refused(server: Server) -> None:
    """ID-08: `thread_busy`, and the run that goes on is not disturbed."""
    go_on = asyncio.Event()

    async def agent(turn: Turn) -> None:
        server.effects.append(turn.input.text)
        await turn.say("Working.")
        await go_on.wait()

    client = server.client(agent)
    client.user("first")
    first = client.open()
    await first.until("TEXT_MESSAGE_END")
    second = await client.again().say("second")
    assert second.outcome == "thread_busy"
    third = client.open(runId="another", messages=client.model.messages)
    await third.until("MESSAGES_SNAPSHOT")
    go_on.set()
    assert (await first.end()).outcome == "success"
    assert (await third.end()).outcome == "success"
    assert server.effects == ["first"]


async def test_regenerate_runs_again_on_the_messages_as_sent(server: Server, tools: Kit) -> None:
    """Design 4: the last body was delivered whole, so nothing new means once more."""
    client = server.client(tools.greeting)
    await client.say("ann")
    user = client.model.messages[:1]
    run = await client.run(messages=user)
    assert run.outcome == "success"
    assert server.effects == ["greeted", "greeted"]
    shown = (await client.connect()).snapshot
    assert [message["role"] for message in shown] == ["user", "assistant"]


@requirement("ER-13")
async def test_a_retry_after_a_lost_body_shows_the_run_instead_of_repeating_it(
    server: Server, tools: Kit
) -> None:
    """Design 4: the body never arrived, so the same messages are a retry, whatever the runId."""
    client = server.client(tools.greeting)
    client.user("ann")
    lost = client.open()
    await lost.disconnect()
    run = await client.run()
    assert run.outcome == "success"
    assert server.effects == ["greeted"]
    assert [m["content"] for m in client.model.messages] == ["ann", "Hello, ann."]


@requirement("TR-04", "ER-07")
async def test_an_answer_whose_run_failed_can_be_sent_again(server: Server, tools: Kit) -> None:
    """B1, TR-04: the tool's result is kept, the failed part runs anew, the thread goes on."""
    broken = [True]

    async def agent(turn: Turn) -> None:
        done = await turn.call(tools.refund, order_id="A-17", amount=240.0)
        if broken:
            raise ConnectionError("the model is away")
        await turn.say(str(done))

    client = server.client(agent)
    await client.say()
    (entry,) = client.entries(approve())
    failed = await client.resume(entry)
    assert failed.outcome == "agent_error"
    broken.clear()
    run = await client.run(resume=[entry])
    assert (run.outcome, run.text) == ("success", "Refunded 240.00.")
    assert server.effects == [("refund", "A-17", 240.0)]
    assert client.model.pending == []


@requirement("CR-4", "RE-12", "OU-13", "TR-05")
async def test_what_was_refused_or_shown_again_keeps_its_interrupts(
    server: Server, tools: Kit
) -> None:
    """RE-12, TR-05: the same ids after refusals, reloads and a lost body."""
    client = server.client(tools.filing)
    client.user("go")
    lost = client.open()
    await lost.until("RUN_FINISHED")
    await lost.disconnect()
    shown = [(await Client(server.app, client.agent, thread=client.thread).connect()).interrupts]
    client.model.pending = shown[0]
    await client.resume(answer({"quarter": "Q9", "year": 1}))
    shown.append((await client.again().connect()).interrupts)
    assert shown[0] == shown[1]
    done = await client.resume(answer({"quarter": "Q1", "year": 2026}))
    assert done.outcome == "success"


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("said", [None, "and this"])
async def test_a_legacy_answer_where_nothing_is_open_starts_nothing(
    server: Server, tools: Kit, known: bool, said: str | None
) -> None:
    """D2, design 4: whoever sends an answer does not mean a fresh turn, least of all twice."""
    client = server.client(tools.refunding)
    if known:
        await client.say()
        await client.resume(approve())
    stored, effects = server.dump(), list(server.effects)
    if said is not None:
        client.user(said)
    for command in ({"resume": {"approved": None}}, {"resume": False}, {"interruptEvent": "x"}):
        run = await client.run(forwardedProps={"command": command})
        assert run.outcome == "unknown_interrupt"
        assert (server.dump(), server.effects) == (stored, effects)
    client.user("plainly")
    absent = {"command": {"resume": None}, "other": 1}
    assert (await client.run(forwardedProps=absent)).outcome == "interrupt"


async def test_a_resume_with_a_message_that_is_sent_again_is_shown_what_came_of_it(
    server: Server, tools: Kit
) -> None:
    """E5, ID-01: the message is stored by then, so it starts nothing a second time."""
    texts = []

    async def agent(turn: Turn) -> None:
        texts.append(turn.input.text)
        if turn.input.text == "refund":
            await turn.call(tools.refund, order_id="A-17", amount=240.0)
        await turn.say(turn.input.text)

    client = server.client(agent)
    await client.say("refund")
    client.user("thanks")
    body = client.body(resume=client.entries(approve()))
    first = await client.run(body)
    again = await client.again().run({**body, "runId": "again"})
    assert first.last["outcome"] == again.last["outcome"] == {"type": "success"}
    assert texts == ["refund", "refund", "thanks"]
    assert server.effects == [("refund", "A-17", 240.0)]
