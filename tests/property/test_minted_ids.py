"""Clients that mint ids for messages they hold get what clients with honest ids get.

`AGUIChatClient` (agent-framework-ag-ui) keeps the ids of assistants' texts, mints those of all else
in every request, and merges a text and the call behind it; others mint all of them. Some send their
whole list, some its end. What a turn does, and in which order the history stands, may not differ.
"""

import json
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from sayso import Sayso, ServerOptions, Turn, approval
from sayso.testing import Conversation

Json = dict[str, Any]
Mint = Callable[[Sequence[Json]], list[Json]]

SOME = settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
TOOLS = [{"name": "pick", "description": "Pick a date", "parameters": {"type": "object"}}]

WORDS = ("next", "hi", "two", "order", "pick", "ask")
STEPS = st.lists(
    st.tuples(st.sampled_from(WORDS), st.booleans(), st.integers(0, 9)), min_size=2, max_size=5
)


def shop() -> tuple[Sayso, list[str]]:
    """An agent that does, calls, asks or keeps silent, as the newest word says."""
    app = Sayso(store="memory:", server=ServerOptions(console=False))
    done: list[str] = []

    @app.tool(approval=approval.always)
    async def ship() -> str:
        done.append("shipped")
        return "shipped"

    @app.agent("shop")
    async def serve(turn: Turn) -> None:
        word = turn.input.text.split()[0]
        await turn.step(done.append, word)
        if word in ("hi", "two", "order"):
            await turn.say("Hello.")
        if word == "two":
            await turn.say("Hello.")
        if word == "order":
            await turn.say(str(await turn.call(ship)))
        if word == "pick":
            await turn.say(str(await turn.client_tool("pick", {}, schema=str)))
        if word == "ask":
            await turn.interrupt("confirmation", "Sure?")

    return app, done


def honest(messages: Sequence[Json]) -> list[Json]:
    return list(messages)


def every_id() -> Mint:
    """All ids are new in each request."""
    number = count()
    return lambda messages: [{**one, "id": f"minted-{next(number)}"} for one in messages]


def merging() -> Mint:
    """As `AGUIChatClient` does it."""
    number = count()

    def mint(messages: Sequence[Json]) -> list[Json]:
        sent: list[Json] = []
        for one in messages:
            calls = one.get("toolCalls")
            if calls is None:
                keeps = one["role"] == "assistant"
                sent.append(dict(one) if keeps else {**one, "id": f"minted-{next(number)}"})
            elif sent and sent[-1]["role"] == "assistant":
                sent[-1]["tool_calls"] = [*sent[-1].get("tool_calls", []), *calls]
            else:
                made = {"id": f"minted-{next(number)}", "role": "assistant", "content": ""}
                sent.append({**made, "tool_calls": calls})
        return sent

    return mint


def may_be_told(messages: Sequence[Json]) -> bool:
    """True if a thread is known by these under other ids: by what its agent said, or as a new one.

    Users' texts alone may as well be sent anew, and a text that is said twice is never lost.
    """
    return not messages or any(m["role"] == "assistant" and m.get("content") for m in messages)


def played(steps: Sequence[tuple[str, bool, int]], mint: Mint, last: int | None) -> Any:
    """One conversation: what was done, and how its history stands."""
    app, done = shop()
    with Conversation(app, "shop") as agent:
        number = count()

        def send(messages: Sequence[Json], **members: Any) -> None:
            agent.send(messages=mint(messages), tools=TOOLS, **members)

        def typed(word: str) -> Json:
            return {"id": f"user-{next(number)}", "role": "user", "content": word}

        for word, remark, edited in steps:
            held = [m for m in agent.messages if m["role"] != "activity"]
            users = [index for index, m in enumerate(held) if m["role"] == "user"]
            kept = (held[: users[-1]] if users else held)[-(last or len(held)) :]
            if edited == 9 and agent.status != "suspended" and may_be_told(kept):
                held = kept  # the last message is edited
                word = f"{word} edited {next(number)}"
            held = held if last is None else held[-last:]
            if agent.questions:
                yes = {
                    "interruptId": agent.question.id,
                    "status": "resolved",
                    "payload": {"approved": True},
                }
                send([*held, *([typed(word)] if remark else [])], resume=[yes])
            elif agent.status == "suspended":
                (call,) = [c for m in held for c in m.get("toolCalls", ())][-1:]
                came = {"id": f"result-{next(number)}", "role": "tool", "toolCallId": call["id"]}
                send([*held, {**came, "content": "Monday"}])
            else:
                send([*held, typed(word)])
        shown = [(m["role"], m.get("content", "")) for m in agent.messages]
        assert json.dumps(shown)  # every one of them has its content
        return done, [one for one in shown if one[0] != "activity"]


@pytest.mark.parametrize("last", [None, 4])
@pytest.mark.parametrize("minting", [every_id, merging])
@SOME
@given(steps=STEPS)
@example(steps=[("order", False, 0), ("hi", False, 0), ("order", False, 0), ("hi", True, 0)])
@example(steps=[("next", False, 0)] * 4)
@example(steps=[("next", False, 0), ("hi", False, 0), ("next", False, 9)])
@example(steps=[("pick", False, 0), ("hi", False, 0), ("pick", False, 0), ("hi", False, 0)])
def test_minted_ids_change_nothing(
    last: int | None, minting: Callable[[], Mint], steps: list[tuple[str, bool, int]]
) -> None:
    """Gated and front-end calls, questions, remarks, repeated texts, silence, edits."""
    assert played(steps, minting(), last) == played(steps, honest, last)


@SOME
@given(pages=st.lists(st.lists(st.booleans(), min_size=1, max_size=3), min_size=1, max_size=4))
def test_every_text_is_said_once_though_a_page_counts_from_one_again(
    pages: list[list[bool]],
) -> None:
    """Each page load restarts the counter of ids; some pages send their list, some the last."""
    app = Sayso(store="memory:", server=ServerOptions(console=False))
    heard: list[tuple[str, str]] = []

    @app.agent("desk")
    async def desk(turn: Turn) -> None:
        users = [m["content"] for m in turn.input.messages if m["role"] == "user"]
        heard.append((turn.input.text, users[-1]))
        await turn.say("Noted.")

    said: list[str] = []
    with Conversation(
        app, "desk", replays=False
    ) as agent:  # it tells a list of plain code what it hears
        for page in pages:
            own: list[Json] = []
            for number, alone in enumerate(page):
                said.append(f"text {len(said)}")
                typed = {"id": str(number), "role": "user", "content": said[-1]}
                body: Json = {"messages": [typed] if alone else [*own, typed]}
                for _ in range(2):  # sent, and sent again because its answer was lost
                    agent.send(**body, runId=f"run of {said[-1]}")
                own += [typed, agent.messages[-1]]
        view = agent._view()
        assert view is not None
        stored = [json.loads(one.body) for one in view.messages if one.role == "user"]
    assert [one["content"] for one in stored] == said
    assert heard == [(text, text) for text in said]
