"""One tool for each way in which a call can end."""

import asyncio
from types import SimpleNamespace
from typing import Any

from sayso import Sayso, approval
from tests.turns.driver import World

__all__ = ["endings"]


def endings(world: World, app: Sayso) -> Any:
    """One tool for each way to end."""

    @app.tool()
    async def free(n: int = 0) -> str:
        return str(world.effect(f"free {n}"))

    @app.tool(approval=approval.always)
    async def gated(n: int) -> str:
        return str(world.effect(f"gated {n}"))

    @app.tool()
    def fails() -> str:
        world.effect("fails")
        raise ValueError("no luck")

    @app.tool()
    async def unfit() -> Any:
        world.effect("unfit")
        return object()

    @app.tool(timeout=0.01)
    async def slow() -> str:
        world.effect("slow")
        await asyncio.Event().wait()
        return "never"

    return SimpleNamespace(free=free, gated=gated, fails=fails, unfit=unfit, slow=slow)
