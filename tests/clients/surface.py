"""An agent that sends everything an author can, and one that asks about digits no double holds."""

import asyncio
import socket

import uvicorn

from sayso import CopilotKit, Sayso, ServerOptions, Turn, approval, parts
from sayso.agents.parts import Part

app = Sayso(store="memory:", server=ServerOptions(console=False))


@app.tool()
async def chart(year: int) -> list[Part]:
    return [parts.text(f"Sales of {year}"), parts.image(data=b"\x89PN", mime_type="image/png")]


@app.agent("surface")
async def surface(turn: Turn) -> None:
    sealed = [m.get("encryptedValue") for m in turn.input.messages if m["role"] == "reasoning"]
    plan = await turn.activity("PLAN", {"steps": ["look"]})
    async with turn.reasoning(encrypted=f"seal-{len(sealed)}", metadata={"k": None}) as thought:
        await thought.write("Two ")
        await thought.write("ways.")
    await turn.usage("acme", "large", input_tokens=10, output_tokens=5, reasoning_tokens=2)
    await turn.custom("shop:stock", None)
    await turn.call(chart, year=2025)
    await plan.patch([{"op": "add", "path": "/steps/-", "value": "ask"}])
    await turn.interrupt("confirmation", "Go on?")
    await plan.set({"done": True})
    await turn.usage("acme", "large", input_tokens=1)
    await turn.say(f"sealed: {sealed}", metadata={"badge": {"n": None}})


@app.tool(approval=approval.always, editable=True)
async def transfer(account: int, amount: float) -> str:
    return f"moved {amount} to {account}"


@app.agent("accounts")
async def accounts(turn: Turn) -> None:
    await turn.say(str(await turn.call(transfer, account=2**53 + 1, amount=10.5)))


app.mount(CopilotKit())


async def main() -> None:
    """Serve on a free port, and say where."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        print(f"Sayso http://127.0.0.1:{listening.getsockname()[1]}", flush=True)  # noqa: T201
        config = uvicorn.Config(app, lifespan="on", log_level="warning")
        await uvicorn.Server(config).serve(sockets=[listening])


asyncio.run(main())
