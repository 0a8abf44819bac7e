"""Agents with options of their own, and waiting for what the server does by itself."""

from collections.abc import Awaitable, Callable
from itertools import count
from typing import Any

from sayso import Turn
from sayso.base.records import Interrupt, ListedInterrupt, ThreadView
from tests.contract.server import Client, Server, eventually

__all__ = ["client_of", "interrupt_of", "late", "past", "thread_of", "told"]

_number = count()


def client_of(
    server: Server, agent: Callable[[Turn], Awaitable[Any]], app: Any = None, **options: Any
) -> Client:
    """A client on a new thread of an agent that was registered with these options."""
    name = f"optional-{next(_number)}"
    (app or server.app).agent(name, **options)(agent)
    return Client(app or server.app, name)


async def thread_of(server: Server, client: Client) -> ThreadView:
    """The thread as it is stored."""
    view: ThreadView | None = await server.store.load("default", client.thread)
    assert view is not None
    return view


async def interrupt_of(server: Server, interrupt_id: str) -> Interrupt:
    """One interrupt as it is stored."""
    listed: ListedInterrupt | None = await server.store.interrupt("default", interrupt_id)
    assert listed is not None
    return listed.interrupt


async def late(server: Server, interrupt_id: str) -> list[tuple[str, str]]:
    """Who refused it after it had expired, and how."""
    item = await interrupt_of(server, interrupt_id)
    return [(one.by, one.said) for one in item.progress.late]


async def past(server: Server, client: Client, seconds: float) -> Client:
    """Let that much time pass, and then some until the thread has come to rest.

    Returns a client that has just loaded the thread.
    """
    await server.clock.advance(seconds)

    async def rests() -> bool:
        await server.clock.advance(1)
        now = server.clock.now()
        view = await thread_of(server, client)
        due = [
            item
            for item in view.interrupts
            if item.status == "open"
            and not item.held
            and not item.lapsed_at
            and item.expires_at is not None
            and item.expires_at <= now
        ]
        return (
            view.thread.holder is None
            and not due
            and view.turn is not None
            and (
                view.turn.status != "suspended" or any(i.status == "open" for i in view.interrupts)
            )
        )

    await eventually(rests)
    fresh = client.again()
    await fresh.connect()
    return fresh


def told(client: Client) -> list[str]:
    """The tool results that a client shows."""
    return [m["content"] for m in client.model.messages if m["role"] == "tool"]
