"""What a process does that signs the trail of a store while another one does."""

import asyncio
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

from sayso import Ed25519, Principal, Sayso, ServerOptions, Turn, approval
from sayso.stores import open_store
from tests.contract.rest import call
from tests.contract.server import Client, approve
from tests.patience import PATIENCE

__all__ = ["OWN", "SCOPE", "VOTERS", "app_on", "decide"]

SCOPE = "default"
VOTERS = {"one": ("lea", "leo", "liv"), "other": ("max", "mia", "moe")}
OWN = 2
"""Threads of each process, in which somebody decides alone."""


async def who(scope: Any) -> Principal:
    """Say who is asking: everybody is a lead and an auditor."""
    headers = dict(scope["headers"])
    return Principal(subject=headers[b"authorization"].decode(), roles=("lead", "auditor"))


def app_on(url: str, keys: Path) -> Sayso:
    """A server whose tools ask one lead, or as many as there are."""
    app = Sayso(
        store=open_store(url),
        authenticate=who,
        signer=Ed25519.from_file(keys),
        server=ServerOptions(console=False),
    )
    everybody = sum(map(len, VOTERS.values()))

    @app.tool(approval=approval.always(by="lead"))
    async def pay(amount: float) -> str:
        return "paid"

    @app.tool(approval=approval.always(by="lead", approvals=everybody))
    async def wire(amount: float) -> str:
        return "wired"

    @app.agent("desk")
    async def desk(turn: Turn) -> None:
        await turn.call(turn.input.text, {"amount": 7.0})

    return app


def decide(me: str, url: str, keys: str, asked: str, barrier: Barrier) -> None:
    """Have people decide in a process of its own, at the same time as in another one."""
    asyncio.run(_decide(me, url, Path(keys), asked, barrier))


async def _decide(me: str, url: str, keys: Path, asked: str, barrier: Barrier) -> None:
    app = app_on(url, keys)

    async def says(person: str, interrupt: str) -> None:
        header = {"authorization": person, "content-type": "application/json"}
        path = f"/interrupts/{interrupt}/answer"
        run = await call(app, "POST", path, approve(), headers=header)
        assert run.status < 300, run.body

    async def alone(thread: str) -> None:
        client = Client(app, "desk", thread=thread, headers={"authorization": "ann"})
        (interrupt,) = (await client.say("pay")).interrupts
        await says(VOTERS[me][0], interrupt["id"])

    async with app.lifespan():
        for person in VOTERS[me]:
            await app.store.person(SCOPE, person)
        barrier.wait(PATIENCE)
        votes = (says(person, asked) for person in VOTERS[me])
        await asyncio.gather(*votes, *(alone(f"{me}-{n}") for n in range(OWN)))
