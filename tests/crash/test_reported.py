"""Calls that somebody else makes are told once, with one result, whatever dies (design 3)."""

from pathlib import Path
from typing import Any, Literal

import pytest

from sayso import Turn, parts
from sayso.base import jsonvalue
from sayso.base.errors import NestedCall, NotRecordable, TurnError
from tests.contract.rest import call
from tests.turns.driver import Conversation, World

ASKED = {"query": "paper", "n": 2}


async def finding(turn: Turn, world: World) -> Any:
    """A hosted tool whose result comes after a pause, and one whose result comes at once."""
    search = await turn.report("web_search", ASKED, told_as="srv_1")
    await turn.report_decision("web_search", ASKED, rule="paper", allowed=True, told_as="srv_1")
    await turn.report_decision("pay", {}, rule="no money", allowed=False)
    quick = await turn.report("look_up", {})
    await quick.result("", error="gone")
    await turn.say("Searching.")
    await turn.step.options(name="filed")(world.effect, "filed")
    answer = await turn.interrupt("input_required", "Sure?", schema=bool)
    await search.result("Three shops.")
    await turn.step.options(name="sold")(world.effect, "sold")
    return [search.id, search.told_as, quick.told_as, answer.value]


def told(talk: Conversation) -> list[Any]:
    """The history of the agent's side: names of calls, results, and words."""
    lines: list[Any] = []
    names: dict[str, str] = {}
    for message in talk.history:
        for made in message.get("toolCalls", ()):
            names[made["id"]] = made["function"]["name"]
            lines.append((made["function"]["name"], made["function"]["arguments"]))
        if message["role"] == "tool":
            lines.append((names[message["toolCallId"]], message["content"]))
        elif message["role"] == "assistant" and message.get("content"):
            lines.append(message["content"])
    return lines


CALLS = [("web_search", '{"query":"paper","n":2}'), ("look_up", "{}"), ("look_up", "Failed: gone")]


async def trail(world: World, talk: Conversation) -> list[tuple[str, dict[str, Any]]]:
    rows = (await call(world.app, "GET", f"/audit?thread={talk.thread}")).json["items"]
    return [(r["kind"], r["content"]) for r in rows if r["kind"].startswith("reported")]


async def test_a_reported_call_is_told_kept_and_audited(kind: str, tmp_path: Path) -> None:
    async with World.of(kind, tmp_path, finding) as world:
        talk = Conversation(world)
        run = await talk.say()
        types = [event["type"] for event in run.events if event["type"].startswith("TOOL_CALL")]
        begun = ["TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END"]
        assert types == [*begun, *begun, "TOOL_CALL_RESULT"]
        await talk.restart()
        run = await talk.answer({"Sure?": True})
        assert [event["content"] for event in run.of("TOOL_CALL_RESULT")] == ["Three shops."]
        assert not run.of("TOOL_CALL_START")
        (search, *others) = run.last["result"]
        assert others == ["srv_1", None, True]
        await talk.connect()
        assert told(talk) == [*CALLS, "Searching.", ("web_search", "Three shops.")]
        rows = await trail(world, talk)
        assert [(k, c["tool"], c.get("status")) for k, c in rows] == [
            ("reported_call", "web_search", None),
            ("reported_decision", "web_search", "allowed"),
            ("reported_decision", "pay", "denied"),
            ("reported_call", "look_up", None),
            ("reported_result", "look_up", "failed"),
            ("reported_result", "web_search", "executed"),
        ]
        of_search = {"toolCallId": search, "arguments": jsonvalue.digest(ASKED)}
        assert rows[0][1] == {**of_search, "tool": "web_search"}
        assert rows[1][1] == {**rows[0][1], "status": "allowed", "rule": "paper"}
        assert rows[2][1]["rule"] == "no money"
        assert "toolCallId" not in rows[2][1]


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_death_at_any_commit_tells_neither_call_nor_result_twice(
    kind: str, when: Literal["before", "after"], tmp_path: Path
) -> None:
    commits, n = 1, 0
    while n < commits:
        n += 1
        folder = tmp_path / f"{when} {n}"
        folder.mkdir()
        async with World.of(kind, folder, finding) as world:
            window = world.process.window
            window.fail("commit", n=n, when=when, hook=window.disconnect)
            talk = Conversation(world)
            await talk.say()
            for _ in range(3):
                if window.dead and world.process.window is window:
                    await talk.recover()
                for item in talk.client.model.pending:
                    if item["reason"] == "input_required":
                        await talk.answer({"Sure?": True})
                        continue
                    step = item["metadata"]["sayso"]["name"]
                    happened = {"action": "skip", "result": step}
                    unsure = happened if step in world.effects else {"action": "run_again"}
                    await talk.answer({item["id"]: unsure})
            died = len(world.processes) > 1
            commits = max(commits, sum(c.point == "commit" for c in window.calls) + died)
            turn = (await world.view(talk.thread)).turn
            assert turn is not None
            assert turn.status == "finished", folder.name
            await talk.connect()
            assert told(talk) == [*CALLS, "Searching.", ("web_search", "Three shops.")], folder.name
            assert world.effects == ["filed", "sold"], folder.name
            kinds = sorted(k for k, _ in await trail(world, talk))
            twice = ("reported_call", "reported_decision", "reported_result")
            assert kinds == [kind for kind in twice for _ in range(2)], folder.name
    assert commits > 4


@pytest.mark.parametrize("end", ["finishes", "fails", "stops", "is stopped while it waits"])
async def test_a_call_without_a_result_gets_one_that_says_so(
    kind: str, end: str, tmp_path: Path
) -> None:
    async def agent(turn: Turn, world: World) -> Any:
        await turn.report("web_search", ASKED)
        if end == "fails":
            raise RuntimeError("lost")
        if end == "stops":
            await turn.cancel("enough")
        if end != "finishes":
            await turn.interrupt("input_required", "Sure?", schema=bool)

    async with World.of(kind, tmp_path, agent) as world:
        talk = Conversation(world)
        run = await talk.say()
        if end == "is stopped while it waits":
            assert not run.of("TOOL_CALL_RESULT")
            await call(world.app, "POST", f"/threads/{talk.thread}/stop")
        await talk.connect()
        how = "ended" if end in ("finishes", "fails") else "was stopped"
        text = f"Unknown: the turn {how} before anyone said what came of this call."
        assert told(talk) == [CALLS[0], ("web_search", text)]
        assert [k for k, _ in await trail(world, talk)] == ["reported_call"]


async def test_a_retry_keeps_the_result_that_the_end_of_the_turn_has_told(
    kind: str, tmp_path: Path
) -> None:
    entered = 0

    async def agent(turn: Turn, world: World) -> Any:
        nonlocal entered
        entered += 1
        search = await turn.report("web_search", ASKED)
        await turn.interrupt("input_required", "Sure?", schema=bool)
        if entered == 2:
            raise RuntimeError("lost")
        await search.result("Three shops.")
        return "end"

    async with World.of(kind, tmp_path, agent) as world:
        talk = Conversation(world)
        await talk.say()
        entries = [talk.entry("Sure?", True)]
        await talk.send(entries)
        run = await talk.send(entries)
        assert run.last["result"] == "end"
        assert entered == 3
        assert not run.of("TOOL_CALL_RESULT", "TOOL_CALL_START")
        await talk.connect()
        text = "Unknown: the turn ended before anyone said what came of this call."
        assert told(talk) == [CALLS[0], ("web_search", text)]


async def test_a_copy_of_the_thread_tells_results_that_came_later_anew(
    kind: str, tmp_path: Path
) -> None:
    async with World.of(kind, tmp_path, finding) as world:
        talk = Conversation(world)
        await talk.say()
        (question,) = talk.client.model.pending
        await talk.answer({"Sure?": True})
        body = {"interruptId": question["id"]}
        made = await call(world.app, "POST", f"/threads/{talk.thread}/fork", body)
        copy = Conversation(world, thread=made.json["threadId"])
        await copy.connect()
        assert told(copy) == [*CALLS, "Searching."]
        run = await copy.answer({"Sure?": False})
        assert [event["content"] for event in run.of("TOOL_CALL_RESULT")] == ["Three shops."]


async def test_code_under_keys_reports_and_gives_results(kind: str, tmp_path: Path) -> None:
    """The result comes from another part than the call, beside an open message."""

    async def agent(turn: Turn, world: World) -> Any:
        async with turn.at("round:1"):
            search = await turn.report("web_search", ASKED)
        async with turn.at("text:1"), turn.message() as message:
            await message.write("While ")
            async with turn.at("round:2"):
                await search.result([parts.text("Three "), parts.text("shops.")], error="slow")
            await message.write("it lasts.")
        await turn.interrupt("input_required", "Sure?", schema=bool)

    async with World.of(kind, tmp_path, agent) as world:
        talk = Conversation(world)
        await talk.say()
        await talk.restart()
        await talk.answer({"Sure?": True})
        await talk.connect()
        told_parts = [
            {"type": "text", "text": word} for word in ("Failed: slow", "Three ", "shops.")
        ]
        assert told(talk) == [CALLS[0], "While it lasts.", ("web_search", told_parts)]


async def test_what_cannot_be_reported_says_why(kind: str, tmp_path: Path) -> None:
    async def agent(turn: Turn, world: World) -> Any:
        said = []
        with pytest.raises(ValueError, match="name of a tool"):
            await turn.report("", {})
        with pytest.raises(NotRecordable):
            await turn.report("web_search", {"of": object()})
        with pytest.raises(ValueError, match="name of a tool"):
            await turn.report_decision("", {}, rule="r", allowed=True)
        search = await turn.report("web_search", {})
        with pytest.raises(TypeError):
            await search.result(3)  # type: ignore[arg-type]  # that is the mistake
        await search.result("")
        with pytest.raises(TurnError, match="told once"):
            await search.result("again")

        async def inside() -> None:
            await turn.report("web_search", {})

        try:
            await turn.step(inside)
        except Exception as error:
            said.append(str(error))
        return said

    async with World.of(kind, tmp_path, agent) as world:
        talk = Conversation(world)
        run = await talk.say()
        assert NestedCall.__name__ in run.last["result"][0]
        assert told(talk) == [("web_search", "{}"), ("web_search", '""')]
