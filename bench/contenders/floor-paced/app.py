"""The harness's floor, with one turn of the event loop before each event."""

import asyncio
import importlib.util
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import orjson
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

FLOOR = Path(__file__).parents[1] / "floor" / "app.py"

spec = importlib.util.spec_from_file_location("floor", FLOOR)
if spec is None or spec.loader is None:
    raise SystemExit(f"there is no floor at {FLOOR}: run this inside the harness")
floor = importlib.util.module_from_spec(spec)
spec.loader.exec_module(floor)


async def paced(asked: dict[str, Any]) -> AsyncIterator[bytes]:
    """The floor's events, one per turn of the loop."""
    for event in floor.handle(asked):
        await asyncio.sleep(0)
        yield event


async def run(request: Request) -> StreamingResponse:
    """Answer a run; `bench pace` is what the floor calls `bench stream`."""
    asked = orjson.loads(await request.body())
    last = asked["messages"][-1]
    last["content"] = last["content"].replace("bench pace", "bench stream")
    return StreamingResponse(paced(asked), media_type="text/event-stream")


app = Starlette(routes=[Route("/", run, methods=["POST"])])
