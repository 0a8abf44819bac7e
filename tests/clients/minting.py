"""Conversations of Agent Framework's `AGUIChatClient` with a demo server, as JSON on stdout.

Run by the Python of an environment of its own: `python minting.py URL SCENARIO THREAD`.
Nothing of this repository can be imported there. What is printed are the texts that it got.
"""

import asyncio
import json
import sys
from typing import Any

import httpx

# Only the environment that runs this file has them.
from agent_framework import (
    Agent,
    Message,
    tool,
)
from agent_framework_ag_ui import AGUIChatClient  # type: ignore[import-not-found]

URL, SCENARIO, THREAD = sys.argv[1:]
HERE = {"metadata": {"thread_id": THREAD}}


def client() -> Any:
    """A client of the demo's agent."""
    return AGUIChatClient(endpoint=f"{URL}/agents/ops")


def yes() -> list[dict[str, Any]]:
    """Approve what is open."""
    (asked,) = httpx.get(f"{URL}/threads/{THREAD}").json()["interrupts"]
    return [
        {"interruptId": asked["id"], "status": "resolved", "payload": {"approved": True}},
    ]


async def alone() -> list[str]:
    """The last message is sent again, alone, with the answer."""
    chat = client()
    first = await chat.get_response([Message("user", ["refund"])], options=HERE)
    again = [Message("user", ["refund"])]
    then = await chat.get_response(again, options={**HERE, "resume": yes()})
    return [first.text, then.text]


async def history() -> list[str]:
    """The whole list is sent with the answer, and once more with the next message."""
    chat = client()
    held = [Message("user", ["refund"])]
    first = await chat.get_response(held, options=HERE)
    held += first.messages
    then = await chat.get_response(held, options={**HERE, "resume": yes()})
    held += [*then.messages, Message("user", ["hello"])]
    last = await chat.get_response(held, options=HERE)
    return [first.text, then.text, last.text]


async def session() -> list[str]:
    """An agent's session keeps the list, and sends all of it each time."""
    agent = Agent(client=client(), name="person")
    kept = agent.create_session()
    said = [await agent.run(text, session=kept, options=HERE) for text in ("hello",) * 3]
    return [one.text for one in said]


async def local() -> list[str]:
    """A tool of the client's own, called by the server's agent."""

    @tool(approval_mode="never_require")  # type: ignore[untyped-decorator]
    def schedule_meeting(**details: Any) -> str:
        """Find a time for a meeting."""
        return "Monday at nine"

    agent = Agent(client=client(), name="person", tools=[schedule_meeting])
    kept = agent.create_session()
    said = [await agent.run(text, session=kept, options=HERE) for text in ("meeting", "hello")]
    return [one.text for one in said]


texts = asyncio.run(
    {"alone": alone, "history": history, "session": session, "local": local}[SCENARIO]()
)
sys.stdout.write(json.dumps(texts))
