"""Ids of threads in paths: the thread that was named, or nobody; never another one."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import quote

import httpx
import pytest
import uvicorn
from hypothesis import example, given, settings
from hypothesis import strategies as st
from starlette.applications import Starlette
from starlette.routing import Mount

from sayso import CopilotKit, Sayso, ServerOptions, Turn
from tests.contract.rest import call
from tests.contract.server import Server, eventually
from tests.patience import PATIENCE

AWKWARD = (
    "https://tickets.example/42/",
    "x/state",
    "x/history",
    "x/stop",
    "/",
    "//",
    "a//b",
    "a/../b",
    "..a",
    "%",
    "%2F",
    "x%2Fstate",
    "a?b#c",
    " ",
    "ü 𝄞\u2028",
    "a\\b",
    "~!$&'()*+,;=:@",
)
OTHERS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1)
PIECES = st.sampled_from(["/", "%", "%2F", "%25", ".", "..", "state", "stop", "\n", "a", "é"])
IDS = OTHERS.filter(lambda text: len(text) <= 512) | st.lists(PIECES, min_size=1).map("".join)
SPELLINGS = (
    *("B%2F", "B%2f", "%2FB", "B%2F%2F", "B/", "B%0A", "B%0D", "B%00", "B%09", "%0AB"),
    *("B%20", "B%C2%85", "B%7F", "B%FF", "B%252F", "B%2F.", "B%2F..%2FB", "%42%5C"),
)
REQUESTS = (
    ("GET", "/threads/{}"),
    ("GET", "/threads/{}/state"),
    ("GET", "/threads/{}/history"),
    ("GET", "/audit/{}"),
    ("POST", "/threads/{}/stop"),
    ("POST", "/threads/{}/restart"),
    ("POST", "/copilotkit/agent/asking/stop/{}"),
    ("DELETE", "/threads/{}"),
)


def asking() -> Sayso:
    """An app whose agent asks."""
    app = Sayso(store="memory:", server=ServerOptions(console=False, keep_alive=None))
    app.mount(CopilotKit())

    @app.agent("asking")
    async def _(turn: Turn) -> None:
        await turn.interrupt("input_required", "Go on?", schema=bool)

    return app


def run_of(thread: str) -> dict[str, Any]:
    said = {"id": "u", "role": "user", "content": "go"}
    return {"threadId": thread, "runId": "r", "messages": [said]}


async def ways(send: Any, thread: str) -> None:
    """All that can be done to a thread is done to it, beside its neighbours, to no other."""
    neighbours = {f"{thread}/", thread.rstrip("/"), thread.split("/")[0], f"{thread}/state"}
    neighbours -= {"", ".", "..", thread}
    begun = await send("POST", "/agents/asking", run_of(thread))
    if begun[0] == 422:
        assert begun[1]["errors"][0]["pointer"] == "/threadId"
        return
    for one in neighbours:
        if len(one) <= 512:
            await send("POST", "/agents/asking", run_of(one))
    before = await listed(send)
    assert thread in before
    named = quote(thread, safe="")
    assert (await send("GET", f"/threads/{named}"))[1]["threadId"] == thread
    assert (await send("GET", f"/threads/{named}/state"))[1]["next"] == ["input_required"]
    assert len((await send("GET", f"/threads/{named}/history"))[1]["runs"]) == 1
    assert (await send("GET", f"/audit/{named}"))[1]["threadId"] == thread
    stopped = await send("POST", f"/copilotkit/agent/asking/stop/{named}", {})
    assert (stopped[0], stopped[1]["stopped"]) == (200, False)
    assert (await send("POST", f"/threads/{named}/stop"))[1]["stopped"]
    open_still = {one: state for one, state in (await listed(send)).items() if one != thread}
    assert open_still == {one: state for one, state in before.items() if one != thread}
    assert (await send("DELETE", f"/threads/{named}"))[0] == 204
    assert await listed(send) == open_still
    for one in open_still:
        await send("DELETE", f"/threads/{quote(one, safe='')}")


async def listed(send: Any) -> dict[str, str]:
    return {one["threadId"]: one["status"] for one in (await send("GET", "/threads"))[1]["items"]}


def example_of_each(test: Any) -> Any:
    for one in AWKWARD:
        test = example(one)(test)
    return test


@settings(max_examples=30)
@example_of_each
@given(IDS)
def test_any_id_of_a_thread_leads_to_that_thread(thread: str) -> None:
    """In the app itself, below a mount, and below one that takes off its prefix.

    What no path can say is refused at the run.
    """

    async def main() -> None:
        app = asking()
        outer = Starlette(routes=[Mount("/below it", app)])

        async def shortened(scope: Any, receive: Any, send: Any) -> None:
            await app({**scope, "path": scope["path"].removeprefix("/off")}, receive, send)

        async with app.lifespan():
            for target, root in ((app, ""), (outer, "/below%20it"), (shortened, "/off")):

                async def send(
                    method: str, path: str, body: Any = None, target: Any = target, root: str = root
                ) -> tuple[int, Any]:
                    run = await call(target, method, root + path, body)
                    is_json = "json" in run.headers.get("content-type", "")
                    return run.status, run.json if is_json else None

                await ways(send, thread)

    asyncio.run(main())


@asynccontextmanager
async def serving(app: Any) -> AsyncIterator[str]:
    config = uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error", http="httptools")
    server = uvicorn.Server(config)
    task = asyncio.create_task(server.serve())

    async def started() -> bool:
        return server.started

    await eventually(started)
    try:
        yield "http://{}:{}".format(*server.servers[0].sockets[0].getsockname())
    finally:
        server.should_exit = True
        await task


async def test_any_id_leads_to_its_thread_through_a_real_server() -> None:
    """As uvicorn hands out what was sent."""
    app = asking()
    async with serving(app) as base, httpx.AsyncClient(base_url=base, timeout=PATIENCE) as http:

        async def send(method: str, path: str, body: Any = None) -> tuple[int, Any]:
            answer = await http.request(method, path, json=body)
            is_json = "json" in answer.headers.get("content-type", "")
            return answer.status_code, answer.json() if is_json else None

        for thread in AWKWARD:
            await ways(send, thread)


@pytest.mark.parametrize("spelling", SPELLINGS)
async def test_no_other_spelling_means_a_thread(server: Server, spelling: str) -> None:
    """Whatever is asked of a neighbour in writing, the thread itself stays as it is."""
    server.app.mount(CopilotKit())

    async def agent(turn: Turn) -> None:
        await turn.interrupt("input_required", "Go on?", schema=bool)

    client = server.client(agent, thread="B")
    await client.say()
    before = server.dump()
    for method, path in REQUESTS:
        at = path.format(spelling).replace("/asking/", f"/{client.agent}/")
        run = await call(server.app, method, at, {} if method == "POST" else None)
        if "copilotkit" in path and run.status == 200:
            assert not run.json["stopped"], at
        else:
            assert run.status == 404, (method, at, run.status)
    assert server.dump() == before


@pytest.mark.parametrize(
    "path", ["/audit%0a", "/threads%0A", "/%0Aaudit", "/aud%00it", "/agents%7F"]
)
async def test_a_control_character_leads_nowhere(server: Server, path: str) -> None:
    """A rule of a proxy about a path holds for what the server takes for that path."""
    assert (await call(server.app, "GET", path)).status == 404
    assert (await call(server.app, "GET", path.replace("%0A", "%C2%85"))).status == 404


async def test_an_encoded_slash_makes_no_verb(server: Server) -> None:
    """`x%2Fstate` is a thread; `x/state` is the state of `x`, where a state can be asked for."""

    async def agent(turn: Turn) -> None:
        await turn.interrupt("input_required", "Go on?", schema=bool)

    client = server.client(agent, thread="x")
    await client.say()
    await server.client(client.agent, thread="x/state").say()
    assert (await call(server.app, "GET", "/threads/x%2Fstate")).json["threadId"] == "x/state"
    assert (await call(server.app, "GET", "/threads/x/state")).json["next"] == ["input_required"]
    assert (await call(server.app, "POST", "/threads/x/state")).status == 405
    assert (await call(server.app, "DELETE", "/threads/x%2Fstate")).status == 204
    assert (await call(server.app, "GET", "/threads/x")).status == 200


@pytest.mark.parametrize("thread", [".", "..", "a\nb", "\x7f", "\x85", "\x1b[2J"])
async def test_an_id_that_no_path_can_say_is_refused_at_the_run(
    server: Server, thread: str
) -> None:
    """Else there would be a thread that nobody can look at, stop or delete."""

    async def agent(turn: Turn) -> None:
        await turn.say("Hello.")

    client = server.client(agent, thread=thread)
    before = server.dump()
    for action in ("", "/connect"):
        run = await client.run(action=action)
        assert (run.status, run.problem["errors"][0]["pointer"]) == (422, "/threadId")
    assert server.dump() == before
