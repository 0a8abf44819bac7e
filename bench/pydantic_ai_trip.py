"""CPU of a gated trip of a Pydantic AI agent: asked, approved, done; here and by its own adapter.

    pip install 'sayso[pydantic-ai]' 'pydantic-ai-slim[ag-ui]'
    python bench/pydantic_ai_trip.py [RUNS]

Both in one process over raw ASGI, without sockets, on the same scripted agent. Sayso keeps threads
in memory; the framework's own adapter keeps nothing. The figure is the ratio, of the least of five
rounds each, in CPU time.
"""

import asyncio
import gc
import logging
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from itertools import count
from typing import Any

import orjson
from pydantic_ai import Agent, DeferredToolRequests
from pydantic_ai.messages import ModelMessage, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel
from pydantic_ai.ui.ag_ui import AGUIAdapter
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sayso import Sayso, ServerOptions
from sayso.pydantic_ai import mount

Event = dict[str, Any]
Trip = Callable[[], Awaitable[None]]
ROUNDS = 5
ARGUMENTS = '{"order_id": "A-17", "amount": 240.0}'
_numbers = count()


async def clerk(
    messages: list[ModelMessage], info: AgentInfo
) -> AsyncIterator[str | DeltaToolCalls]:
    """Refunds, and tells what came of it."""
    results = [part for part in messages[-1].parts if isinstance(part, ToolReturnPart)]
    if results:
        for word in ("Done: ", *results[0].model_response_str().split(" ")):
            yield word
    else:
        yield "Let me "
        yield "see. "
        yield {1: DeltaToolCall("issue_refund", ARGUMENTS, tool_call_id="call_1")}


agent = Agent(
    FunctionModel(stream_function=clerk), name="a", output_type=[str, DeferredToolRequests]
)


@agent.tool_plain(requires_approval=True)
async def issue_refund(order_id: str, amount: float) -> str:
    """Refund an order."""
    return f"refunded {amount:.2f} for {order_id}"


async def post(app: Any, path: str, body: Event) -> list[Event]:
    """The events of one request."""
    sent: list[bytes] = [orjson.dumps(body)]
    received: list[bytes] = []
    done = asyncio.Event()

    async def receive() -> Event:
        if sent:
            return {"type": "http.request", "body": sent.pop(), "more_body": False}
        await done.wait()
        return {"type": "http.disconnect"}

    async def send(message: Event) -> None:
        if message["type"] == "http.response.body":
            received.append(message.get("body", b""))
            if not message.get("more_body"):
                done.set()

    headers = {b"host": b"127.0.0.1", b"content-type": b"application/json"}
    scope = {
        **{"type": "http", "http_version": "1.1", "method": "POST", "scheme": "http"},
        **{"asgi": {"version": "3.0"}, "path": path, "raw_path": path.encode(), "root_path": ""},
        **{"query_string": b"", "server": ("127.0.0.1", 80), "client": ("127.0.0.1", 1)},
        "headers": [*headers.items(), (b"accept", b"text/event-stream")],
    }
    await app(scope, receive, send)
    lines = b"".join(received).replace(b"\r", b"").split(b"\n")
    return [orjson.loads(line[6:]) for line in lines if line.startswith(b"data: ")]


def request(thread: str, **members: Any) -> Event:
    """A run input."""
    base: Event = {"threadId": thread, "runId": f"r{next(_numbers)}", "protocolVersion": "1.0"}
    base |= {"state": {}, "tools": [], "context": [], "forwardedProps": {}, "messages": []}
    return {**base, **members}


def said() -> list[Event]:
    """The user's message."""
    return [{"id": f"u{next(_numbers)}", "role": "user", "content": "refund A-17"}]


def approved(events: list[Event]) -> list[Event]:
    """The answer to the only question."""
    (asked,) = events[-1]["outcome"]["interrupts"]
    return [{"interruptId": asked["id"], "status": "resolved", "payload": {"approved": True}}]


def here() -> Trip:
    """A trip on this server."""
    app = Sayso(store="memory:", server=ServerOptions(console=False))
    mount(app, "a", agent)

    async def trip() -> None:
        thread = f"t{next(_numbers)}"
        events = await post(app, "/agents/a", request(thread, messages=said()))
        events = await post(app, "/agents/a", request(thread, resume=approved(events)))
        assert b"refunded" in orjson.dumps(events)  # noqa: S101 - a figure of a failure is none

    return trip


def adapter() -> Trip:
    """A trip by the framework's own adapter; the client sends back what it has seen."""

    async def endpoint(http: Request) -> Response:
        return await AGUIAdapter.dispatch_request(http, agent=agent)

    app = Starlette(routes=[Route("/a", endpoint, methods=["POST"])])

    async def trip() -> None:
        thread, messages = f"t{next(_numbers)}", said()
        events = await post(app, "/a", request(thread, messages=messages))
        (call,) = [event for event in events if event["type"] == "TOOL_CALL_START"]
        function = {"name": call["toolCallName"], "arguments": ARGUMENTS}
        made = {"id": call["toolCallId"], "type": "function", "function": function}
        messages = [*messages, {"id": "a1", "role": "assistant", "toolCalls": [made]}]
        answer = request(thread, messages=messages, resume=approved(events))
        events = await post(app, "/a", answer)
        assert b"refunded" in orjson.dumps(events)  # noqa: S101 - a figure of a failure is none

    return trip


async def measured(trip: Trip, runs: int) -> float:
    """CPU of one trip, in ms: the mean of some."""
    for _ in range(3):
        await trip()
    gc.collect()
    before = time.process_time()
    for _ in range(runs):
        await trip()
    return (time.process_time() - before) / runs * 1000


async def main(runs: int) -> None:
    """Measure the two in turn, and print the least of each and the ratio."""
    logging.disable(logging.CRITICAL)
    trips = {"sayso": here(), "AGUIAdapter": adapter()}
    least = dict.fromkeys(trips, float("inf"))
    for _ in range(ROUNDS):
        for name, trip in trips.items():
            least[name] = min(least[name], await measured(trip, runs))
    for name, milliseconds in least.items():
        sys.stdout.write(f"{name:12} {milliseconds:7.2f} ms\n")
    sys.stdout.write(f"{'ratio':12} {least['sayso'] / least['AGUIAdapter']:7.2f}\n")


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 30))
