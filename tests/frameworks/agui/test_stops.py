"""A turn is stopped: while an agent runs, and while what it asks is open."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx

from sayso import Sayso, Tool, agui, approval
from tests.contract.rest import call
from tests.frameworks.agui import producers as far
from tests.turns.driver import Conversation, World, until


async def stop(talk: Conversation) -> Any:
    """Stop the turn of a thread."""
    return await call(talk.world.app, "POST", f"/threads/{talk.thread}/stop")


async def test_a_stop_closes_the_stream_of_a_run_and_the_thread_goes_on(tmp_path: Path) -> None:
    closed: list[str] = []
    seen: list[far.Given] = []

    def script(given: far.Given) -> Iterator[Any]:
        seen.append(given)
        yield from far.text(f"m{len(given.messages)}", "Said.")

    def mount(app: Sayso) -> None:
        agui.mount_events(app, "agent", produce)

    async def produce(given: far.Given) -> AsyncIterator[Any]:
        hangs = given.messages[-1].content == "hang"
        try:
            async for event in far.agent(script)(given):
                if event.type == "RUN_FINISHED" and hangs:
                    await asyncio.Event().wait()
                yield event
        finally:
            closed.append("hang" if hangs else "end")

    async with World("memory", tmp_path, mount) as world:
        talk = Conversation(world)
        talk.client.user("hang")
        exchange = talk.client.open()
        await until(lambda: exchange.events and exchange.events[-1]["type"] == "TEXT_MESSAGE_END")
        assert (await stop(talk)).json["stopped"]
        assert (await exchange.end()).outcome == "cancelled"
        assert closed == ["hang"]
        assert (await talk.say("and now")).outcome == "success"
        assert seen[-1].messages[-1].content == "and now"


async def test_an_agent_is_told_that_nobody_answers_before_the_next_message(
    tmp_path: Path,
) -> None:
    seen: list[far.Given] = []

    def script(given: far.Given) -> Iterator[Any]:
        if given.resume:
            yield from far.text("m2", "Never mind.")
        elif given.messages[-1].content == "go":
            yield from far.text("m1", "Well?")
            yield from far.call("c1", "pay", {})
            yield far.asks({"id": "i", "reason": "shop:q", "message": "Really?"})
        else:
            yield from far.text("m3", "Hello.")

    async def pay() -> str:
        """Pay."""
        raise AssertionError("nobody said yes")

    def mount(app: Sayso) -> None:
        tool = Tool(pay, approval=approval.always)
        agui.mount_events(app, "agent", far.agent(script, seen), tools=[tool])

    async with World("memory", tmp_path, mount) as world:
        talk = Conversation(world)
        assert (await talk.say("go")).outcome == "interrupt"
        assert (await stop(talk)).json["stopped"]
        await talk.client.connect()
        await world.restart()
        run = await talk.say("hello")
        assert run.outcome == "success"
        assert [given.resume and given.resume[0].status for given in seen] == [
            None,
            "cancelled",
            None,
        ]
        said = [m.content for m in seen[-1].messages if m.content]
        assert said == ["go", "Well?", "Never mind.", "hello"]


async def test_a_server_elsewhere_is_told_of_a_stop(tmp_path: Path) -> None:
    stopped: list[Any] = []
    closed: list[str] = []

    class Hangs(httpx.AsyncByteStream):
        def __init__(self, body: dict[str, Any]) -> None:
            self.body = body

        async def __aiter__(self) -> AsyncIterator[bytes]:
            run = {"threadId": self.body["threadId"], "runId": self.body["runId"]}
            event = {"type": "RUN_STARTED", **run}
            yield f"data: {json.dumps(event)}\n\n".encode()
            step = {"type": "STEP_STARTED", "stepName": "wait"}
            yield f"data: {json.dumps(step)}\n\n".encode()
            await asyncio.Event().wait()

        async def aclose(self) -> None:
            closed.append(self.body["runId"])

    class Way(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            body = json.loads(await request.aread())
            if request.url.path != "/agent":
                stopped.append((request.url.path, body))
                return httpx.Response(200, json={})
            headers = {"content-type": "text/event-stream"}
            return httpx.Response(200, headers=headers, stream=Hangs(body))

    def mount(app: Sayso) -> None:
        http = httpx.AsyncClient(transport=Way())
        stop = "http://far.example/threads/{threadId}/stop"
        agui.mount_remote(app, "agent", "http://far.example/agent", http=http, stop=stop)

    async with World("memory", tmp_path, mount) as world:
        talk = Conversation(world)
        talk.client.user("go")
        exchange = talk.client.open()
        await until(lambda: exchange.events and exchange.events[-1]["type"] == "STEP_STARTED")
        assert (await stop(talk)).json["stopped"]
        assert (await exchange.end()).outcome == "cancelled"
        await until(lambda: stopped)
        path, body = stopped[0]
        assert path == f"/threads/{body['threadId']}/stop"
        assert closed == [body["runId"]]
