"""Every refusal: a code, its reason, nothing stored, nothing run, and the thread as before."""

from collections.abc import AsyncIterator

import pytest

from tests.contract.requirements import requirement
from tests.contract.server import Client, Server, answer, approve, cancel, deny
from tests.contract.tools import Kit
from tests.contract.wire import Run


class Waiting:
    """A thread with three open calls; `refuse` sends what must change nothing."""

    def __init__(self, server: Server, client: Client, first: Run) -> None:
        self.server = server
        self.client = client
        self.ids = [interrupt["id"] for interrupt in first.interrupts]
        self.stored = server.dump()
        self.effects = list(server.effects)
        self.messages = list(client.model.messages)

    async def refuse(self, code: str, **members: object) -> Run:
        run = await self.client.again().run(self.client.body(**members))
        assert run.types == ["RUN_STARTED", "RUN_ERROR"], run.types
        assert run.outcome == code
        assert (run.details["code"], run.details["refused"]) == (code, True)
        assert run.last["message"]
        assert self.server.dump() == self.stored
        assert self.server.effects == self.effects
        return run

    async def finish(self) -> None:
        """Still answerable: three approvals run three calls, once each."""
        done = await self.client.resume(approve(), approve(), approve())
        assert done.outcome == "success"
        assert [e for e in self.server.effects if e[0] == "email"] == [
            ("email", to) for to in ("ann", "ben", "cyd")
        ]


@pytest.fixture
async def waiting(server: Server, tools: Kit) -> AsyncIterator[Waiting]:
    """Three questions are open; whatever the test sent, they can be answered afterwards."""
    client = server.client(tools.mailing)
    thread = Waiting(server, client, await client.say())
    yield thread
    await thread.finish()


def three(waiting: Waiting, *entries: dict[str, object]) -> list[dict[str, object]]:
    return [
        {"interruptId": identifier, **entry}
        for identifier, entry in zip(waiting.ids, entries, strict=False)
    ]


@requirement("CR-4", "TR-02", "TR-37", "ER-03", "ER-04", "RE-11")
async def test_a_message_without_answers_is_refused(waiting: Waiting) -> None:
    """E1, H7, CR-4: two events, the open ids named, the agent not called, nothing stored."""
    new = {"id": "new", "role": "user", "content": "never mind"}
    run = await waiting.refuse("interrupts_pending", messages=[*waiting.messages, new])
    assert [i["interruptId"] for i in run.details["interrupts"]] == waiting.ids


@requirement("RE-07")
async def test_an_empty_resume_is_none(waiting: Waiting) -> None:
    """RE-07: the same refusal as without."""
    await waiting.refuse("interrupts_pending", resume=[])


@requirement("CR-3", "RE-13", "RE-19", "RE-11", "OC-01")
async def test_two_answers_of_three_are_refused(waiting: Waiting) -> None:
    """CR-3, RE-19: the missing one is named; nothing of the given two is kept."""
    run = await waiting.refuse("partial_resume", resume=three(waiting, approve(), deny()))
    assert run.details["interrupts"] == [{"interruptId": waiting.ids[2]}]


async def test_a_message_with_too_few_answers_is_not_kept(waiting: Waiting) -> None:
    """E6: refused up front, the message is not stored."""
    new = {"id": "new", "role": "user", "content": "and this"}
    await waiting.refuse(
        "partial_resume",
        resume=three(waiting, approve()),
        messages=[*waiting.messages, new],
    )


@pytest.mark.every_store
@requirement("CR-2", "TR-01", "CR-1")
@pytest.mark.parametrize("covered", [False, True])
async def test_an_id_that_was_never_issued_is_refused(waiting: Waiting, covered: bool) -> None:
    """D1, design 4: alone, and beside full coverage."""
    entries = three(waiting, *[approve()] * 3) if covered else []
    foreign = {"interruptId": "int_nobody", **approve()}
    run = await waiting.refuse("unknown_interrupt", resume=[*entries, foreign])
    assert run.details["interrupts"] == [{"interruptId": "int_nobody"}]


@requirement("CR-1", "SE-02")
async def test_another_threads_interrupt_is_an_unknown_one(
    waiting: Waiting, server: Server, tools: Kit
) -> None:
    """CR-1: the id exists, but not here; the answer says no more than for an invented one."""
    other = server.client(tools.filing)
    (theirs,) = (await other.say()).interrupts
    waiting.stored = server.dump()
    entry = {"interruptId": theirs["id"], **answer({"quarter": "Q1", "year": 2026})}
    foreign = await waiting.refuse("unknown_interrupt", resume=[entry])
    invented = await waiting.refuse(
        "unknown_interrupt", resume=[{**entry, "interruptId": "int_" + "0" * 32}]
    )
    named = foreign.last["message"].replace(theirs["id"], "")
    assert named == invented.last["message"].replace("int_" + "0" * 32, "")


@pytest.mark.every_store
async def test_the_call_s_id_is_not_the_interrupt_s(waiting: Waiting) -> None:
    """D4: an interrupt and its call are two things with two ids."""
    calls = [i["toolCallId"] for i in waiting.client.model.pending]
    assert not set(calls) & set(waiting.ids)
    await waiting.refuse(
        "unknown_interrupt", resume=[{"interruptId": call, **approve()} for call in calls]
    )


@pytest.mark.every_store
@requirement("RE-08")
async def test_two_different_answers_for_one_are_refused(waiting: Waiting) -> None:
    """D8, RE-08: approve and deny in one array decide nothing."""
    entries = [*three(waiting, *[approve()] * 3), *three(waiting, deny())]
    run = await waiting.refuse("duplicate_entry", resume=entries)
    assert run.details["interrupts"] == [{"interruptId": waiting.ids[0]}]


@requirement("CR-6", "CR-8", "TB-08", "RE-17", "ER-06", "ER-07", "RE-05", "TR-18")
@pytest.mark.parametrize(
    "payload",
    [
        None,
        {},
        True,
        "true",
        1,
        {"approved": "true"},
        {"approved": "false"},
        {"approved": 1},
        {"approved": None},
        {"approved": [True]},
        {"Approved": True},
        {"approved": True, "editedArgs": {"to": "eve"}},
        {"approved": True, "remember": True},
    ],
)
async def test_only_true_approves_and_one_bad_payload_refuses_all(
    waiting: Waiting, payload: object
) -> None:
    """TB-08, G4, RE-17: nothing of a batch runs when one of its payloads does not fit."""
    entries = three(waiting, approve(), answer(payload), approve())
    run = await waiting.refuse("invalid_payload", resume=entries)
    (named,) = run.details["interrupts"]
    assert named["interruptId"] == waiting.ids[1]
    assert named["problems"]
    assert all(p["pointer"] == "" or p["pointer"][0] == "/" for p in named["problems"])


@requirement("CR-8")
async def test_an_absent_payload_is_no_answer_either(waiting: Waiting) -> None:
    """CR-8, CK-02: what CopilotKit sends for `resolve()` without an argument."""
    entries = three(waiting, approve(), {"status": "resolved"}, approve())
    await waiting.refuse("invalid_payload", resume=entries)


@requirement("ER-14")
async def test_a_refusal_does_not_echo_the_payload(waiting: Waiting) -> None:
    """ER-14: the problem is named, the value is not."""
    secret = {"approved": "card 4111 1111"}
    run = await waiting.refuse("invalid_payload", resume=three(waiting, *[answer(secret)] * 3))
    assert b"4111 1111" not in run.body


async def test_another_agent_s_path_is_refused(waiting: Waiting, server: Server) -> None:
    """Design 4: the thread's unfinished work belongs to one agent."""

    @server.app.agent("bystander")
    async def bystander(turn: object) -> None:
        server.effects.append("called")

    entries = three(waiting, *[approve()] * 3)
    for members in ({"resume": entries}, {}):
        other = Client(server.app, "bystander", thread=waiting.client.thread)
        run = await other.run(waiting.client.body(**members))
        assert run.outcome == "wrong_agent"
        assert server.dump() == waiting.stored


@requirement("RE-15", "RE-16", "TB-09", "TC-16", "TR-30", "TC-09")
async def test_answers_in_any_order_reach_their_own_calls(server: Server, tools: Kit) -> None:
    """RE-15, RE-16, C2, C4, C8: approve, deny and cancel, sent in reverse."""
    client = server.client(tools.mailing)
    first = await client.say()
    assert first.results.keys() == {c["id"] for c in client.model.messages[1]["toolCalls"][:1]}
    entries = client.entries(approve(), deny("not him"), cancel())
    run = await client.resume(*reversed(entries))
    ann, ben, cyd = [i["toolCallId"] for i in first.interrupts]
    assert run.results[ann] == "Sent to ann."
    assert "denied" in run.results[ben] and "not him" in run.results[ben]
    assert "cancelled" in run.results[cyd]
    assert run.text == "executed, executed, denied, cancelled"
    assert server.effects == [("lookup", "A-17"), ("email", "ann")]
    tool_messages = [m["toolCallId"] for m in client.model.messages if m["role"] == "tool"]
    assert sorted(tool_messages) == sorted({*first.results, ann, ben, cyd})


@requirement("RE-08")
async def test_equal_entries_for_one_interrupt_are_one(server: Server, tools: Kit) -> None:
    """RE-08: a doubled entry is a stutter, not a contradiction."""
    client = server.client(tools.refunding)
    await client.say()
    (entry,) = client.entries(approve())
    run = await client.resume(entry, {**entry, "metadata": {"note": "twice"}})
    assert run.outcome == "success"
    assert server.effects == [("refund", "A-17", 240.0)]


@requirement("RE-10")
async def test_answers_for_nothing_are_refused_unless_a_message_comes_along(
    server: Server, tools: Kit
) -> None:
    """RE-10, design 4 and 10: refused alone; with a new message the run starts without them."""
    client = server.client(tools.greeting)
    await client.say("ann")
    stored = server.dump()
    entry = {"interruptId": "int_nobody", **approve()}
    refused = await client.run(resume=[entry])
    assert refused.outcome == "unknown_interrupt"
    assert server.dump() == stored
    started = await client.say("ben", resume=[entry])
    assert (started.outcome, started.text) == ("success", "Hello, ben.")


@pytest.mark.every_store
async def test_answers_on_a_thread_that_does_not_exist_start_nothing(
    server: Server, tools: Kit
) -> None:
    """D2: a request that carries an answer is never plain input."""
    client = server.client(tools.greeting)
    stored = server.dump()
    run = await client.run(resume=[{"interruptId": "int_nobody", **approve()}])
    assert run.outcome == "unknown_interrupt"
    assert (server.dump(), server.effects) == (stored, [])
