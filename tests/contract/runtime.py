"""A page of CopilotKit as the server sees it: its runtime protocol, in both transports.

What it sends is what `react-core` 1.74.0 was seen to send (`tests/captured`): no version, `state`
and lists always there, a resume under the interrupted run's id, and a tool message of its own for
each tool-bound interrupt.
"""

import json
from typing import Any
from urllib.parse import quote
from uuid import uuid4

from sayso import CopilotKit
from tests.contract.rest import call
from tests.contract.server import Client, Json, Server
from tests.contract.wire import Exchange, Run
from tests.spec.judge import schema_faults

__all__ = ["RELEASED", "TRANSPORTS", "Page", "page", "without_release"]

TRANSPORTS = ("rest", "single")
RELEASED = ["RUN_STARTED", "RUN_FINISHED", "RUN_STARTED"]
"""How the stream of an answer begins that was taken."""


class Page(Client):
    """One page with one thread."""

    def __init__(self, app: Any, agent: str, *, transport: str, **options: Any) -> None:
        super().__init__(app, agent, **{"version": None, **options})
        self.transport = transport
        self.run_id = ""

    def again(self, **changes: Any) -> "Page":
        """The page after a reload, or another tab with it."""
        same = {"thread": self.thread, "transport": self.transport, "headers": self.headers}
        return Page(changes.pop("app", self.app), self.agent, **{**same, **changes})

    def open(self, body: Json | None = None, *, action: str = "", **members: Any) -> Exchange:
        """Begin a run or a connect."""
        sent = self.body(**members) if body is None else body
        self.run_id = sent["runId"]
        name = action.removeprefix("/") or "run"
        path, value = f"/copilotkit/agent/{self.agent}/{name}", sent
        if self.transport == "single":
            path = "/copilotkit"
            value = {"method": f"agent/{name}", "params": {"agentId": self.agent}, "body": sent}
        return Exchange(self.app, "POST", path, json.dumps(value).encode(), self.headers)

    async def run(self, body: Json | None = None, *, action: str = "", **members: Any) -> Run:
        """A whole run, judged, and taken into this page's model."""
        sent = self.body(**members) if body is None else body
        run = await self.open(sent, action=action).end()
        if run.is_stream:
            assert schema_faults(run.events) == []
            self.model.take(run.events)
            run = without_release(run)
            _with_one_ending(run).judged(sent["threadId"], sent["runId"])
        return run

    async def resume(self, *entries: Json, **members: Any) -> Run:
        """Answer as its hook does."""
        sent = self.entries(*entries)
        asked = {interrupt["id"]: interrupt for interrupt in self.model.pending}
        for entry in sent:
            interrupt = asked.get(entry["interruptId"], {})
            if interrupt.get("reason") == "tool_call":
                content = entry.get("payload") or {"status": entry["status"]}
                self.model.messages.append(
                    {
                        "id": f"own-{uuid4().hex[:8]}",
                        "role": "tool",
                        "toolCallId": interrupt["toolCallId"],
                        "content": json.dumps(content),
                    }
                )
        return await self.run(resume=sent, **{"runId": self.run_id, **members})

    async def stop(self, run_id: str | None = None) -> Run:
        """Press the stop button; without a run id there is no body, or an empty one."""
        body = None if run_id is None else {"runId": run_id}
        if self.transport == "rest":
            path = f"/copilotkit/agent/{self.agent}/stop/{quote(self.thread, safe='')}"
            return await call(self.app, "POST", path, b"" if body is None else body)
        params = {"agentId": self.agent, "threadId": self.thread}
        envelope: Json = {"method": "agent/stop", "params": params}
        if body is not None:
            envelope["body"] = body
        return await call(self.app, "POST", "/copilotkit", envelope)

    async def info(self) -> Run:
        """Ask what there is."""
        if self.transport == "rest":
            return await call(self.app, "GET", "/copilotkit/info")
        return await call(self.app, "POST", "/copilotkit", {"method": "info"})


def _with_one_ending(run: Run) -> Run:
    """The run as it would be told to other clients, which the strict judges know.

    A page whose answer began nothing that it could follow gets a RUN_FINISHED without an outcome
    before a RUN_ERROR.
    """
    events = run.events
    if run.types[-2:] == ["RUN_FINISHED", "RUN_ERROR"]:
        assert "outcome" not in events[-2]
        del events[-2]
    elif run.types[-1] == "RUN_FINISHED" and "outcome" not in events[-1]:
        events[-1]["outcome"] = {"type": "cancelled"}
    return _with(run, events)


def without_release(run: Run) -> Run:
    """What follows the run of its own by which a page lets go of what it has answered (CK-07)."""
    if run.types[:3] != RELEASED:
        return run
    begun, over, begins = run.events[:3]
    assert over["outcome"] == {"type": "success"}
    assert begun["runId"] == over["runId"] != begins["runId"]
    assert {begun["threadId"], over["threadId"]} == {begins["threadId"]}
    return _with(run, run.events[2:])


def _with(run: Run, events: list[Json]) -> Run:
    body = b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)
    return Run(run.status, run.headers, body)


def page(server: Server, agent: Any, transport: str, **options: Any) -> Page:
    """A page on a new thread of an agent, which is registered as `desk` first."""
    server.app.agent("desk", **options)(agent)
    server.app.mount(CopilotKit())
    return Page(server.app, "desk", transport=transport)
