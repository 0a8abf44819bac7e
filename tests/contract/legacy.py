"""A client of the older dialect: it knows the last question by event, and answers by command."""

import json
from typing import Any

from sayso.base.records import Interrupt
from tests.contract.optional import thread_of
from tests.contract.server import Client, Server
from tests.contract.wire import Run

__all__ = ["ABSENT", "LegacyClient", "asked_of", "command", "ids", "open_on"]

Json = dict[str, Any]

ABSENT: Any = object()
"""For a member that is not sent."""


def command(resume: Any = ABSENT, event: Any = ABSENT) -> Json:
    """`forwardedProps` that answer."""
    members = {"resume": resume, "interruptEvent": event}
    return {"command": {key: value for key, value in members.items() if value is not ABSENT}}


class LegacyClient(Client):
    """Like an old hook: keeps the last `on_interrupt` of a run, and drops it if the run failed.

    `mode` is its `?interrupts=`; None leaves that to the agent.
    """

    mode: str | None = "legacy"
    event: Any = None

    async def run(self, body: Json | None = None, *, action: str = "", **members: Any) -> Run:
        """A whole run, and what it asked."""
        query = "" if self.mode is None else f"?interrupts={self.mode}"
        run = await super().run(body, action=action + query, **members)
        failed = run.is_stream and run.last["type"] == "RUN_ERROR"
        self.event = run.asked[-1] if run.is_stream and run.asked and not failed else None
        return run

    async def reply(self, resume: Any = ABSENT, *, event: Any = None, **members: Any) -> Run:
        """Answer the question that it holds, or the one of `event`; `ABSENT`: of none."""
        about = self.event if event is None else event
        return await self.run(forwardedProps=command(resume, about), **members)


def asked_of(client: Client, mode: str | None = "legacy") -> LegacyClient:
    """A legacy client on the same thread, that has seen nothing yet."""
    found = LegacyClient(
        client.app,
        client.agent,
        thread=client.thread,
        version=client.version,
        headers=client.headers,
    )
    found.mode = mode
    return found


async def open_on(server: Server, client: Client) -> list[Interrupt]:
    """What the thread waits for."""
    view = await thread_of(server, client)
    return [item for item in view.interrupts if item.status == "open"]


def ids(values: list[str]) -> list[str]:
    """The ids in values that are JSON text of interrupts."""
    return [json.loads(value)["id"] for value in values]
